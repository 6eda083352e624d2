//! The NIC half's life: attach, serve, report.

use core::sync::atomic::AtomicU64;

use cora_core::app::App;
use cora_core::sentence::Sentence;
use cora_core::state::{Line, Memory, OutOfMemory, RegionMemory};
use cora_runtime::exec::burst::BURST_BYTES;
pub use cora_runtime::link::region::exit::{EXIT_LINK, EXIT_MEMORY, EXIT_REFUSED};
use cora_runtime::link::region::{Identity, Idle, NicStatus, Region, generation, refuse};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::node::{Clock, Egress as _, Inherited, NicFiles, NicLoop, NodeError};

use crate::link::RegionEnds;
use crate::sys;

/// Codes in [`NicStatus::Refused`] beside those of the region.
const CODE_LINK: u32 = 64;
const CODE_MEMORY: u32 = 65;

/// Serves the regions of these files until the host ends the run; gives the exit status of the
/// process. Errors go to standard error and into the region.
#[must_use]
pub fn serve<A: App>(files: NicFiles) -> i32 {
    let NicFiles { regions: Inherited { fd, length }, items } = files;
    let Some(words) = map(fd, length, true) else { return EXIT_REFUSED };
    let items = items.and_then(|Inherited { fd, length }| sys::map_to_read(fd, length));
    let mut made = None;
    // A new region does not change these.
    let (mut rounds, mut host_away) = (NicLoop::new(), 0);
    loop {
        let region = match attach::<A>(words) {
            Ok(region) => region,
            Err(status) => return status,
        };
        // Borrowed where it was made: the half is large, and moved about field by field.
        let half = match made.get_or_insert_with(|| make_half::<A>(&region, items)) {
            Ok(half) => half,
            Err(error) => return no_memory(&region, error),
        };
        region.set_nic_status(NicStatus::Ready);
        let mut server =
            Server { region, ends: RegionEnds::new(&region, words, host_away), rounds, beat: 0 };
        match server.run(half) {
            Ok(End::Done) => {
                region.set_nic_status(NicStatus::Done);
                return 0;
            }
            Ok(End::Followed) => {
                host_away = server.ends.out.host_away();
                rounds = server.rounds.with_another_host();
            }
            Err(error) => return broken(&region, &error),
        }
    }
}

/// Maps the file of the regions, with all pages or with those that are touched; an error is told.
pub(crate) fn map(fd: i32, length: usize, resident: bool) -> Option<&'static [AtomicU64]> {
    let words = sys::map_shared(fd, length, resident);
    if words.is_none() {
        let file = fd.cast_unsigned() as usize;
        say(
            "",
            &Sentence::new(
                &["can't map the shared region (", " bytes of file ", ")"],
                &[length as u64, file as u64],
            ),
        );
    }
    words
}

/// The current region; an error is told there, and is the exit status.
pub(crate) fn attach<A: App>(words: &'static [AtomicU64]) -> Result<Region, i32> {
    let generation = generation::current(words);
    let place = generation::place(words, generation);
    Region::attach(place, A::PLAN.hash).map_err(|error| {
        say("", &error.sentence());
        refuse(place, error.code());
        EXIT_REFUSED
    })
}

#[cold]
#[inline(never)]
pub(crate) fn no_memory(region: &Region, error: &OutOfMemory) -> i32 {
    say("", &error.sentence());
    region.set_nic_status(NicStatus::Refused(CODE_MEMORY));
    EXIT_MEMORY
}

