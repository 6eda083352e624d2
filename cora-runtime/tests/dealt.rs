//! Buckets move between a NIC half and a host half that each receive their own: whatever a packet
//! finds before, it finds after, at whichever half it runs.

mod halves_support;

use std::cell::Cell;

use cora_core::app::{App, PlanFacts, Sides};
use cora_core::bucket::{Bucket, BucketSet, Mark};
use cora_core::by_hand;
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::{Keyed, Place, Reach, Table};
use cora_core::verdict::{Transmit, Verdict};
use cora_runtime::channel::{PeerOutbox, ProtocolError};
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Deals, Frames, Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;

use halves_support::{flow, frame, memory};

/// Idle time-out of an entry (ns).
const IDLE: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
struct Count(u64);

impl Plain for Count {
    const SIZE: usize = 8;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u64::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Keyed for Count {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Count";
    const CAPACITY: u32 = 512;
    const IDLE: u64 = IDLE;
    const REPLY: bool = false;
}

std::thread_local! {
    /// The number, among those of its flow, of the packet that ran last.
    static LATEST: Cell<u64> = const { Cell::new(0) };
}

/// Counts the packets of each flow.
#[derive(Debug)]
struct Counts {
    counts: Table<Count>,
}

by_hand!([] Counts, by FiveTuple, { Place::Travels => counts: Table<Count>, });

impl App for Counts {
    const NAME: &'static str = "counts";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Dealt);
    const MARKED: bool = true;

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let flow = packet.five_tuple()?;
        let number = self.counts.get(&flow).map_or(0, |count| count.0) + 1;
        self.counts.insert(flow, Count(number))?;
        LATEST.set(number);
        Transmit
    }
}

/// What leaves a half: records, and of each packet its port and its number in its flow.
#[derive(Debug, Default)]
struct Out {
    said: Vec<(u16, Vec<u8>)>,
    left: Vec<(u16, u64)>,
}

impl Out {
    fn packet(&mut self, frame: &[u8]) {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        let found = Packet::new(&mut frame.to_vec(), Meta::default()).five_tuple().ok();
        assert_eq!(found, Some(flow(port)), "it is as it came");
        self.left.push((port, LATEST.get()));
    }
}

impl HostOutbox for Out {}

impl PeerOutbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        match message {
            Message::Frames(Frames::Send { frame, .. }) => self.packet(frame),
            other => self.said.push(other.encode(|kind, parts| (kind, parts.concat()))),
        }
    }
}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, frame: &[u8]) {
        self.packet(frame);
    }
    fn tell(&mut self, message: Deals<'_>) {
        self.send(&message.into());
    }
}

/// A half of either kind.
enum Half {
    Nic(Box<NicHalf<Counts>>),
    Host(Box<HostHalf<Counts>>),
}

struct Shard {
    half: Half,
    out: Out,
}

fn app() -> Counts {
    use cora_core::app::Lifecycle as _;
    Counts::new(&mut memory(Counts::MEMORY)).expect("there is memory")
}

impl Shard {
    fn nic() -> Self {
        let mut app = app();
        let bytes = NicHalf::bytes(&mut app);
        let half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
        Self { half: Half::Nic(Box::new(half)), out: Out::default() }
    }

    fn host() -> Self {
        let mut app = app();
        let bytes = HostHalf::bytes(&mut app);
        let mut half = HostHalf::create(app, &mut memory(bytes), true).expect("there is memory");
        half.receive();
        Self { half: Half::Host(Box::new(half)), out: Out::default() }
    }

    /// A packet of the flow with this port, whose bucket has the same number, at this time.
    fn packet(&mut self, port: u16, now: u64) {
        let mark = Mark { bucket: Bucket::new(port as u8), ..Mark::UNMARKED };
        let meta = Meta { time: now, now, port: Port::INSIDE, mark };
        let (parked, missing) = (Parked::NONE, 0);
        let egress = Port::INSIDE;
        let stamp = Stamp { meta, number: now, horizon: now, egress, parked, missing };
        let mut frame = frame(port);
        let mut burst = Burst::new();
        burst.push(stamp, &mut frame);
        match &mut self.half {
            Half::Nic(half) => half.burst(&mut burst, &mut self.out),
            Half::Host(half) => half.burst(&mut burst, &mut self.out).expect("a sound burst"),
        }
    }

