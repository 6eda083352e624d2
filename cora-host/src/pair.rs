//! A pair of NIC core and host worker, and the wire that they are plugged into.

use std::process::ExitStatus;
use std::time::Duration;

use cora_core::app::App;
use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::HostHalf;
use cora_core::region::{self, Bell, HashSeed, Identity, Idle, NicStatus, Region, RegionLayout};
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};
use rustix::io::Errno;

use crate::account::Ended;
use crate::apart::{self, Bytes};
use crate::futex::SharedFutex;
use crate::nic_process::NicProcess;
use crate::progress::Progress;
use crate::run::Request;
use crate::wire::{Cable, Next};
use crate::worker::Worker;
use crate::{Program, RunError, map};

/// Bytes of the rings wire-in, wire-out, punt and back. The last two are no larger than the longest
/// message asks for: what is on its way there delays every flow that moves.
pub(crate) const RING_BYTES: [usize; 4] = [1 << 20, 1 << 20, 1 << 19, 1 << 19];
/// Frames moved over a wire ring between two looks at the others.
const BURST: usize = 64;
/// Rounds without work between two looks at the NIC process.
const WATCH_EVERY: u32 = 4096;

/// A pair with a NIC.
pub(crate) struct Pair<A: App, C> {
    region: Region,
    process: NicProcess,
    worker: Worker<A>,
    /// Where its frames come from and go to.
    pub(crate) cable: C,
    wire_in: Producer<SharedMemory>,
    wire_out: Consumer<SharedMemory>,
    buffer: Bytes<MAX_MESSAGE>,
    /// A frame came by the cable and was not fed in yet.
    pending: Option<(Stamp, usize)>,
    fed_all: bool,
}

impl<A: App, C: Cable> Pair<A, C> {
    /// Starts the NIC, on a processor of its own if one is given.
    pub(crate) fn start(
        program: &Program,
        request: &Request,
        seed: u64,
        half: HostHalf<A>,
        cable: C,
        core: Option<usize>,
    ) -> Result<Self, RunError> {
        let Ok(layout) = RegionLayout::new(RING_BYTES) else {
            unreachable!("powers of two are sizes of rings")
        };
        let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
        let (file, words) = map::shared_memory(layout.bytes()).map_err(system)?;
        let identity = Identity { plan: A::PLAN.hash, generation: 1, seed: HashSeed(seed) };
        let region = Region::create(words, &layout, identity).map_err(RunError::Region)?;
        let process = NicProcess::start(program, request, &file, layout.bytes(), core)?;
        let rings = region.rings();
        Ok(Self {
            process,
            worker: Worker::new(half, &rings),
            cable,
            wire_in: Producer::new(rings.wire_in),
            wire_out: Consumer::new(rings.wire_out),
            region,
            buffer: apart::bytes(),
            pending: None,
            fed_all: false,
        })
    }

    /// What wakes the host worker.
    pub(crate) fn bell(&self) -> Bell<SharedFutex> {
        self.region.host_bell(SharedFutex)
    }

