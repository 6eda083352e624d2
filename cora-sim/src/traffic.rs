//! Packets to feed, and the results of a run on the host alone.
//!
//! Both are made together: an answer is derived from the packets of its flow that left, so that
//! answers to a NAT carry the port that it assigned.

use std::collections::BTreeMap;

use cora_core::key::{FiveTuple, protocol};
use cora_core::packet::{Meta, Packet, Port};
use cora_core::state::Kind;
use cora_core::state::table::Ending;
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Burst;
use cora_runtime::host_half::HostOutbox;
use cora_runtime::link::message::{Control, Frames, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::steering::{Deal, Steering};

use crate::apps::{IDLE, SimApp};
use crate::frames::{address, frame, op, tuple_of};
use crate::halves;
use crate::memory::Supply;
use crate::random::Random;
use crate::result::{Ended, Results};

/// The traffic that a program wants.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Concurrent flows; now and then one is replaced by another.
    pub flows: u64,
    /// Inside hosts, which the flows share.
    pub hosts: u64,
    /// Requests that packets make now and then.
    pub ops: &'static [u8],
    /// Whether now and then enough time passes for entries to expire.
    pub expires: bool,
    /// Whether inside hosts talk to each other, through either port.
    pub crosses: bool,
}

/// The input of a run, and its expected results.
#[derive(Debug)]
pub struct Case {
    pub seed: u64,
    pub packets: Vec<(Stamp, Vec<u8>)>,
    /// Messages of changes of read-mostly states, each before the packet with this number.
    pub changes: Vec<(usize, Record)>,
    pub expected: Results,
    /// Number of times that the wall clock was set.
    pub wall_steps: u64,
}

/// Kind and bytes of a message.
pub type Record = (u16, Vec<u8>);

struct Collect<'a>(&'a mut Results, &'a mut BTreeMap<u32, FiveTuple>, &'a mut Vec<Ended>);

impl HostOutbox for Collect<'_> {
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        self.2.push(Ended::new(state, ending));
    }
}

impl PeerOutbox for Collect<'_> {
    fn send(&mut self, message: &Message<'_>) {
        let Message::Frames(Frames::Send { stamp, frame }) = message else {
            panic!("without a NIC: {message:?}")
        };
        self.0.left(stamp.leaves_at().0, frame);
        // An answer is to the packet itself, and not to one that a handler made.
        if stamp.is_made() || stamp.leaves_at() != Port::OUTSIDE {
            return;
        }
        if let Some(tuple) = tuple_of(frame) {
            self.1.insert(crate::frames::flow_of(frame), tuple);
        }
    }
}

/// Bytes of filling in one of sixteen cases, so that frames fill the queue.
const LONG: usize = 24_000;
/// Bytes of filling in one of four other cases, so that only heads go to the host.
pub const MIDDLE: usize = 700;

/// Makes a case. In one of sixteen all frames are long; in one of four others they are as long as
/// on most networks.
pub fn make<A: SimApp>(seed: u64, count: u32) -> Case {
    let mut random = Random::new(seed ^ 0x006c_6f6e_6700);
    let (long, middle) = (random.once_in(16), random.once_in(4));
    make_filled::<A>(
        seed,
        count,
        if long {
            LONG
        } else if middle {
            MIDDLE
        } else {
            0
        },
    )
}

/// Makes a case with `filling` bytes of filling in each frame.
pub fn make_filled<A: SimApp>(seed: u64, count: u32, filling: usize) -> Case {
    let mut source = Source::new(seed, A::WISHES, filling);
    case::<A>(seed, count, |number, left| source.next(number, left))
}

/// Makes a case of packets that bear the marks of their buckets, of so many concurrent flows.
pub fn make_marked<A: SimApp>(seed: u64, count: u32, flows: u64, filling: usize) -> Case {
    let steering = Steering::new(seed, Deal::even(1));
    let mut source = Source::new(seed, Wishes { flows, ..A::WISHES }, filling);
    case::<A>(seed, count, |number, left| {
        let (mut stamp, mut frame) = source.next(number, left);
        let packet = Packet::new(&mut frame, stamp.meta);
        stamp.meta.mark = steering.mark::<A>(&packet, |_| false);
        (stamp, frame)
    })
}