    fn deal(&mut self, message: Deals<'_>) -> Result<(), ProtocolError> {
        let (kind, bytes) = Message::Deals(message).encode(|kind, parts| (kind, parts.concat()));
        match &mut self.half {
            Half::Nic(half) => half.deal(kind, &bytes, &mut self.out),
            Half::Host(half) => half.message(&message.into(), &mut self.out),
        }
    }

    fn told(&mut self, message: Deals<'_>) {
        self.deal(message).expect("it has a place");
    }

    /// Gives all, until it said that they are gone.
    fn give(&mut self) -> Vec<(u16, Vec<u8>)> {
        while self.out.said.last().is_none_or(|(kind, _)| *kind != Kind::Gone) {
            match &mut self.half {
                Half::Nic(half) => half.hand_over(1, &mut self.out),
                Half::Host(half) => half.hand_over(1, &mut self.out).expect("it gives"),
            }
        }
        std::mem::take(&mut self.out.said)
    }

    fn take(&mut self, records: &[(u16, Vec<u8>)]) {
        for (kind, bytes) in records {
            let Some(Message::Deals(message)) = Message::decode(*kind, bytes) else {
                panic!("{kind} is no record of a deal");
            };
            if !matches!(message, Deals::Gone { .. }) {
                self.told(message);
            }
        }
    }
}

fn set(numbers: &[u8]) -> [u8; BucketSet::BYTES] {
    numbers.iter().map(|number| Bucket::new(*number)).collect::<BucketSet>().to_bytes()
}

/// A NIC with all buckets but none, and a host with none; and the other way round.
fn both_ways() -> [[Shard; 2]; 2] {
    [[Shard::nic(), Shard::host()], [Shard::host(), Shard::nic()]].map(|[mut from, mut to]| {
        from.told(Deals::Owns { buckets: &BucketSet::ALL.to_bytes() });
        to.told(Deals::Owns { buckets: &set(&[]) });
        [from, to]
    })
}

#[test]
fn what_moved_is_found_where_it_came() {
    for [mut from, mut to] in both_ways() {
        (0..200).for_each(|number| from.packet(300 + number % 4, u64::from(number)));
        let buckets = &set(&[300_u16 as u8, 301_u16 as u8]);
        from.told(Deals::Leaving { epoch: 1, now: 0, buckets });
        to.told(Deals::Coming { epoch: 1, now: 0, buckets });
        // Rules apply one after the other: some packets go the old way.
        from.packet(300, 200);
        to.packet(301, 201);
        to.packet(301, 202);
        assert!(to.out.left.is_empty(), "they are held");
        from.told(Deals::Going { epoch: 1 });
        to.packet(300, 203);
        let records = from.give();
        assert_eq!(records.iter().filter(|(kind, _)| *kind == Kind::Moved).count(), 2);
        to.take(&records);
        assert!(to.out.left.is_empty(), "not before all is here");
        to.told(Deals::Arrived { epoch: 1 });
        assert_eq!(to.out.left, [(301, 51), (301, 52), (300, 52)]);
        to.packet(300, 204);
        assert_eq!(to.out.left.pop(), Some((300, 53)));
        from.packet(302, 205);
        assert_eq!(from.out.left.pop(), Some((302, 51)), "others stay");
        // A packet that comes the old way nevertheless is given back.
        from.packet(300, 206);
        assert_eq!(from.out.said.pop().map(|(kind, _)| kind), Some(Kind::Stray.number()));
    }
}

