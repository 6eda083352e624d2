//! The NIC half's life: attach, serve, report.

use cora_core::app::{App, Sides};
use cora_core::sentence::Sentence;
use cora_core::state::{self, Line, Memory, OutOfMemory, Place};
use cora_runtime::channel::{Outbox, ProtocolError};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::link::message::{Control, Frames, Kind, Load, Message, Name, Report, Telemetry};
use cora_runtime::link::region::{Identity, Idle, NicStatus, Region, generation, refuse};
use cora_runtime::link::ring::{Consumer, RingError, SharedMemory};
use cora_runtime::nic_half::{Event, NicHalf};
use cora_runtime::ownership::EntryPace;

use crate::link::{Incoming, Outgoing, ends};
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

/// Messages taken from the host between two looks at the wire.
const BACK_BURST: usize = 64;

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
    let (mut begun, mut host_away) = (false, 0);
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
        let (incoming, mut outgoing) = ends(&region, words);
        outgoing.host_away = host_away;
        let mut server = Server {
            half,
            outgoing,
            begun,
            wire_ended: None,
            released: false,
            settles: false,
            pace: EntryPace::default(),
            watch: Watch { every: u64::MAX, next: u64::MAX },
        };
        match server.run(incoming, &region) {
            Ok(End::Done) => {
                region.set_nic_status(NicStatus::Done);
                return 0;
            }
            Ok(End::Followed) => (begun, host_away) = (server.begun, server.outgoing.host_away),
            Err(error) => {
                error.say();
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

/// Why serving ends early.
#[derive(Clone, Copy, Debug)]
enum LinkError {
    Ring(RingError),
    Protocol(ProtocolError),
    Broken,
}

impl From<RingError> for LinkError {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl From<ProtocolError> for LinkError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl LinkError {
    fn say(&self) {
        match self {
            Self::Ring(error) => say("a ring from the host is broken: ", &error.sentence()),
            Self::Protocol(error) => say("the host broke the protocol: ", &error.sentence()),
            Self::Broken => say("", &Sentence::new(&["a ring to the host is broken"], &[])),
        }
    }
}

struct Server<'a, A: App> {
    half: &'a mut NicHalf<A>,
    outgoing: Outgoing,
    /// The host said that the wire may be read.
    begun: bool,
    /// The wire carries nothing more: the time of its last packet, which another NIC core may have
    /// had.
    wire_ended: Option<u64>,
    /// The host has nothing on its way any more.
    released: bool,
    /// A change of read-mostly states begins or ended on the wire: later frames wait until no
    /// packet waits here, so that each packet is judged by the version that was in force when it
    /// came.
    settles: bool,
    pace: EntryPace,
    watch: Watch,
}

/// Rounds with work after which a side says how full its tables are.
const TOLD_EVERY: u64 = 256;

/// How often the load is told, and when next (ns).
struct Watch {
    every: u64,
    next: u64,
}

impl<A: App> Server<'_, A> {
    fn run(&mut self, mut incoming: Incoming, region: &Region) -> Result<End, LinkError> {
        #[expect(clippy::large_stack_arrays, reason = "the frames of a burst, once per run")]
        let mut buffer = [0; BURST_BYTES];
        let mut idle = Idle::default();
        let mut beat = 0_u64;
        let mut said_drained = false;
        if region.identity().generation > 1 {
            self.greet(region.identity().afresh);
        }
        while !(said_drained && self.released) {
            beat = beat.wrapping_add(1);
            region.nic_beats(beat);
            let busy = self.step(&mut incoming, &mut buffer)?;
            if !busy || beat.is_multiple_of(TOLD_EVERY) {
                self.tell_tables(region);
            }
            if busy {
                idle.reset();
            } else {
                self.outgoing.rest();
                let wire_open = self.wire_open() && self.wire_has_room();
                incoming.wait(&mut idle, wire_open)?;
            }
            if self.outgoing.broken {
                return Err(LinkError::Broken);
            }
            if self.outgoing.is_followed() {
                // The host's last publications before its end are the last messages of this region.
                while self.read_back(&mut incoming.back, &mut buffer)? {}
                self.outgoing.publish();
                return Ok(End::Followed);
            }
            if self.wire_ended.is_some() && !said_drained && self.half.is_drained() {
                said_drained = true;
                self.half.close();
                self.outgoing.send(&Control::Drained { now: self.now() }.into());
                self.outgoing.publish();
            }
        }
        self.half.report.ring_records = incoming.back.records();
        self.tell_tables(region);
        self.tell_all();
        Ok(End::Done)
    }

    /// Says how full the tables are here, for whoever watches over both halves.
    #[cold]
    #[inline(never)]
    fn tell_tables(&mut self, region: &Region) {
        self.half.engine().tables(&mut |state, entries, _| region.nic_holds(state, entries));
    }

    /// To a host that is new, or new to this side.
    #[cold]
    #[inline(never)]
    fn greet(&mut self, afresh: bool) {
        self.half.host_lost(&mut self.outgoing, afresh);
        self.outgoing.publish();
    }

    /// One round over the rings; whether there was anything.
    fn step(&mut self, incoming: &mut Incoming, buffer: &mut [u8]) -> Result<bool, LinkError> {
        let wire_open = self.wire_open() && self.wire_has_room();
        let anything = self.half.is_handing_over()
            || !incoming.back.is_empty()?
            || (wire_open && !incoming.wire_in.is_empty()?);
        if !anything {
            return Ok(false);
        }
        let start = sys::now_ns();
        self.read_back(&mut incoming.back, buffer)?;
        if self.half.is_handing_over() && self.outgoing.has_room_for_entries() {
            self.half.hand_over(self.pace.entries(), &mut self.outgoing);
        }
        let full = wire_open && self.read_wire(&mut incoming.wire_in, buffer)?;
        self.pace.read(full);
        self.outgoing.publish();
        let end = sys::now_ns();
        self.half.report.busy_ns += end.saturating_sub(start);
        if end >= self.watch.next {
            self.tell_load(incoming, end);
        }
        Ok(true)
    }

    #[inline(never)]
    fn tell_load(&mut self, incoming: &Incoming, time: u64) {
        self.watch.next = time.saturating_add(self.watch.every);
        let wire_ring = incoming.wire_in.occupancy() as u64;
        let peer_ring = self.outgoing.occupancy() as u64;
        let load = Load { time, wire_ring, peer_ring, ..Load::default() };
        self.half.tell(&load, &mut self.outgoing);
        self.outgoing.publish();
    }

    /// Whether packets may be taken from the wire.
    ///
    /// Asked for every burst in two places: a copy of it in each would be too much code for that.
    #[inline(never)]
    fn wire_open(&self) -> bool {
        let settled = const { !A::READ_MOSTLY } || !self.settles || self.half.holds_none();
        self.begun && self.wire_ended.is_none() && self.half.takes_packets() && settled
    }

    /// Whether the egress ring can hold a burst's output. Durable programs publish changes before
    /// output.
    fn wire_has_room(&mut self) -> bool {
        // Frames take no more than twice their bytes, with what stands before them and where the
        // ring begins anew.
        !A::DURABLE || self.outgoing.wire_has(2 * BURST_BYTES)
    }

    /// The end of the run's time, when that is known; until then, the time of the latest packet
    /// here.
    fn now(&self) -> u64 {
        self.half.now().max(self.wire_ended.unwrap_or(0))
    }

    /// Whether anything came. Apart from the way of packets, which it would crowd.
    #[inline(never)]
    fn read_back(
        &mut self,
        back: &mut Consumer<SharedMemory>,
        buffer: &mut [u8],
    ) -> Result<bool, LinkError> {
        let before = back.records();
        let host_ended = self.outgoing.is_followed();
        let mut entries = self.pace.entries();
        for _ in 0..BACK_BURST {
            let Some(popped) = back.pop(buffer)? else { break };
            // Orders for flows are void then; handled packets still leave.
            if host_ended && popped.kind != Kind::Send {
                continue;
            }
            // A NIC that has read the wire has a version, no older than that of a host which was
            // started anew.
            if const { A::READ_MOSTLY } && popped.kind == Kind::Piece && self.begun {
                continue;
            }
            // Where the wire's ring may be published amid this, nothing of it is to be read a
            // second time.
            if A::DURABLE && (popped.kind != Kind::Send || !self.wire_has_room()) {
                back.release();
            }
            let bytes = buffer.get(..popped.len).unwrap_or_default();
            if let Some((stamp, frame)) = Message::decode_sent(popped.kind, bytes) {
                self.half.sent(&stamp, frame, &mut self.outgoing)?;
                continue;
            }
            let undecodable = ProtocolError::undecodable(popped.kind);
            let message = Message::decode_at_nic(popped.kind, bytes).ok_or(undecodable)?;
            match self.half.message(&message, &mut self.outgoing)? {
                Event::None => {}
                Event::Begin => self.begun = true,
                Event::Drained => self.released = true,
                // The first time at once.
                Event::Watch(every) => self.watch = Watch { every, next: 0 },
            }
            entries -= u32::from(popped.kind == Kind::Entry);
            if entries == 0 {
                break;
            }
        }
        back.release();
        self.outgoing.released();
        Ok(back.records() != before)
    }

    /// Whether a whole burst came.
    fn read_wire(
        &mut self,
        wire: &mut Consumer<SharedMemory>,
        buffer: &mut [u8],
    ) -> Result<bool, LinkError> {
        // The host's last messages may have filled the hold queue.
        if !self.half.takes_packets() {
            return Ok(false);
        }
        let mut frames = BurstBuffer::new(buffer);
        let mut burst = Burst::new();
        let mut change = None;
        self.settles = false;
        while !burst.is_full() {
            let Some(room) = frames.room() else { break };
            let Some(popped) = wire.pop(room)? else { break };
            let bytes = frames.keep(popped.len);
            if const { A::READ_MOSTLY } && Kind::is_of_change(popped.kind) {
                change = Some((popped.kind, bytes));
                break;
            }
            if popped.kind == Kind::WireEnd {
                let message = Message::decode_at_nic(popped.kind, bytes.frame());
                let Some(Message::Frames(Frames::WireEnd { now })) = message else {
                    return Err(ProtocolError::undecodable(popped.kind).into());
                };
                self.wire_ended = Some(now);
                break;
            }
            let frame = Message::decode_roomy(popped.kind, bytes);
            let (stamp, frame) = frame.ok_or(ProtocolError::undecodable(popped.kind))?;
            // There is room: the loop's condition.
            burst.push_roomy(stamp, frame);
        }
        // They are copies: among the unread frames of a killed NIC there is none that it had begun.
        wire.release();
        let full = burst.is_full();
        self.half.burst(&mut burst, &mut self.outgoing);
        if let Some((kind, bytes)) = change {
            self.change(kind, bytes.frame())?;
        }
        Ok(full)
    }

    /// Part of a change of read-mostly states: it stands between two frames, and the host gets it
    /// between the same two. The last piece of a state puts its new version in force; no packet
    /// runs between the marks.
    #[cold]
    #[inline(never)]
    fn change(&mut self, kind: u16, bytes: &[u8]) -> Result<(), LinkError> {
        let undecodable = ProtocolError::undecodable(kind);
        let message = Message::decode_at_nic(kind, bytes).ok_or(undecodable)?;
        match message {
            Message::Control(Control::Change { .. } | Control::Changed { .. }) => {
                self.settles = true;
            }
            Message::Control(Control::Piece { state, piece }) => self.half.version(state, piece)?,
            _ => return Err(undecodable.into()),
        }
        self.outgoing.pass_on(kind, bytes);
        Ok(())
    }

    /// States, outcomes and counters, for the host to merge.
    #[cold]
    #[inline(never)]
    fn tell_all(&mut self) {
        if const { !A::RECORDED.is_empty() } {
            self.half.tell_changes(&mut self.outgoing);
        }
        let now = self.now();
        let mut flows = 0;
        for (number, (_, place)) in A::PLACES.iter().enumerate() {
            let home = self.half.engine().app().state(number);
            if matches!(home.kind(), state::Kind::Keyed) && A::PLAN.sides == Sides::NicOnly {
                flows = flows.max(home.entries(now));
            }
            if *place != Place::Host && A::PLAN.sides != Sides::HostOnly {
                let outgoing = &mut self.outgoing;
                home.export(now, &mut |piece| {
                    outgoing.send(&Control::Piece { state: number as u16, piece }.into());
                });
            }
        }
        let outgoing = &mut self.outgoing;
        self.half.engine().outcomes.each(&mut |name, count| {
            outgoing.send(&Telemetry::Outcome { count, name: Name(name.as_bytes()) }.into());
        });
        let counts = self.half.counts();
        let away = outgoing.host_away;
        if away > 0 {
            outgoing.send(&Telemetry::Outcome { count: away, name: Name(b"host-away") }.into());
        }
        outgoing.send(
            &Telemetry::Report { report: Report { flows: flows.max(counts.flows), ..counts } }
                .into(),
        );
        outgoing.publish();
    }
}
