//! The host's process at a wire to a card. For its supervisor it is the NIC half.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use cora_core::app::App;
use cora_link::End;
use cora_link::mirror::hello::Refusal;
use cora_link::mirror::host::Standing;
use cora_link::mirror::{Broken, HostMirror};

use crate::card::settings;
use crate::card::turn::{LOOK_AGAIN, Turns};
use crate::card::watch::Watch;
use crate::card::wire::{Party, Wire};
use crate::memory::map;
use crate::node::back::RING_BYTES;
use crate::options::peer::Peer;
use crate::process::child;
use crate::process::inquiry::Questions;
use crate::process::log::{self, Part};
use crate::process::nic_half::EXIT_OVER;
use crate::{RunError, SharedFutex};

/// How long the card may take to hear that its end was heard.
const FAREWELL: Duration = Duration::from_millis(5);
/// How long a card may leave a call without an answer until the log says so.
const UNANSWERED: Duration = Duration::from_secs(2);

/// Orders of the supervisor.
#[derive(Debug, Args)]
pub(crate) struct RelayArguments {
    /// File descriptor of the regions.
    fd: i32,
    /// Its bytes.
    length: usize,
    /// The process that started this one: it ends with that one.
    parent: u32,
    /// The interface that leads to the card, and the card's address.
    #[arg(long)]
    pub(super) peer: Option<Peer>,
    /// The socket with questions to the card.
    #[arg(long)]
    questions: Option<i32>,
    /// Packets come in by ports of the card.
    #[arg(long)]
    pub(super) ports: bool,
    /// The host's end of the wire to a card that this machine plays.
    #[arg(long)]
    socket: Option<i32>,
}

impl RelayArguments {
    /// The file of regions, and the wire to the card.
    pub(super) fn open(&self) -> Result<(&'static [AtomicU64], Wire), RunError> {
        child::stay_with(self.parent)?;
        let words = map::inherited_memory(self.fd, self.length)
            .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })?;
        let failed = |cause| RunError::System { what: "the socket of a card", cause };
        let wire = match (&self.peer, self.socket) {
            (Some(peer), _) => Wire::to(peer)?,
            (None, Some(socket)) => {
                Wire::of_host(map::left_file(socket).map_err(|errno| failed(errno.into()))?)?
            }
            (None, None) => return Err(failed(std::io::ErrorKind::InvalidInput.into())),
        };
        Ok((words, wire))
    }
}

/// Is the NIC half until the card's ends; returns its exit status.
pub(crate) fn relay<A: App>(arguments: &RelayArguments) -> Result<u8, RunError> {
    match session::<A>(arguments) {
        Err(error) if may_follow(&error) => {
            log::warn(Part::Card, error);
            log::flush();
            Ok(EXIT_OVER)
        }
        done => done,
    }
}

/// Whether another session may follow one that ended so.
fn may_follow(error: &RunError) -> bool {
    match error {
        RunError::Refused(refusal) => *refusal == Refusal::Over,
        RunError::CardSilent | RunError::Mirror(_) => true,
        _ => false,
    }
}

fn session<A: App>(arguments: &RelayArguments) -> Result<u8, RunError> {
    let (words, mut card) = arguments.open()?;
    let mut questions = questions_of(arguments)?;
    let end = End::caller(card.addresses(), settings(card.mtu()));
    let program = (A::PLAN.hash, SharedFutex);
    let wire = (RING_BYTES, arguments.ports);
    let mut mirror = HostMirror::call(end, number(), words, wire, program)?;
    let (mut turns, watch) = (Turns::new(), Watch::over(&card)?);
    let (called, mut untold) = (Instant::now(), arguments.peer.as_ref());
    let mut answered = false;
    loop {
        let busy = card.turn(&mut mirror, turns.now())?;
        match mirror.standing() {
            Standing::Ended(status) => {
                let begun = Instant::now();
                while begun.elapsed() < FAREWELL {
                    card.turn(&mut mirror, turns.now())?;
                    std::thread::yield_now();
                }
                return Ok(u8::try_from(status).unwrap_or(u8::MAX));
            }
            Standing::Refused(code) => return Err(RunError::Refused(Refusal::of_code(code))),
            Standing::GoesOn if mirror.link().is_lost(turns.now()) => {
                return Err(RunError::CardSilent);
            }
            Standing::GoesOn => {}
        }
        if let Some(questions) = &mut questions {
            if let Some(build) = questions.next() {
                mirror.ask(build);
            }
            if let Some((build, serves)) = mirror.answer() {
                questions.answer(build, serves);
            }
        }
        if !answered && mirror.link().is_open() {
            answered = true;
            log::debug(Part::Card, format_args!("the card answers after {:?}", called.elapsed()));
        }
        if called.elapsed() >= UNANSWERED
            && let Some(peer) = untold.take()
            && !mirror.link().is_open()
        {
            log::warn(
                Part::Card,
                format_args!(
                    "nobody answers at {peer}: no `card` runs there for this host, or the link is cut"
                ),
            );
        }
        // The host half and the supervisor ring it, as they do for a NIC half.
        let bell = mirror.region().nic_bell(SharedFutex);
        turns.rest(busy, &mut mirror, &watch.rest(Some(bell)))?;
    }
}

impl Party for HostMirror<SharedFutex> {
    fn hear(&mut self, frame: &[u8], now: u64) -> Result<(), RunError> {
        Ok(Self::hear(self, frame, now)?)
    }

    fn step(&mut self, now: u64, send: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, RunError> {
        Ok(Self::step(self, now, &mut |frame| send(frame))?)
    }

    fn due(&self, now: u64) -> u64 {
        let due = self.link().due();
        if self.is_awaited() { due.min(now + LOOK_AGAIN) } else { due }
    }

    fn has_nothing(&mut self) -> Result<bool, RunError> {
        Ok(Self::has_nothing(self)?)
    }
}

/// The socket with questions to the card, if there is one.
fn questions_of(arguments: &RelayArguments) -> Result<Option<Questions>, RunError> {
    let Some(number) = arguments.questions else { return Ok(None) };
    let what = "the socket with questions to the card";
    let socket =
        map::left_file(number).map_err(|errno| RunError::System { what, cause: errno.into() })?;
    Questions::at(socket).map(Some)
}

/// A number for a call, above those of all calls before: the time of day.
pub(super) fn number() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl From<Broken> for RunError {
    fn from(broken: Broken) -> Self {
        Self::Mirror(broken)
    }
}
