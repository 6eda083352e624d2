//! An answer reaches only the client that asked, even if sides are killed meanwhile.
//!
//! Clients behind a NAT ask one server, which answers to their last seen addresses; some close, and
//! others come. Sides are killed between any two messages, and the pool's replica is damaged now
//! and then. Every frame names its client, so an answer at another client is detected.
//!
//! ```
//! use cora_sim::apps::leases::{Anew, Kept, Mortal};
//! use cora_sim::strangers;
//!
//! assert!(strangers::run::<Kept>(3, 400).is_ok());
//! assert!(strangers::run::<Mortal>(3, 400).is_ok());
//! // A pool that begins anew while sessions go on is found out.
//! assert!((0..40).any(|seed| strangers::run::<Anew>(seed, 400).is_err()));
//! ```

use std::collections::BTreeMap;

use cora_core::app::Transfer as _;
use cora_core::key::{FiveTuple, protocol};
use cora_core::packet::{Meta, Port};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parked;
use cora_runtime::node::Egress;

use crate::apps::leases::Leasing;
use crate::apps::{IDLE, Variant};
use crate::frames::{address, flow_of, frame, op, tuple_of};
use crate::halves::{self, HostEnds};
use crate::link::{Ring, Sabotage};
use crate::memory::Supply;
use crate::nic_core::NicCore;
use crate::random::Random;
use crate::replicas::Replicas;

/// Number of concurrent clients.
const CLIENTS: usize = 6;
/// The time of all packets: leases end with their sessions.
const NOW: u64 = 5 * IDLE;
/// Bytes at the NIC for waiting packets.
const HOLD: usize = 1 << 16;

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Answers that reached their client.
    pub answers: u64,
    /// Killed sides.
    pub kills: u64,
    /// Damaged replicas of the pool.
    pub damaged: u64,
    /// Flows at the NIC that ended with their host.
    pub ended: u64,
    /// Flows that the NIC took over.
    pub offloads: u64,
}

/// A client: its number and its tuple.
#[derive(Clone, Copy)]
struct Client {
    flow: u32,
    tuple: FiveTuple,
}

impl Client {
    fn new(flow: u32, host: u8) -> Self {
        let tuple = FiveTuple {
            source: address([0, host], true),
            destination: address([100, 0], false),
            source_port: 1000 + flow as u16,
            destination_port: 80,
            protocol: protocol::UDP,
        };
        Self { flow, tuple }
    }
}

/// The NIC's output.
struct NicEnds<'a> {
    punt: &'a mut Ring,
    left: &'a mut Vec<(Port, Vec<u8>)>,
}

impl Egress for NicEnds<'_> {
    fn publish(&mut self) {}

    fn room_for_entries(&mut self, _: u32) -> u32 {
        2
    }
}

impl PeerOutbox for NicEnds<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.punt.send(message);
    }
}

impl Wire for NicEnds<'_> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.left.push((stamp.leaves_at(), frame.to_vec()));
    }
}

struct Site<V: Variant> {
    // The halves lie in memory of the supply, so they are dropped first.
    nic: NicCore<Leasing<V>>,
    host: HostHalf<Leasing<V>>,
    supply: Supply,
    random: Random,
    punt: Ring,
    back: Ring,
    copies: Replicas,
    left: Vec<(Port, Vec<u8>)>,
    clients: Vec<Client>,
    /// All clients so far.
    all: BTreeMap<u32, FiveTuple>,
    /// The last tuple of each client at the server.
    seen: BTreeMap<u32, FiveTuple>,
    number: u32,
    ran: Ran,
}

/// Runs a NAT for `steps` steps, which follow from `seed`. An error describes the violation.
pub fn run<V: Variant>(seed: u64, steps: u64) -> Result<Ran, String> {
    let mut site = Site::<V>::new(seed);
    for _ in 0..steps {
        site.step()?;
    }
    while !site.punt.is_empty() || !site.back.is_empty() {
        site.serve_host()?;
        site.serve_nic()?;
    }
    site.ran.ended += site.nic.half.report.ended_with_host;
    site.ran.offloads += site.nic.half.report.offloads;
    Ok(site.ran)
}

impl<V: Variant> Site<V> {
    fn new(seed: u64) -> Self {
        let mut supply = Supply::default();
        let clients: Vec<Client> =
            (0..CLIENTS as u32).map(|flow| Client::new(flow, flow as u8 % 3)).collect();
        let (mut punt, mut left) = (Ring::new(Sabotage::None), Vec::new());
        let mut ends = NicEnds { punt: &mut punt, left: &mut left };
        let nic = NicCore::begun(halves::nic(&mut supply, seed, HOLD, None), &mut ends);
        Self {
            nic,
            host: halves::host(&mut supply, seed, true),
            supply,
            random: Random::new(seed ^ 0x7374_7261_6e67),
            punt,
            back: Ring::new(Sabotage::None),
            copies: Replicas::default(),
            left,
            all: clients.iter().map(|client| (client.flow, client.tuple)).collect(),
            clients,
            seen: BTreeMap::new(),
            number: 0,
            ran: Ran::default(),
        }
    }

    fn step(&mut self) -> Result<(), String> {
        match self.random.below(100) {
            0..2 => self.kill_host()?,
            2..4 => self.kill_nic()?,
            4..40 => self.packet()?,
            40..70 => self.serve_host()?,
            _ => self.serve_nic()?,
        }
        self.look()
    }

