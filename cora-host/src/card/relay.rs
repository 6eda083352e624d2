//! The host's process at a wire to a card. For its supervisor it is the NIC half.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
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
use crate::memory::pages::Pages;
use crate::node::back::RING_BYTES;
use crate::options::peer::Peer;
use crate::process::nic_half::EXIT_OVER;
use crate::process::{child, log};
use crate::{RunError, SharedFutex};

/// How long the card may take to hear that its end was heard.
const FAREWELL: Duration = Duration::from_millis(5);
/// How long an emulator may take to end after its NIC half.
const POWER_OFF: Duration = Duration::from_secs(2);
/// How long a card may leave a call without an answer until the log says so.
const UNANSWERED: Duration = Duration::from_secs(2);
/// How often a relay looks after the emulator.
const LOOK_EVERY: Duration = Duration::from_millis(5);

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
    peer: Option<Peer>,
    /// Packets come in by ports of the card.
    #[arg(long)]
    ports: bool,
    /// The socket of an emulated card: this end, and the emulator's.
    #[arg(long, num_args = 2, value_names = ["OWN", "EMULATOR'S"])]
    sockets: Vec<i32>,
    /// The card's first file system: the emulator inherits it.
    #[arg(long)]
    archive: Option<i32>,
    /// The emulator, and its words.
    #[arg(last = true)]
    emulator: Vec<PathBuf>,
}

/// A card, as long as this process lives.
struct Card {
    wire: Wire,
    emulator: Option<Child>,
    looked: Instant,
}

/// Is the NIC half until the card's ends; returns its exit status.
pub(crate) fn relay<A: App>(arguments: &RelayArguments) -> Result<u8, RunError> {
    match session::<A>(arguments) {
        Err(error) if may_follow(&error) => {
            log::say(error);
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
        // Somebody killed the emulator, as if the card lost its power.
        RunError::CardEnded(status) => status.signal().is_some(),
        RunError::CardSilent | RunError::Mirror(_) => true,
        _ => false,
    }
}

fn session<A: App>(arguments: &RelayArguments) -> Result<u8, RunError> {
    child::stay_with(arguments.parent)?;
    let words = map::inherited_memory(arguments.fd, arguments.length)
        .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })?;
    let mut card = Card::find(arguments)?;
    let end = End::caller(card.wire.addresses(), settings(card.wire.mtu()));
    let program = (A::PLAN.hash, SharedFutex);
    let wire = (RING_BYTES, arguments.ports);
    let mut mirror = HostMirror::call(end, number(), words, wire, program)?;
    let (mut turns, watch) = (Turns::new(), Watch::over(&card.wire)?);
    let (called, mut untold) = (Instant::now(), arguments.peer.as_ref());
    loop {
        let busy = card.wire.turn(&mut mirror, turns.now())?;
        match mirror.standing() {
            Standing::Ended(status) => {
                let begun = Instant::now();
                while begun.elapsed() < FAREWELL {
                    card.wire.turn(&mut mirror, turns.now())?;
                    std::thread::yield_now();
                }
                card.switch_off();
                return Ok(u8::try_from(status).unwrap_or(u8::MAX));
            }
            Standing::Refused(code) => return Err(RunError::Refused(Refusal::of_code(code))),
            Standing::GoesOn if mirror.link().is_lost(turns.now()) => {
                return Err(RunError::CardSilent);
            }
            Standing::GoesOn => {}
        }
        card.look()?;
        if called.elapsed() >= UNANSWERED
            && let Some(peer) = untold.take()
            && !mirror.link().is_open()
        {
            log::say(format_args!(
                "nobody answers at {peer}: no `card` runs there for this host, or the link is cut"
            ));
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

/// A number for this session, above those of all sessions before: the time of day.
fn number() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Card {
    fn find(arguments: &RelayArguments) -> Result<Self, RunError> {
        let failed = |cause| RunError::System { what: "the socket of the emulator", cause };
        let RelayArguments { peer, sockets, archive, emulator, .. } = arguments;
        let looked = Instant::now();
        match (peer, &sockets[..]) {
            (Some(peer), _) => Ok(Self { wire: Wire::to(peer)?, emulator: None, looked }),
            (None, [own, other]) => {
                let own = map::left_file(*own).map_err(|errno| failed(errno.into()))?;
                let files = std::iter::once(*other).chain(*archive).collect();
                let emulator = start(emulator, files)?;
                Ok(Self { wire: Wire::to_emulated(own)?, emulator: Some(emulator), looked })
            }
            (None, _) => Err(failed(std::io::ErrorKind::InvalidInput.into())),
        }
    }

    /// Looks whether the emulator lives.
    fn look(&mut self) -> Result<(), RunError> {
        if self.looked.elapsed() < LOOK_EVERY {
            return Ok(());
        }
        self.looked = Instant::now();
        let ended = self.emulator.as_mut().and_then(|it| it.try_wait().ok().flatten());
        ended.map_or(Ok(()), |status| Err(RunError::CardEnded(status)))
    }

    /// Its NIC half has ended, and so does the card.
    fn switch_off(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < POWER_OFF
            && matches!(self.emulator.as_mut().map(Child::try_wait), Some(Ok(None)))
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if let Some(emulator) = &mut self.emulator {
            // It has ended by itself, or does now.
            let _ended = emulator.kill();
            let _status = emulator.wait();
        }
    }
}

/// Starts the emulator, which gets these files.
fn start(words: &[PathBuf], files: Vec<i32>) -> Result<Child, RunError> {
    let none = std::io::ErrorKind::InvalidInput;
    let failed = || RunError::System { what: "the emulator's command", cause: none.into() };
    let (program, rest) = words.split_first().ok_or_else(failed)?;
    let mut command = Command::new(program);
    child::passes_on(&mut command, files);
    // The card's console. Packets may leave by standard output.
    command.args(rest).stdout(Stdio::from(std::io::stderr()));
    child::spawn(command, None, Pages::Transparent)
}

impl From<Broken> for RunError {
    fn from(broken: Broken) -> Self {
        Self::Mirror(broken)
    }
}
