//! One state of the system: both halves, the messages between them, and the packets that left. A
//! choice advances it by a step.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher as _};

use cora_core::key::{FiveTuple, protocol};
use cora_core::packet::{MAX_FRAME, Meta, Packet, Port};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::durability::{Holder, ReplicaStore};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::node::Egress;
use cora_runtime::ownership::{Admission, Order};

use super::explorer::State;
use super::killed::Side;
use crate::apps::marks::Marking;
use crate::apps::{IDLE, Share};
use crate::frames::{address, frame, number_of};
use crate::halves::{self, HostEnds};
use crate::link::{Ring, Sabotage};
use crate::memory::Supply;
use crate::nic_core::NicCore;
use crate::replicas::Replicas;

/// The program under test: flows are offered only by order.
pub(super) type App = Marking<Share<1024>>;

/// Number of flows.
pub const FLOWS: usize = 2;
/// The time of all packets: expiry is left to the simulations.
pub(super) const NOW: u64 = 5 * IDLE;

/// The scenario to explore.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Requests of each flow's packets.
    pub asks: [Vec<u8>; FLOWS],
    /// Number of orders to offer each flow, at any time.
    pub offers: u8,
    /// Number of orders to recall each flow, at any time.
    pub recalls: u8,
    /// Maximum number of kills, each followed by a new side.
    pub kills: u8,
    /// The planted fault.
    pub sabotage: Sabotage,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The flow's next packet comes to the NIC.
    Packet(usize),
    /// The host takes the next message.
    Host,
    /// The NIC takes the next message.
    Nic,
    /// The host is ordered to offer the flow.
    Offer(usize),
    /// The host is ordered to recall the flow.
    Recall(usize),
    /// The side is killed, and another one begins.
    Kill(Side),
}

/// A state of the system.
pub(super) struct World<'a> {
    // The halves lie in memory of the supply, so they are dropped first.
    pub(super) nic: NicCore<App>,
    pub(super) host: HostHalf<App>,
    pub(super) supply: Supply,
    pub(super) scenario: &'a Scenario,
    pub(super) punt: Ring,
    pub(super) back: Ring,
    pub(super) copies: Replicas,
    pub(super) fed: [usize; FLOWS],
    offers: [u8; FLOWS],
    recalls: [u8; FLOWS],
    /// Remaining kills.
    pub(super) kills: u8,
    /// Numbers of the packets that left, per flow.
    pub(super) left: [Vec<u32>; FLOWS],
    /// Numbers of the packets that were lost with a killed side, per flow.
    pub(super) lost: [BTreeSet<u32>; FLOWS],
    frame: Box<[u8; MAX_FRAME]>,
}

/// Returns the tuple of a flow.
pub(super) fn tuple(flow: usize) -> FiveTuple {
    FiveTuple {
        source: address([0, flow as u8], true),
        destination: address([100, 0], false),
        source_port: 1000,
        destination_port: 80,
        protocol: protocol::UDP,
    }
}

/// The NIC's output: to the host and to the wire.
pub(super) struct Ends<'a> {
    pub(super) punt: &'a mut Ring,
    pub(super) left: &'a mut [Vec<u32>; FLOWS],
}

impl PeerOutbox for Ends<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.punt.send(message);
    }
}

impl cora_runtime::exec::Wire for Ends<'_> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        let mut frame = frame.to_vec();
        let number = number_of(&Packet::new(&mut frame, stamp.meta));
        self.left[stamp.number as usize / 16].push(number);
    }
}

impl Egress for Ends<'_> {
    fn publish(&mut self) {}
}

impl State for World<'_> {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        self.possible()
    }

    fn go(&mut self, choice: Choice) -> Result<(), String> {
        self.step(choice)?;
        self.check()
    }

    fn digest(&mut self) -> u128 {
        self.sum()
    }

    fn copy(&self) -> Option<Self> {
        None
    }
}

