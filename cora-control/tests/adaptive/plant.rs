//! Two servers and the flows between them, as a fluid: packets are rates, and only samples are
//! random.

use std::collections::{BTreeMap, VecDeque};

use cora_control::adaptive::{
    Action, Admitted, Costs, Decider, Decision, Digest, FlowId, Settings, SideReport,
};
use cora_runtime::telemetry::{SAMPLED, TALKERS, Talkers};

/// A period (ns).
pub(crate) const MS: u64 = 1_000_000;

/// The plan's admission in most tests.
pub(crate) const PLAN: Admitted = Admitted::share(1024, 4);

/// Packets of a flow per decay interval, with which it is offered.
const EARNS: f64 = 0.69;
/// A flow with more packets shortens the idle time before an eviction by this factor at most.
const EAGER: f64 = 4.0;
/// Most futile requests for a place at the NIC in a millisecond.
const ASKED: u32 = 2;
/// Flows of the NIC examined in a search for an idle one.
const LOOKED_AT: usize = 16;

/// The real costs.
pub(crate) const REAL: Costs = Costs {
    host_packet: 200.0,
    host_move: 2_000.0,
    nic_packet: 400.0,
    nic_pass: 100.0,
    nic_move: 2_000.0,
};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    /// Packets a second.
    pub(crate) rate: f64,
    pub(crate) at_nic: bool,
    /// Packets that the host handled since it came.
    handled: f64,
    came: u64,
    /// Number of moves in both directions.
    pub(crate) moves: u32,
}

/// Both servers, the controller, and the flows.
pub(crate) struct Plant {
    pub(crate) decider: Decider,
    pub(crate) flows: BTreeMap<FlowId, Flow>,
    pub(crate) costs: Costs,
    pub(crate) room: u64,
    pub(crate) time: u64,
    pub(crate) admitted: Admitted,
    sides: [SideReport; 2],
    talkers: [Talkers<FlowId, TALKERS>; 2],
    /// Orders on their way, for one period.
    ordered: VecDeque<Decision>,
    moved: Vec<(FlowId, bool)>,
    random: u64,
    /// Work that came in the last period, by side (parts of the time).
    pub(crate) load: [f64; 2],
    /// Packets a second handled at the host and at the NIC.
    pub(crate) rates: [f64; 2],
    pub(crate) decisions: Vec<(u64, Decision)>,
    pub(crate) moves: u64,
    /// Flows at the NIC.
    there: u64,
    /// The flow examined last in the search for an idle one.
    hand: FlowId,
}

const HOST: usize = 0;
const NIC: usize = 1;

impl Plant {
    pub(crate) fn new(settings: Settings, costs: Costs, room: u64) -> Self {
        Self {
            admitted: settings.plan,
            decider: Decider::new(settings),
            flows: BTreeMap::new(),
            costs,
            room,
            time: 0,
            sides: [SideReport::default(), SideReport::default()],
            talkers: [Talkers::new(), Talkers::new()],
            ordered: VecDeque::from([Decision::default()]),
            moved: Vec::new(),
            random: 42,
            load: [0.0; 2],
            rates: [0.0; 2],
            decisions: Vec::new(),
            moves: 0,
            there: 0,
            hand: 0,
        }
    }

    /// Sets the rates of the flows from `first` on, and adds missing flows.
    pub(crate) fn set(&mut self, first: FlowId, rates: impl IntoIterator<Item = f64>) {
        for (flow, rate) in (first..).zip(rates) {
            self.flows.entry(flow).or_default().rate = rate;
        }
    }

    /// Returns the part of the packets that the NIC handles.
    pub(crate) fn at_nic(&self) -> f64 {
        self.rates[NIC] / (self.rates[NIC] + self.rates[HOST])
    }

    fn chance(&mut self) -> f64 {
        self.random =
            self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        f64::from((self.random >> 33) as u32) / f64::from(1_u32 << 31)
    }

    /// Returns a random time (ns) between two packets of a flow with this rate.
    fn wait(&mut self, rate: f64) -> f64 {
        -self.chance().max(1e-12).ln() * 1e9 / rate.max(1e-9)
    }

    /// Returns a random number of samples of these packets.
    fn samples(&mut self, packets: f64) -> u32 {
        let mut left = packets / f64::from(SAMPLED);
        let mut samples = 0;
        loop {
            let mut chance = self.chance().max(1e-12);
            // The time to the next sample, in means.
            let mut wait = 0.0;
            while chance < 0.5 {
                chance *= 2.0;
                wait += std::f64::consts::LN_2;
            }
            wait -= chance.ln();
            if wait > left {
                return samples;
            }
            left -= wait;
            samples += 1;
        }
    }

    /// Advances by a millisecond.
    pub(crate) fn step(&mut self) {
        self.time += MS;
        let moves = self.obey();
        self.handle(moves);
        for (side, talkers) in self.sides.iter_mut().zip(&mut self.talkers) {
            side.time = self.time;
            let all = talkers.all().iter().filter(|_| self.decider.weighs_flows());
            side.talkers = all.map(|talker| (2 * talker.key, talker.count, talker.error)).collect();
            talkers.age();
        }
        self.sides[NIC].flows = self.there;
        self.sides[NIC].room = self.room - self.there;
        self.sides[HOST].flows = self.flows.len() as u64 - self.there;
        let seen = Digest {
            host: self.sides[HOST].clone(),
            nic: Some(self.sides[NIC].clone()),
            moved: std::mem::take(&mut self.moved),
        };
        let decision = self.decider.decide(&seen);
        if !decision.is_empty() {
            self.decisions.push((self.time, decision.clone()));
        }
        self.ordered.push_back(decision);
    }