    /// Feeds a packet: a client asks, closes, or is answered.
    fn packet(&mut self) -> Result<(), String> {
        if !self.nic.half.takes_packets() {
            return Ok(());
        }
        let at = self.random.below(CLIENTS as u64) as usize;
        let client = self.clients[at];
        let answered = self.seen.get(&client.flow).filter(|_| self.random.once_in(2)).copied();
        let (tuple, port, ask) = match answered {
            Some(seen) => (seen.reversed(), Port::OUTSIDE, op::NOTHING),
            None if self.random.once_in(6) && self.seen.contains_key(&client.flow) => {
                self.replace(at);
                (client.tuple, Port::INSIDE, op::CLOSE)
            }
            None => (client.tuple, Port::INSIDE, op::NOTHING),
        };
        let frame = frame(&tuple, client.flow, self.number, ask, 0);
        let meta = Meta { time: NOW, now: NOW, port, ..Meta::default() };
        let number = u64::from(self.number);
        self.number += 1;
        let stamp =
            Stamp { meta, number, horizon: NOW, egress: port, parked: Parked::NONE, missing: 0 };
        let mut ends = NicEnds { punt: &mut self.punt, left: &mut self.left };
        self.nic.feed(&mut [(stamp, frame)], &mut ends).map(drop)
    }

    /// Replaces a client, which closes. The server no longer answers it.
    fn replace(&mut self, at: usize) {
        self.seen.remove(&self.clients[at].flow);
        let flow = self.all.len() as u32;
        self.clients[at] = Client::new(flow, self.random.below(3) as u8);
        self.all.insert(flow, self.clients[at].tuple);
    }

    /// Notes each client's tuple at the server, and checks that each answer is its client's.
    fn look(&mut self) -> Result<(), String> {
        for (egress, frame) in std::mem::take(&mut self.left) {
            let flow = flow_of(&frame);
            let tuple = tuple_of(&frame).ok_or("a frame without ports")?;
            let client = *self.all.get(&flow).ok_or("nobody's frame")?;
            if egress == Port::OUTSIDE {
                // A closed client is not answered.
                if self.clients.iter().any(|client| client.flow == flow) {
                    self.seen.insert(flow, tuple);
                }
            } else if (tuple.destination, tuple.destination_port)
                == (client.source, client.source_port)
            {
                self.ran.answers += 1;
            } else {
                return Err(format!("an answer to {client} went to {tuple}"));
            }
        }
        Ok(())
    }

    fn serve_host(&mut self) -> Result<(), String> {
        let mut ends = HostEnds { back: &mut self.back, copies: &mut self.copies };
        if self.host.is_handing_over() {
            let given = self.host.hand_over(2, &mut ends);
            given.map_err(|error| format!("the host refuses: {error}"))?;
        }
        halves::serve_host(&mut self.host, &mut self.punt, &mut ends, 1)
    }

    fn serve_nic(&mut self) -> Result<(), String> {
        let mut ends = NicEnds { punt: &mut self.punt, left: &mut self.left };
        self.nic.serve(1, &mut self.back, &mut ends)
    }

    /// Kills the NIC. Its messages are handled, and finished packets leave by the next NIC.
    fn kill_nic(&mut self) -> Result<(), String> {
        self.ran.kills += 1;
        self.ran.ended += self.nic.half.report.ended_with_host;
        self.ran.offloads += self.nic.half.report.offloads;
        while !self.punt.is_empty() || self.host.is_handing_over() {
            self.serve_host()?;
        }
        self.back.keep_only(Kind::Send.number());
        self.host.nic_lost(&mut self.copies);
        let mut ends = NicEnds { punt: &mut self.punt, left: &mut self.left };
        self.nic = NicCore::begun(halves::nic(&mut self.supply, 1, HOLD, None), &mut ends);
        Ok(())
    }

    /// Kills the host. Finished packets leave, and the next host begins with the replicas; now and
    /// then the pool's replica is damaged.
    fn kill_host(&mut self) -> Result<(), String> {
        self.ran.kills += 1;
        self.back.keep_only(Kind::Send.number());
        while !self.back.is_empty() || self.nic.half.is_handing_over() {
            self.serve_nic()?;
        }
        self.look()?;
        let damaged = !Leasing::<V>::KEPT.is_empty() && self.random.once_in(4);
        if damaged {
            self.ran.damaged += 1;
            self.copies.lose_singletons();
        }
        let afresh = damaged || !Leasing::<V>::RESTS_ON.is_empty();
        if afresh {
            // Late answers to ended sessions belong to no client: the server must be asked again.
            self.seen.clear();
        }
        let mut rest = std::mem::replace(&mut self.punt, Ring::new(Sabotage::None));
        self.host = halves::host(&mut self.supply, 1, true);
        while let Some((kind, bytes)) = rest.pop() {
            let message = Message::decode(kind, &bytes).ok_or("no message")?;
            self.host.catch_up(&message, &mut self.copies);
        }
        let mut bad = None;
        self.host.restore_singletons(&self.copies, &mut |number| bad = Some(number));
        if let Some(number) = bad {
            return Err(format!("the copy of state {number} encodes none"));
        }
        self.host.take_over(NOW, &mut self.copies, afresh);
        self.nic.greet(&mut NicEnds { punt: &mut self.punt, left: &mut self.left }, afresh);
        self.look()
    }
}