impl<'a> World<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let mut supply = Supply::default();
        let (mut punt, mut left) = (Ring::new(scenario.sabotage), [const { Vec::new() }; FLOWS]);
        let mut ends = Ends { punt: &mut punt, left: &mut left };
        let nic = NicCore::begun(halves::nic(&mut supply, 1, 0, None), &mut ends);
        let mut host = halves::host(&mut supply, 1, true);
        let mut back = Ring::new(scenario.sabotage);
        host.follow(&Order::Admit(Admission::NONE), &mut back);
        Self {
            nic,
            host,
            supply,
            scenario,
            punt,
            back,
            copies: Replicas::default(),
            fed: [0; FLOWS],
            offers: [scenario.offers; FLOWS],
            recalls: [scenario.recalls; FLOWS],
            kills: scenario.kills,
            left,
            lost: [const { BTreeSet::new() }; FLOWS],
            frame: vec![0; MAX_FRAME].into_boxed_slice().try_into().expect("as long"),
        }
    }

    /// The possible next steps.
    fn possible(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        if !self.punt.is_empty() {
            choices.push(Choice::Host);
        }
        if !self.back.is_empty() {
            choices.push(Choice::Nic);
        }
        for flow in 0..FLOWS {
            if self.fed[flow] < self.scenario.asks[flow].len() && self.nic.half.takes_packets() {
                choices.push(Choice::Packet(flow));
            }
            // A flow exists only after its first packet.
            if self.fed[flow] > 0 && self.offers[flow] > 0 {
                choices.push(Choice::Offer(flow));
            }
            if self.fed[flow] > 0 && self.recalls[flow] > 0 {
                choices.push(Choice::Recall(flow));
            }
        }
        let sides = [Side::Nic, Side::Host, Side::Both];
        choices.extend(sides.into_iter().filter(|it| it.kills() <= self.kills).map(Choice::Kill));
        choices
    }

    /// Takes a step.
    fn step(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Packet(flow) => self.packet(flow)?,
            Choice::Host => self.serve_host()?,
            Choice::Nic => self.serve_nic()?,
            Choice::Offer(flow) => {
                self.offers[flow] -= 1;
                self.host.follow(&Order::Offer(tuple(flow)), &mut self.back);
            }
            Choice::Recall(flow) => {
                self.recalls[flow] -= 1;
                self.host.follow(&Order::Recall(tuple(flow)), &mut self.back);
            }
            Choice::Kill(side) => {
                self.kills -= side.kills();
                self.kill(side)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, flow: usize) -> Result<(), String> {
        let number = self.fed[flow];
        self.fed[flow] += 1;
        // Every other packet is an answer.
        let (tuple, port) = if number.is_multiple_of(2) {
            (tuple(flow), Port::INSIDE)
        } else {
            (tuple(flow).reversed(), Port::OUTSIDE)
        };
        let ask = self.scenario.asks[flow][number];
        let frame = frame(&tuple, flow as u32, number as u32, ask, 0);
        let meta = Meta { time: NOW, now: NOW, port, ..Meta::default() };
        let number = (16 * flow + number) as u64;
        let stamp =
            Stamp { meta, number, horizon: NOW, egress: port, parked: Parked::NONE, missing: 0 };
        let mut ends = Ends { punt: &mut self.punt, left: &mut self.left };
        self.nic.feed(&mut [(stamp, frame)], &mut ends).map(drop)
    }

    pub(super) fn serve_host(&mut self) -> Result<(), String> {
        let mut ends = HostEnds { back: &mut self.back, copies: &mut self.copies };
        halves::serve_host(&mut self.host, &mut self.punt, &mut ends, 1)
    }

    pub(super) fn serve_nic(&mut self) -> Result<(), String> {
        let mut ends = Ends { punt: &mut self.punt, left: &mut self.left };
        self.nic.serve(1, &mut self.back, &mut ends)
    }

    /// Distinguishes this state from others (`cora_runtime::state_hash` lists the input).
    fn sum(&mut self) -> u128 {
        let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
        hashers[1].write_u8(1);
        let mut say = |bytes: &[u8]| {
            for hasher in &mut hashers {
                hasher.write_usize(bytes.len());
                hasher.write(bytes);
            }
        };
        self.nic.half.digest(&mut self.frame, &mut say);
        self.host.digest(&mut say);
        for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
            self.copies.each(holder, None, &mut |copy| {
                say(copy.group);
                say(copy.piece);
            });
            say(b"held");
        }
        for ring in [&self.punt, &self.back] {
            for (kind, bytes) in ring.records() {
                say(&kind.to_le_bytes());
                say(bytes);
            }
            say(b"end");
        }
        for flow in 0..FLOWS {
            say(&[self.fed[flow] as u8, self.offers[flow], self.recalls[flow]]);
            self.left[flow].iter().for_each(|number| say(&number.to_le_bytes()));
            say(b"lost");
            self.lost[flow].iter().for_each(|number| say(&number.to_le_bytes()));
        }
        say(&[self.kills]);
        let [first, second] = hashers.map(|hasher| u128::from(hasher.finish()));
        first << 64 | second
    }
}