    /// Waits until the NIC serves.
    pub(crate) fn wait_until_ready(&mut self) -> Result<(), RunError> {
        while self.region.nic_status() != Some(NicStatus::Ready) {
            self.watch()?;
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Runs until all frames of the cable were handled and left, and the NIC has told its account.
    pub(crate) fn run(
        &mut self,
        configured: &[usize],
        mut progress: Progress,
    ) -> Result<(), RunError> {
        self.worker.begin(configured);
        let mut idle = Idle::default();
        let mut rounds = 0_u32;
        loop {
            let mut busy = self.feed()?;
            busy |= self.drain()?;
            busy |= self.worker.poll()?;
            if self.worker.account.is_some() {
                break;
            }
            let (came, left) = self.cable.packets();
            progress.tell(came, left);
            region::wake(&self.region.nic_bell(SharedFutex));
            rounds = if busy { 0 } else { rounds + 1 };
            let slept = if busy {
                idle.reset();
                false
            } else {
                self.rest(&mut idle)?
            };
            if slept || rounds % WATCH_EVERY == WATCH_EVERY - 1 {
                self.watch()?;
            }
        }
        // The NIC's account is the last thing it sends, so all frames are on the ring by now.
        while self.drain()? {}
        Ok(())
    }

    /// Waits for the NIC to end; gives what the pair leaves behind, and its cable.
    pub(crate) fn end(mut self) -> Result<(Ended<A>, C), RunError> {
        let now = self.worker.now();
        self.worker.half.report.ring_records = self.worker.ring_records();
        let Worker { half, account, contents, .. } = self.worker;
        let status = self.process.wait()?;
        if !status.success() {
            return Err(RunError::NicDied { status: status.to_string(), packets: 0 });
        }
        let nic = account.unwrap_or_default();
        Ok((Ended { half, nic, contents, now }, self.cable))
    }

    /// Waits a little, in the end asleep when only the NIC or the wire can give this side something to do;
    /// whether a sleep lasted to its end.
    fn rest(&mut self, idle: &mut Idle) -> Result<bool, RunError> {
        let wire_waits = self.pending.is_some() || !(self.fed_all || self.cable.is_quiet());
        if wire_waits || self.worker.waits_for_room() {
            idle.pause(std::thread::yield_now);
            return Ok(false);
        }
        let (worker, wire_out, cable) = (&mut self.worker, &mut self.wire_out, &mut self.cable);
        let fed_all = self.fed_all;
        idle.wait(&self.region.host_bell(SharedFutex), std::thread::yield_now, || {
            let quiet = fed_all || cable.is_quiet();
            Ok(quiet && worker.has_nothing()? && wire_out.is_empty_indeed()?)
        })
    }

    /// An error when the NIC process is gone or stands still.
    fn watch(&mut self) -> Result<(), RunError> {
        let Some(status) = self.process.watch(&self.region)? else { return Ok(()) };
        // It may have ended in good order, its last messages still on the rings.
        if status.success() && self.region.nic_status() == Some(NicStatus::Done) {
            return Ok(());
        }
        Err(RunError::NicDied { status: describe(status), packets: self.on_their_way() })
    }

    fn on_their_way(&mut self) -> u64 {
        let done = self.worker.half.engine().outcomes.total();
        let (came, left) = self.cable.packets();
        came.saturating_sub(done + left)
    }

    /// Feeds frames in at the NIC's wire; whether there was room.
    fn feed(&mut self) -> Result<bool, RunError> {
        let mut fed = false;
        for _ in 0..BURST {
            if self.fed_all {
                break;
            }
            let next = match self.pending {
                Some((stamp, length)) => Next::Frame(stamp, length),
                None => self.cable.next(&mut self.buffer.0)?,
            };
            let message = match next {
                Next::Frame(stamp, length) => Message::Frame(stamp, &self.buffer.0[..length]),
                Next::End(now) => Message::WireEnd(now),
                Next::NotYet => break,
            };
            match message.encode(|kind, parts| self.wire_in.push(kind, parts)) {
                Ok(()) => {
                    self.fed_all = matches!(next, Next::End(_));
                    self.pending = None;
                    fed = true;
                }
                Err(PushError::Full) => {
                    if let Next::Frame(stamp, length) = next {
                        self.pending = Some((stamp, length));
                    }
                    break;
                }
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
        }
        self.wire_in.publish();
        Ok(fed)
    }

    /// Writes what left at the NIC's wire; whether anything did.
    fn drain(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        // The feeding side keeps a frame in the other buffer.
        #[expect(clippy::large_stack_arrays, reason = "the largest message, one at a time")]
        let mut buffer = [0_u8; MAX_MESSAGE];
        for _ in 0..BURST {
            let Some(popped) = self.wire_out.pop(&mut buffer)? else { break };
            let bytes = buffer.get_mut(..popped.len).unwrap_or_default();
            let frame = Message::decode_frame(popped.kind, bytes);
            let undecodable = cora_core::migration::ProtocolError::Undecodable(popped.kind);
            let (stamp, frame) = frame.ok_or(undecodable)?;
            self.cable.write(&stamp, frame)?;
            any = true;
        }
        self.wire_out.release();
        Ok(any)
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}; its own words stand above"),
        None => status.to_string(),
    }
}