/// Makes a case of `count` packets, each from its number and the flows' last tuples outside.
pub(crate) fn case<A: SimApp>(
    seed: u64,
    count: u32,
    mut next: impl FnMut(u32, &BTreeMap<u32, FiveTuple>) -> (Stamp, Vec<u8>),
) -> Case {
    let mut supply = Supply::default();
    let mut host = halves::host::<A>(&mut supply, seed, false);
    let mut expected = Results::default();
    let mut left = BTreeMap::new();
    let mut packets = Vec::new();
    let (mut wall, mut changing) = (Wall::new(seed), Changing::new(seed));
    let (mut now, mut steps) = (0, Random::new(seed ^ 0x7374_6570_7300));
    let (mut changes, mut ended) = (Vec::new(), Vec::new());
    for number in 0..count {
        if let Some(version) = changing.next().filter(|_| A::CHANGES) {
            let records = change(host.engine().app(), version);
            changes.extend(records.into_iter().map(|record| (number as usize, record)));
        }
        let (mut stamp, frame) = next(number, &left);
        if !A::STEPS.is_empty() {
            now += steps.pick(A::STEPS);
            (stamp.meta, stamp.horizon) = (Meta { time: now, now, ..stamp.meta }, now);
        }
        packets.push((wall.stamped(stamp), frame.clone()));
        let mut out = Collect(&mut expected, &mut left, &mut ended);
        let (mut frame, mut burst) = (frame, Burst::new());
        burst.push(stamp, &mut frame);
        host.burst(&mut burst, &mut out).expect("no protocol without a NIC");
    }
    let now = host.now();
    host.pass_time(now, &mut Collect(&mut expected, &mut left, &mut ended));
    host.end_messages();
    expected.count(&host.engine().outcomes);
    expected.wait(host.engine().app(), now);
    expected.hold(host.engine().app(), now);
    expected.end_all(host.engine().app(), ended);
    drop(host);
    Case { seed, packets, changes, expected, wall_steps: wall.steps }
}

/// The stamp of a packet from inside, whose time is that of the program's steps.
pub(crate) fn stamp(number: u32) -> Stamp {
    Stamp {
        meta: Meta { port: Port::INSIDE, ..Meta::default() },
        number: u64::from(number),
        horizon: 0,
        egress: Port::INSIDE,
        parked: Parked::NONE,
        missing: 0,
    }
}

/// The schedule of new versions of read-mostly states.
struct Changing {
    random: Random,
    one_in: u64,
    version: u64,
}

impl Changing {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6368_616e_6765);
        let one_in = random.pick(&[u64::MAX, 3, 8, 30]);
        Self { random, one_in, version: 1 }
    }

    /// Returns the version that is put in force before the next packet, if any.
    fn next(&mut self) -> Option<u64> {
        let next = self.random.once_in(self.one_in);
        self.version += u64::from(next);
        next.then_some(self.version)
    }
}

/// Puts a version in force at the host, and returns the messages that do so elsewhere.
fn change<A: SimApp>(app: &mut A, version: u64) -> Vec<Record> {
    app.put_in_force(version);
    let mut pieces = Vec::new();
    for number in 0..A::STATES {
        let state = app.state(number);
        if state.kind() == Kind::ReadMostly {
            state.export(0, &mut |piece| pieces.push((number as u16, piece.to_vec())));
        }
    }
    let version = version as u32;
    let mut messages: Vec<Message<'_>> = vec![Control::Change { version }.into()];
    messages.extend(
        pieces.iter().map(|(state, piece)| -> Message<'_> {
            Control::Piece { state: *state, piece }.into()
        }),
    );
    messages.push(Control::Changed { version, pieces: pieces.len() as u32 }.into());
    messages.iter().map(|message| message.encode(|kind, parts| (kind, parts.concat()))).collect()
}

/// The wall clock, which is set now and then: by a second, by years, to its beginning. No entry
/// expires by it, so the expected results use a clock that is never set.
struct Wall {
    random: Random,
    /// The clock is set before one in this many packets.
    one_in: u64,
    /// Lead over the time that passes (ns, modulo 2^64).
    ahead: u64,
    steps: u64,
}