/// Serving ended early.
#[cold]
#[inline(never)]
pub(crate) fn broken(region: &Region, error: &NodeError) -> i32 {
    say_error(error);
    region.set_nic_status(NicStatus::Refused(CODE_LINK));
    EXIT_LINK
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
fn make_half<A: App>(
    region: &Region,
    items: Option<&'static [AtomicU64]>,
) -> Result<NicHalf<A>, OutOfMemory> {
    make_half_of(region, items, &mut |bytes, resident| {
        sys::map_private(bytes, resident).ok_or(OutOfMemory { asked: bytes, left: 0 })
    })
}

/// Memory for so many bytes, whose pages are made now or not.
type Pages<'a> = &'a mut dyn FnMut(usize, bool) -> Result<&'static mut [Line], OutOfMemory>;

/// A half on memory that `pages` gives, and these items of the host.
#[inline(always)]
pub(crate) fn make_half_of<A: App>(
    region: &Region,
    items: Option<&'static [AtomicU64]>,
    pages: Pages<'_>,
) -> Result<NicHalf<A>, OutOfMemory> {
    let Identity { seed, resident, .. } = region.identity();
    let mut supply = |bytes: usize| Ok(Memory::new(pages(bytes, resident)?).with_seed(seed.0));
    let mut memory = supply(A::MEMORY - A::ITEMS)?;
    if const { A::ITEMS > 0 } {
        memory =
            memory.with_regions(items.map_or_else(RegionMemory::out_of_reach, RegionMemory::away));
    }
    let mut app = A::new(&mut memory)?;
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

/// What a round came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Round {
    /// There may be more to do.
    Busy,
    /// There was nothing. The number of the agent's turn, or zero.
    Idle(u64),
    /// It was the last one in this region, which another one follows.
    Followed,
    /// It was the last one of the run.
    Over,
}

/// A NIC half's place at a region.
pub(crate) struct Server<A: App> {
    pub(crate) region: Region,
    pub(crate) ends: RegionEnds,
    pub(crate) rounds: NicLoop<A>,
    pub(crate) beat: u64,
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

impl<A: App> Server<A> {
    fn run(&mut self, half: &mut NicHalf<A>) -> Result<End, NodeError> {
        #[expect(clippy::large_stack_arrays, reason = "the frames of a burst, once per run")]
        let mut buffer = [0; BURST_BYTES];
        let mut idle = Idle::default();
        self.begin(half);
        loop {
            match self.round(half, &mut buffer)? {
                Round::Busy => idle.reset(),
                Round::Idle(0) => {
                    let wire_open = self.rounds.wire_is_open(half, &mut self.ends.out);
                    self.ends.wait(&mut idle, wire_open)?;
                }
                Round::Idle(turn) => self.ends.end_turn(turn)?,
                Round::Followed => return Ok(End::Followed),
                Round::Over => return Ok(End::Done),
            }
        }
    }

    /// Before the first round in this region.
    pub(crate) fn begin(&mut self, half: &mut NicHalf<A>) {
        let Identity { generation, afresh, .. } = self.region.identity();
        if generation > 1 {
            NicLoop::greet(half, &mut self.ends.out, afresh);
        }
    }

    /// A round over the rings. `buffer` is for the frames of a burst.
    #[inline]
    pub(crate) fn round(
        &mut self,
        half: &mut NicHalf<A>,
        buffer: &mut [u8],
    ) -> Result<Round, NodeError> {
        if self.rounds.is_over() {
            half.report.ring_records = self.ends.back.records();
            half.tell_counters(self.region.nic_counters());
            self.rounds.tell_all(half, &mut self.ends.out);
            return Ok(Round::Over);
        }
        self.beat = self.beat.wrapping_add(1);
        self.region.nic_beats(self.beat);
        // Read before the rings are: what came with this turn is there.
        let turn = self.region.turn();
        let busy = self.rounds.step(half, self.ends.all(), buffer, &Monotonic)?;
        if !busy || self.beat.is_multiple_of(TOLD_EVERY) {
            half.tell_counters(self.region.nic_counters());
        }
        if self.ends.out.host_ended() {
            // The host's last publications before its end are the last messages of this region.
            let RegionEnds { back, out, .. } = &mut self.ends;
            self.rounds.take_leave(half, back, out, buffer)?;
            return Ok(Round::Followed);
        }
        Ok(if busy { Round::Busy } else { Round::Idle(turn) })
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
