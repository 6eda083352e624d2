//! The NIC half's life: attach, serve, report.

use cora_core::app::App;
use cora_core::sentence::Sentence;
use cora_core::state::{Line, Memory, OutOfMemory};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::link::region::{Identity, Idle, NicStatus, Region, generation, refuse};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Clock, Egress as _, NicLoop, NodeError};

use crate::link::RegionEnds;
use crate::sys;

/// Exit status: the region is not one that this program can serve.
pub const EXIT_REFUSED: i32 = 3;
/// Exit status: messages on the rings make no sense.
pub const EXIT_LINK: i32 = 4;
/// Exit status: no memory for the states.
pub const EXIT_MEMORY: i32 = 5;

/// Codes in [`NicStatus::Refused`] beside those of the region.
const CODE_LINK: u32 = 64;
const CODE_MEMORY: u32 = 65;

/// Serves the region in the first `length` bytes of the file `fd` until the host ends the run;
/// gives the exit status of the process. Errors go to standard error and into the region.
#[must_use]
pub fn serve<A: App>(fd: i32, length: usize) -> i32 {
    let Some(words) = sys::map_shared(fd, length) else {
        let file = fd.cast_unsigned() as usize;
        say(
            "",
            &Sentence::new(
                &["can't map the shared region (", " bytes of file ", ")"],
                &[length as u64, file as u64],
            ),
        );
        return EXIT_REFUSED;
    };
    let mut made = None;
    // A new region does not change these.
    let (mut rounds, mut host_away) = (NicLoop::new(), 0);
    loop {
        let generation = generation::current(words);
        let place = generation::place(words, generation);
        let region = match Region::attach(place, A::PLAN.hash) {
            Ok(region) => region,
            Err(error) => {
                say("", &error.sentence());
                refuse(place, error.code());
                return EXIT_REFUSED;
            }
        };
        // Borrowed where it was made: the half is large, and moved about field by field.
        let half = match made.get_or_insert_with(|| make_half::<A>(&region)) {
            Ok(half) => half,
            Err(error) => {
                say("", &error.sentence());
                region.set_nic_status(NicStatus::Refused(CODE_MEMORY));
                return EXIT_MEMORY;
            }
        };
        region.set_nic_status(NicStatus::Ready);
        let mut server = Server {
            half,
            region: &region,
            ends: RegionEnds::new(&region, words, host_away),
            rounds,
        };
        match server.run() {
            Ok(End::Done) => {
                region.set_nic_status(NicStatus::Done);
                return 0;
            }
            Ok(End::Followed) => {
                host_away = server.ends.out.host_away();
                rounds = server.rounds.with_another_host();
            }
            Err(error) => {
                say_error(&error);
                region.set_nic_status(NicStatus::Refused(CODE_LINK));
                return EXIT_LINK;
            }
        }
    }
}

#[cold]
#[inline(never)]
fn say(at: &str, what: &Sentence) {
    sys::write_error("cora nic: ");
    sys::write_error(at);
    what.write(&mut sys::write_error);
    sys::write_error("\n");
}

#[cold]
#[inline(never)]
fn make_half<A: App>(region: &Region) -> Result<NicHalf<A>, OutOfMemory> {
    let Identity { seed, resident, .. } = region.identity();
    let supply = |bytes: usize| {
        let lines = sys::map_private(bytes, resident);
        let lines = lines.ok_or(OutOfMemory { asked: bytes, left: 0 })?;
        Ok(Memory::new(lines).with_seed(seed.0))
    };
    let mut app = A::new(&mut supply(A::MEMORY)?)?;
    // Each piece may waste up to a line.
    let mut memory = supply(NicHalf::<A>::bytes(&mut app) + 16 * Line::BYTES)?;
    NicHalf::create(app, &mut memory)
}

/// How serving a region ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The run is over.
    Done,
    /// Another region follows.
    Followed,
}

struct Server<'a, A: App> {
    half: &'a mut NicHalf<A>,
    region: &'a Region,
    ends: RegionEnds,
    rounds: NicLoop<A>,
}

/// Reads the monotonic clock.
struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        sys::now_ns()
    }
}

/// Rounds with work after which a side tells its counters.
const TOLD_EVERY: u64 = 256;

impl<A: App> Server<'_, A> {
    fn run(&mut self) -> Result<End, NodeError> {
        #[expect(clippy::large_stack_arrays, reason = "the frames of a burst, once per run")]
        let mut buffer = [0; BURST_BYTES];
        let mut idle = Idle::default();
        let mut beat = 0_u64;
        let Identity { generation, afresh, .. } = self.region.identity();
        if generation > 1 {
            NicLoop::greet(self.half, &mut self.ends.out, afresh);
        }
        while !self.rounds.is_over() {
            beat = beat.wrapping_add(1);
            self.region.nic_beats(beat);
            // Read before the rings are: what came with this turn is there.
            let turn = self.region.turn();
            let busy = self.rounds.step(self.half, self.ends.all(), &mut buffer, &Monotonic)?;
            if !busy || beat.is_multiple_of(TOLD_EVERY) {
                self.half.tell_counters(self.region.nic_counters());
            }
            if busy {
                idle.reset();
            } else if turn != 0 {
                self.ends.end_turn(turn)?;
            } else {
                let wire_open = self.rounds.wire_is_open(self.half, &mut self.ends.out);
                self.ends.wait(&mut idle, wire_open)?;
            }
            if self.ends.out.host_ended() {
                // The host's last publications before its end are the last messages of this region.
                let RegionEnds { back, out, .. } = &mut self.ends;
                self.rounds.take_leave(self.half, back, out, &mut buffer)?;
                return Ok(End::Followed);
            }
        }
        self.half.report.ring_records = self.ends.back.records();
        self.half.tell_counters(self.region.nic_counters());
        self.rounds.tell_all(self.half, &mut self.ends.out);
        Ok(End::Done)
    }
}

/// Says why serving ended early.
#[cold]
#[inline(never)]
fn say_error(error: &NodeError) {
    match error {
        NodeError::Ring(error) => say("a ring from the host is broken: ", &error.sentence()),
        NodeError::Protocol(error) => say("the host broke the protocol: ", &error.sentence()),
        NodeError::Broken => say("", &Sentence::new(&["a ring to the host is broken"], &[])),
    }
}