impl Wall {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x7761_6c6c);
        let one_in = random.pick(&[u64::MAX, 4, 20]);
        Self { random, one_in, ahead: 0, steps: 0 }
    }

    fn stamped(&mut self, stamp: Stamp) -> Stamp {
        const SECOND: u64 = 1_000_000_000;
        if self.random.once_in(self.one_in) {
            self.steps += 1;
            let far = self.random.pick(&[SECOND, IDLE, 1_000 * IDLE, 31_536_000 * SECOND]);
            self.ahead = match self.random.below(3) {
                0 => self.ahead.wrapping_add(far),
                1 => self.ahead.wrapping_sub(far),
                _ => stamp.meta.now.wrapping_neg(),
            };
        }
        let time = stamp.meta.time.wrapping_add(self.ahead);
        Stamp { meta: Meta { time, ..stamp.meta }, ..stamp }
    }
}

struct Source {
    random: Random,
    actions: Wishes,
    now: u64,
    /// Number and tuple of each current flow.
    flows: Vec<(u32, FiveTuple)>,
    next_flow: u32,
    /// Bytes of filling: long frames fill the queue.
    filling: usize,
}

impl Source {
    fn new(seed: u64, actions: Wishes, filling: usize) -> Self {
        let random = Random::new(seed ^ 0x7261_6666);
        let mut source =
            Self { random, actions, now: 5 * IDLE, flows: Vec::new(), next_flow: 1, filling };
        for _ in 0..actions.flows {
            let flow = source.new_flow();
            source.flows.push(flow);
        }
        source
    }

    /// Makes a flow. Flows share few ends, so that another flow soon gets the same port.
    fn new_flow(&mut self) -> (u32, FiveTuple) {
        let flow = self.next_flow;
        self.next_flow += 1;
        let host = self.random.below(self.actions.hosts) as u8;
        let mut tuple = FiveTuple {
            source: address([0, host], true),
            destination: address([100, self.random.below(2) as u8], false),
            source_port: 1000 + flow as u16,
            destination_port: 80,
            protocol: self.random.pick(&[protocol::UDP, protocol::UDP, protocol::TCP]),
        };
        if self.actions.crosses && !self.random.once_in(4) {
            tuple.destination = address([0, self.random.below(self.actions.hosts) as u8], true);
            // The ends may also occur in reverse.
            tuple.source_port = 80;
        }
        (flow, tuple)
    }

    fn next(&mut self, number: u32, left: &BTreeMap<u32, FiveTuple>) -> (Stamp, Vec<u8>) {
        self.pass_time();
        let at = (self.random.below(self.actions.flows) * self.random.below(self.actions.flows + 1)
            / self.actions.flows) as usize;
        if self.random.once_in(40) {
            self.flows[at] = self.new_flow();
        }
        let (flow, tuple) = self.flows[at];
        let answer = self.random.once_in(3);
        let op =
            if self.random.once_in(8) { self.random.pick(self.actions.ops) } else { op::NOTHING };
        let (mut tuple, port) = if answer {
            (left.get(&flow).unwrap_or(&tuple).reversed(), Port::OUTSIDE)
        } else {
            (tuple, Port::INSIDE)
        };
        let (mut flow, mut port) = (flow, port);
        if self.actions.crosses {
            // A packet by the other port, or in the other direction, belongs to another group: each
            // keeps its own order.
            port = if self.random.once_in(2) { port.opposite() } else { port };
            flow |= u32::from(answer) << 28 | u32::from(port.0) << 29;
        }
        if self.random.once_in(50) {
            // A packet without ports has no flow, and no order to keep.
            tuple.protocol = 47;
            flow = 0x8000_0000 | number;
        }
        let meta = Meta { time: self.now, now: self.now, port, ..Meta::default() };
        let stamp = Stamp {
            meta,
            number: u64::from(number),
            horizon: self.now,
            egress: port,
            parked: Parked::NONE,
            missing: 0,
        };
        (stamp, frame(&tuple, flow, number, op, self.filling))
    }

    /// Advances the time, mostly by small steps: some end exactly at an expiry, some far beyond.
    fn pass_time(&mut self) {
        if !self.actions.expires {
            self.now += self.random.below(3);
            return;
        }
        self.now += match self.random.below(64) {
            0..48 => self.random.below(3) * IDLE / 64,
            48..60 => self.random.below(20) * IDLE / 64,
            60 => IDLE - 1,
            61 => IDLE,
            62 => 2 * IDLE + self.random.below(2) * IDLE / 2,
            _ => self.random.pick(&[1, 3, 9, 1000]) * IDLE,
        };
    }
}
