//! Both halves, message by message. A recalled flow takes along the entries that its held packets
//! have yet to find, however old these are. A flow that is over takes nothing along, however old
//! other flows' packets are. A message that somebody waits for is shown before its sender goes on.

mod counts;
mod halves_support;

use std::collections::VecDeque;

use cora_core::packet::{Meta, Port};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;
use cora_runtime::ownership::Order;

use counts::{Counts, IDLE, OPENS, PUNTS, app};
use halves_support::{flow, frame, memory};

/// A ring of encoded messages, and its length when it was last shown. Frames that leave by the wire
/// are ignored.
#[derive(Debug, Default)]
struct Ring(VecDeque<(u16, Vec<u8>)>, usize);

impl HostOutbox for Ring {}

impl PeerOutbox for Ring {
    fn send(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| self.0.push_back((kind, parts.concat())));
    }

    fn show(&mut self) {
        self.1 = self.0.len();
    }
}

impl Wire for Ring {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
}

fn stamp(now: u64) -> Stamp {
    let meta = Meta { time: now, now, port: Port(0), ..Meta::default() };
    Stamp { meta, number: now, horizon: now, egress: Port(1), parked: Parked::NONE, missing: 0 }
}

/// Both halves, and the rings between them.
struct Pair {
    nic: NicHalf<Counts>,
    host: HostHalf<Counts>,
    punt: Ring,
    back: Ring,
}

impl Pair {
    fn new() -> Self {
        let (mut nic, mut host) = (app(), app());
        let of_nic = NicHalf::<Counts>::bytes(&mut nic);
        let of_host = HostHalf::<Counts>::bytes(&mut host);
        Self {
            nic: NicHalf::create(nic, &mut memory(of_nic)).expect("there is memory"),
            host: HostHalf::create(host, &mut memory(of_host), true).expect("there is memory"),
            punt: Ring::default(),
            back: Ring::default(),
        }
    }

    /// A packet comes in at the wire.
    fn packet(&mut self, port: u16, now: u64) {
        let (mut bytes, mut burst) = (frame(port), Burst::new());
        assert!(burst.push(stamp(now), &mut bytes));
        self.nic.burst(&mut burst, &mut self.punt);
    }

    /// The host handles all that the NIC sent.
    fn host(&mut self) {
        while let Some((kind, mut bytes)) = self.punt.0.pop_front() {
            if kind == Kind::Punt {
                let (stamp, frame) = Message::decode_frame(kind, &mut bytes).expect("a packet");
                let mut burst = Burst::new();
                assert!(burst.push(stamp, frame));
                self.host.burst(&mut burst, &mut self.back).expect("in order");
            } else {
                let message = Message::decode(kind, &bytes).expect("a message");
                self.host.message(&message, &mut self.back).expect("in order");
            }
        }
    }

    /// The NIC handles the host's next messages; frames that leave are ignored.
    fn nic(&mut self, messages: usize) {
        for _ in 0..messages {
            let (kind, bytes) = self.back.0.pop_front().expect("a message");
            let message = Message::decode(kind, &bytes).expect("a message");
            self.nic.message(&message, &mut self.punt).expect("in order");
        }
    }

    /// Makes the NIC own a flow; its first packet comes now.
    fn own_at_nic(&mut self, port: u16, now: u64) {
        self.packet(port, now);
        for _ in 0..2 {
            self.host();
            self.nic(2);
        }
    }

    /// The host's count of a flow that it owns.
    fn counted(&mut self, port: u16) -> Option<u64> {
        self.host.engine().app().counts.get(&flow(port)).map(|count| count.0)
    }
}

#[test]
fn what_waits_finds_its_entry_at_the_host() {
    let mut sides = Pair::new();
    // Both flows are offered. The first one's packet waits, behind it one of the second.
    sides.packet(1, 10);
    sides.packet(2, 11);
    sides.host();
    let all = sides.back.0.len();
    sides.nic(all);
    sides.packet(1, 20);
    sides.packet(2, 21);
    // The second arrives first: it is owned, but its packet has to stay behind the other's.
    sides.punt.0.swap(0, 1);
    sides.host();
    sides.nic(2);
    assert!(!sides.nic.is_drained());
    // Another flow's packet comes long after, when the second seems idle.
    sides.packet(3, 20 + 2 * IDLE);
    let mut wish = Ring::default();
    sides.host.follow(&Order::Recall(flow(2)), &mut wish);
    sides.back.0.push_front(wish.0.pop_front().expect("the recall"));
    sides.nic(1);
    let all = sides.back.0.len();
    sides.nic(all);
    sides.host();
    assert_eq!(sides.counted(2), Some(2), "what was counted before it moved");
}