#[test]
fn a_held_packet_finds_what_the_time_of_others_would_have_ended() {
    for [mut from, mut to] in both_ways() {
        from.packet(40, 100);
        let buckets = &set(&[40]);
        from.told(Deals::Leaving { epoch: 7, now: 0, buckets });
        to.told(Deals::Coming { epoch: 7, now: 0, buckets });
        to.packet(40, 100 + IDLE - 1);
        // Long after its entry's end, packets of others run at both.
        for late in 1..100 {
            from.packet(41, 100 + late * IDLE);
        }
        from.told(Deals::Going { epoch: 7 });
        to.take(&from.give());
        to.told(Deals::Arrived { epoch: 7 });
        assert_eq!(to.out.left, [(40, 2)], "it was alive at the packet's time");
        to.packet(40, 100 + 3 * IDLE);
        assert_eq!(to.out.left.pop(), Some((40, 1)), "and ended later");
    }
}

#[test]
fn what_came_of_a_half_that_died_is_void() {
    for [mut from, mut to] in both_ways() {
        from.packet(9, 1);
        let buckets = &set(&[9]);
        from.told(Deals::Leaving { epoch: 1, now: 0, buckets });
        to.told(Deals::Coming { epoch: 1, now: 0, buckets });
        to.packet(9, 2);
        from.told(Deals::Going { epoch: 1 });
        to.take(&from.give());
        to.told(Deals::Void { epoch: 1 });
        to.told(Deals::Arrived { epoch: 1 });
        assert_eq!(to.out.left, [(9, 1)], "it begins afresh");
    }
}

#[test]
fn buckets_without_a_rule_stay() {
    for [mut from, mut to] in both_ways() {
        from.packet(9, 1);
        from.told(Deals::Leaving { epoch: 1, now: 0, buckets: &set(&[9, 10]) });
        to.told(Deals::Coming { epoch: 1, now: 0, buckets: &set(&[9, 10]) });
        for shard in [&mut from, &mut to] {
            shard.told(Deals::Stays { epoch: 1, buckets: &set(&[9]) });
        }
        from.told(Deals::Going { epoch: 1 });
        to.take(&from.give());
        to.told(Deals::Arrived { epoch: 1 });
        from.packet(9, 2);
        to.packet(10, 3);
        assert_eq!((from.out.left.pop(), to.out.left.pop()), (Some((9, 2)), Some((10, 1))));
        // All of a move may stay.
        from.told(Deals::Leaving { epoch: 2, now: 0, buckets: &set(&[9]) });
        from.told(Deals::Stays { epoch: 2, buckets: &set(&[9]) });
        from.told(Deals::Leaving { epoch: 3, now: 0, buckets: &set(&[9]) });
    }
}

#[test]
fn what_has_no_place_is_an_error() {
    for [mut from, mut to] in both_ways() {
        from.packet(9, 1);
        let buckets = &set(&[9]);
        for wrong in [
            Deals::Going { epoch: 1 },
            Deals::Arrived { epoch: 1 },
            Deals::Void { epoch: 1 },
            Deals::Gone { epoch: 1 },
            Deals::Moved { epoch: 0, bucket: 9, state: 0, piece: &[] },
            Deals::Stays { epoch: 0, buckets },
            Deals::Owns { buckets: &[1, 2] },
            Deals::Coming { epoch: 1, now: 0, buckets: &[] },
        ] {
            assert!(to.deal(wrong).is_err(), "{wrong:?}");
        }
        to.told(Deals::Coming { epoch: 4, now: 0, buckets });
        for wrong in [
            Deals::Coming { epoch: 5, now: 0, buckets },
            Deals::Owns { buckets },
            Deals::Arrived { epoch: 3 },
            Deals::Moved { epoch: 4, bucket: 8, state: 0, piece: &[] },
            Deals::Moved { epoch: 4, bucket: 9, state: 1, piece: &[] },
            Deals::Moved { epoch: 4, bucket: 9, state: 0, piece: &[1, 2, 3] },
            Deals::Moved { epoch: 4, bucket: 256 + 9, state: 0, piece: &[] },
            Deals::Value { epoch: 4, state: 0, piece: &[0; 9] },
            Deals::Value { epoch: 4, state: 99, piece: &[0; 9] },
        ] {
            assert!(to.deal(wrong).is_err(), "{wrong:?}");
        }
        to.told(Deals::Arrived { epoch: 4 });
    }
}