    pub(crate) fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            self.step();
        }
    }

    /// Executes orders and admission. Returns the number of moves.
    fn obey(&mut self) -> f64 {
        let before = self.moved.len();
        for action in self.ordered.pop_front().unwrap_or_default().actions {
            match action {
                Action::Admit(admitted) => self.admitted = admitted,
                Action::Offer(flow) => self.bring(flow / 2),
                Action::Recall(flow) => self.take_back(flow / 2),
            }
        }
        let Admitted { share, after, rest, most, pace, idle } = self.admitted;
        let fits = |flow: &Flow, id: FlowId| {
            !flow.at_nic
                && flow.rate * pace as f64 / 1e9 >= EARNS * f64::from(u8::from(pace > 0))
                && flow.handled >= f64::from(after)
                && id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54 < share.into()
                && (flow.came == 0 || self.time - flow.came >= rest)
        };
        let admitted: Vec<(FlowId, f64)> = self
            .flows
            .iter()
            .filter(|(id, flow)| fits(flow, **id))
            .map(|(id, flow)| (*id, flow.rate))
            .collect();
        // The flow with the first packet asks first.
        let mut admitted: Vec<(f64, FlowId)> =
            admitted.into_iter().map(|(id, rate)| (self.wait(rate), id)).collect();
        admitted.sort_by(|one, other| one.0.total_cmp(&other.0));
        admitted.truncate(64);
        let mut asked = 0;
        for (_, flow) in admitted {
            if idle > 0 && self.there >= u64::from(most) {
                let earns = self.flows[&flow].rate * pace as f64 / (EARNS * 1e9);
                self.give_place(idle as f64 / earns.clamp(1.0, EAGER));
                asked += 1;
            }
            if self.there >= u64::from(most) {
                if asked == ASKED {
                    break;
                }
                continue;
            }
            self.bring(flow);
        }
        (self.moved.len() - before) as f64
    }

    /// Evicts, of the NIC's next flows, the one with the longest random idle time, if that is at
    /// least `idle`.
    fn give_place(&mut self, idle: f64) {
        let there = |(id, flow): (&FlowId, &Flow)| flow.at_nic.then_some((*id, flow.rate));
        let next = self.flows.range(self.hand + 1..).chain(self.flows.range(..=self.hand));
        let looked_at: Vec<_> = next.filter_map(there).take(LOOKED_AT).collect();
        let mut longest = (idle, None);
        for &(id, rate) in &looked_at {
            let unused = self.wait(rate);
            if unused >= longest.0 {
                longest = (unused, Some(id));
            }
        }
        match longest.1 {
            Some(id) => self.take_back(id),
            None => self.hand = looked_at.last().map_or(0, |(id, _)| *id),
        }
    }

    fn bring(&mut self, id: FlowId) {
        let there = self.there;
        let flow = self.flows.get_mut(&id).expect("a flow of the plant's");
        if flow.at_nic || there >= self.room {
            self.sides[HOST].declined += 1;
            return;
        }
        flow.at_nic = true;
        self.there += 1;
        self.moved(id, true);
    }

    fn take_back(&mut self, id: FlowId) {
        let time = self.time;
        let flow = self.flows.get_mut(&id).expect("a flow of the plant's");
        if flow.at_nic {
            (flow.at_nic, flow.handled, flow.came) = (false, 0.0, time);
            self.there -= 1;
            self.moved(id, false);
        }
    }

    fn moved(&mut self, id: FlowId, to_nic: bool) {
        self.flows.get_mut(&id).expect("a flow of the plant's").moves += 1;
        // The controller's numbers are even.
        self.moved.push((2 * id, to_nic));
        self.moves += 1;
        for side in &mut self.sides {
            if to_nic {
                side.offloads += 1;
            } else {
                side.released += 1;
            }
            side.moved_bytes += 32;
        }
    }

    /// Lets both servers handle their packets, as far as they have time.
    fn handle(&mut self, moves: f64) {
        let Costs { host_packet, host_move, nic_packet, nic_pass, nic_move } = self.costs;
        let (mut nic, mut host) = (0.0, 0.0);
        for flow in self.flows.values() {
            if flow.at_nic { nic += flow.rate / 1e3 } else { host += flow.rate / 1e3 }
        }
        let nic_work = nic * nic_packet + host * nic_pass + moves * nic_move;
        let host_work = host * host_packet + moves * host_move;
        self.load = [host_work / 1e6, nic_work / 1e6];
        // An overload of one side holds back the other's packets: there is one wire.
        let served = (1e6 / nic_work.max(host_work)).min(1.0);
        self.rates = [host * served * 1e3, nic * served * 1e3];
        let count = |packets: f64| (packets * served).round() as u64;
        let [to_host, to_nic] = &mut self.sides;
        to_host.packets += count(host);
        to_nic.packets += count(nic);
        to_nic.passed_on += count(host);
        to_host.busy_ns += (host_work * served) as u64;
        to_nic.busy_ns += (nic_work * served) as u64;
        let flows: Vec<(FlowId, f64, bool)> = self
            .flows
            .iter()
            .map(|(id, flow)| (*id, flow.rate / 1e3 * served, flow.at_nic))
            .collect();
        for (id, packets, at_nic) in flows {
            for _ in 0..self.samples(packets) {
                self.talkers[NIC].add(id);
            }
            if !at_nic {
                for _ in 0..self.samples(packets) {
                    self.talkers[HOST].add(id);
                }
                self.flows.get_mut(&id).expect("it is one of them").handled += packets;
            }
        }
    }
}