#[test]
fn what_others_wait_for_does_not_bring_a_flow_back() {
    let mut sides = Pair::new();
    // The second flow is owned by the NIC; the first one's packet waits.
    sides.own_at_nic(2, 10);
    sides.packet(2, 11);
    sides.packet(1, 12);
    sides.host();
    sides.nic(2);
    sides.packet(1, 20);
    assert_eq!((sides.nic.flows(), sides.nic.is_drained()), (2, false));
    // Long after, packets of the second belong to a new flow, which is the host's; an order recalls
    // the old one.
    sides.packet(2, 20 + 2 * IDLE);
    sides.host();
    assert_eq!(sides.counted(2), Some(1), "the host counts anew");
    // The order overtakes the messages that the first flow's packet waits for.
    let mut wish = Ring::default();
    sides.host.follow(&Order::Recall(flow(2)), &mut wish);
    sides.back.0.push_front(wish.0.pop_front().expect("the recall"));
    sides.nic(1);
    sides.host();
    assert_eq!(sides.counted(2), Some(1), "what the new flow counted");
}

#[test]
fn a_packet_that_comes_alone_is_shown_before_its_flow_is_offered() {
    let mut sides = Pair::new();
    sides.packet(1, 10);
    sides.host();
    let kinds: Vec<u16> = sides.back.0.iter().map(|(kind, _)| *kind).collect();
    assert_eq!((kinds.len(), kinds[0], sides.back.1), (2, Kind::Send.number(), 1));
    // With others, all are shown together, by the run loop.
    let mut two = [frame(2), frame(3)];
    let mut burst = Burst::new();
    for bytes in &mut two {
        assert!(burst.push(stamp(11), bytes));
    }
    sides.back = Ring::default();
    sides.host.burst(&mut burst, &mut sides.back).expect("in order");
    assert_eq!((sides.back.0.len(), sides.back.1), (4, 0));
}

#[test]
fn a_punt_is_shown_with_its_flow() {
    let mut sides = Pair::new();
    sides.own_at_nic(PUNTS, 10);
    assert_eq!((sides.nic.flows(), sides.punt.1), (1, 0), "the NIC owns it, and nobody waited");
    sides.packet(PUNTS, 11);
    let kinds: Vec<u16> = sides.punt.0.iter().map(|(kind, _)| *kind).collect();
    assert_eq!((&kinds[1..], sides.punt.1), (&[Kind::Entry.number(), Kind::Punt.number()][..], 3));
    assert_eq!(sides.nic.flows(), 0);
    sides.host();
    assert_eq!(sides.counted(PUNTS), Some(2));
}

/// An unexpected key: the flow had no other key when it was offered.
#[test]
fn a_key_that_is_made_at_the_nic_finds_its_flow_there() {
    let mut sides = Pair::new();
    sides.own_at_nic(OPENS.start, 10);
    assert!(!sides.nic.looks_among_entries(), "all entries have the keys of their flows");
    sides.packet(OPENS.start, 11);
    sides.packet(OPENS.start + 1, 12);
    assert_eq!((sides.nic.report.packets, sides.punt.0.len()), (2, 0), "the NIC ran both");
    assert!(sides.nic.looks_among_entries());
}

/// Flows that came bring no new keys: the NIC still need not search entries.
#[test]
fn flows_that_come_bring_no_other_keys() {
    let mut sides = Pair::new();
    for port in 1..4 {
        sides.own_at_nic(port, u64::from(port) * 10);
        sides.packet(port, u64::from(port) * 10 + 1);
    }
    assert_eq!((sides.nic.flows(), sides.nic.report.packets), (3, 3));
    assert!(!sides.nic.looks_among_entries());
}

#[test]
fn a_key_that_is_made_at_the_host_finds_its_flow_there() {
    let mut sides = Pair::new();
    for (port, now) in [(0, 10), (0, 11), (1, 12), (2, 13)] {
        sides.packet(OPENS.start + port, now);
    }
    sides.host();
    assert_eq!(sides.counted(OPENS.end), Some(2));
    assert_eq!(sides.host.flows(), 1, "three keys of one flow");
}
