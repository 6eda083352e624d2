//! Messages between flows: all schedules of a few datagrams, with their effects, while flows
//! move. In the end the host alone replays the history of each.

use std::hash::{DefaultHasher, Hasher as _};

use cora_core::packet::{MAX_FRAME, Meta};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::classes::Limits;
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Message, Stamp};
use cora_runtime::node::Egress;
use cora_runtime::ownership::{Admission, Order};

use super::explorer::{self, Counterexample, Explored, State};
use crate::apps::actors::{self, Actors};
use crate::apps::{Share, SimApp as _};
use crate::halves;
use crate::history::{self, Event, Recorded};
use crate::link::{Ring, Sabotage};
use crate::memory::Supply;
use crate::nic_core::NicCore;
use crate::result::Results;
use crate::traffic;

/// The program.
type App = Recorded<Actors<Share<1024>>>;

/// The scenario to explore.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The datagrams: their times (ns), senders, requests and arguments.
    pub datagrams: Vec<[u64; 4]>,
    /// The flows that move, by their places among those of the program.
    pub flows: Vec<usize>,
    /// Number of orders to offer each flow, and to recall it, at any time.
    pub orders: [u8; 2],
    /// The costs of messages beyond which they wait in mailboxes.
    pub limits: Option<Limits>,
    /// The planted fault.
    pub sabotage: Sabotage,
}

/// A possible next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next datagram comes to the NIC.
    Datagram,
    /// The host takes the next message, sends an entry, or runs a round.
    Host,
    /// The NIC does so.
    Nic,
    /// The host is ordered to offer the flow at this place of the scenario's.
    Offer(usize),
    /// The host is ordered to recall it.
    Recall(usize),
}

/// The ends of a half: the ring to the other one, and the wire.
struct Ends<'a> {
    ring: &'a mut Ring,
    results: &'a mut Results,
}

impl PeerOutbox for Ends<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.ring.send(message);
    }

    fn now_ns(&self) -> u64 {
        history::worked()
    }
}

impl HostOutbox for Ends<'_> {}

impl cora_runtime::exec::Wire for Ends<'_> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        history::note(|| Event::Left(frame.to_vec()));
        self.results.left(stamp.leaves_at().0, frame);
    }
}

impl Egress for Ends<'_> {
    fn publish(&mut self) {}
}

/// A state of the system.
struct World<'a> {
    // The halves lie in memory of the supply, so they are dropped first.
    nic: NicCore<App>,
    host: HostHalf<App>,
    _supply: Supply,
    scenario: &'a Scenario,
    packets: Vec<(Stamp, Vec<u8>)>,
    punt: Ring,
    back: Ring,
    fed: usize,
    orders: Vec<[u8; 2]>,
    results: Results,
    frame: Box<[u8; MAX_FRAME]>,
}

/// Explores all schedules. A counterexample is a violation and the way to it.
///
/// # Errors
/// If one of the histories is none of a run one by one, or a schedule has no end.
pub fn explore(scenario: &Scenario) -> Result<Explored, Counterexample<Step>> {
    explorer::explore(|| World::new(scenario), |_| true)
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        history::begin();
        let mut supply = Supply::default();
        let (mut punt, mut back) = (Ring::new(scenario.sabotage), Ring::new(scenario.sabotage));
        let mut results = Results::default();
        let mut ends = Ends { ring: &mut punt, results: &mut results };
        let mut nic = NicCore::begun(halves::nic::<App>(&mut supply, 1, 0, None), &mut ends);
        let mut host = halves::host::<App>(&mut supply, 1, true);
        if let Some(limits) = scenario.limits {
            nic.half.limit_classes(limits);
            host.limit_classes(limits);
        }
        host.follow(&Order::Admit(Admission::NONE), &mut back);
        let packets =
            scenario.datagrams.iter().zip(0..).map(|(&[now, from, asks, arg], number)| {
                let stamp = traffic::stamp(number);
                let meta = Meta { time: now, now, ..stamp.meta };
                let words = [from, u64::from(number), asks, arg];
                (Stamp { meta, horizon: now, ..stamp }, actors::datagram(words))
            });
        Self {
            nic,
            host,
            _supply: supply,
            scenario,
            packets: packets.collect(),
            punt,
            back,
            fed: 0,
            orders: vec![scenario.orders; scenario.flows.len()],
            results,
            frame: vec![0; MAX_FRAME].into_boxed_slice().try_into().expect("as long"),
        }
    }

    fn order(&mut self, order: &Order<<App as cora_core::app::Transfer>::Group>) {
        self.host.follow(order, &mut self.back);
    }

    fn host(&mut self) -> Result<(), String> {
        let mut ends = Ends { ring: &mut self.back, results: &mut self.results };
        if self.host.is_handing_over() {
            return self.host.hand_over(1, &mut ends).map_err(|error| error.to_string());
        }
        if self.punt.is_empty() {
            self.host.round(&mut ends);
            return Ok(());
        }
        halves::serve_host(&mut self.host, &mut self.punt, &mut ends, 1)
    }

    fn check(&mut self) -> Result<(), String> {
        if !self.choices().is_empty() {
            return Ok(());
        }
        if self.fed < self.packets.len() {
            return Err("deadlock: nothing is on its way, and yet the wire waits".to_owned());
        }
        if !(self.nic.half.is_drained() && self.host.is_drained()) {
            return Err("deadlock: nothing is on its way, and yet somebody waits".to_owned());
        }
        self.nic.half.end_messages();
        self.host.end_messages();
        let mut results = std::mem::take(&mut self.results);
        results.count(&self.nic.half.engine().outcomes);
        results.count(&self.host.engine().outcomes);
        let now = u64::MAX >> 1;
        results.merge(self.nic.half.engine().app(), self.host.engine().app(), now)?;
        results.hold(self.host.engine().app(), now);
        let events = history::so_far();
        history::replay::<Actors<Share<1024>>>(&self.packets, &events, 1, &results).map(drop)
    }
}

impl State for World<'_> {
    type Choice = Step;

    fn choices(&self) -> Vec<Step> {
        let mut choices = Vec::new();
        if !self.punt.is_empty() || self.host.is_handing_over() || self.host.has_mail() {
            choices.push(Step::Host);
        }
        let nic = &self.nic.half;
        if !self.back.is_empty() || nic.is_handing_over() || nic.has_mail() {
            choices.push(Step::Nic);
        }
        if self.fed < self.packets.len() && nic.takes_packets() {
            choices.push(Step::Datagram);
        }
        for (place, [offers, recalls]) in self.orders.iter().enumerate() {
            if self.fed > 0 && *offers > 0 {
                choices.push(Step::Offer(place));
            }
            if self.fed > 0 && *recalls > 0 {
                choices.push(Step::Recall(place));
            }
        }
        choices
    }

    fn go(&mut self, choice: Step) -> Result<(), String> {
        let group = |place: usize| App::flows()[self.scenario.flows[place]];
        match choice {
            Step::Host => self.host()?,
            Step::Datagram => {
                let mut packet = [self.packets[self.fed].clone()];
                let mut ends = Ends { ring: &mut self.punt, results: &mut self.results };
                self.fed += self.nic.feed(&mut packet, &mut ends)?;
            }
            Step::Nic => {
                let mut ends = Ends { ring: &mut self.punt, results: &mut self.results };
                self.nic.serve(1, &mut self.back, &mut ends)?;
            }
            Step::Offer(place) => {
                let order = Order::Offer(group(place));
                self.orders[place][0] -= 1;
                self.order(&order);
            }
            Step::Recall(place) => {
                let order = Order::Recall(group(place));
                self.orders[place][1] -= 1;
                self.order(&order);
            }
        }
        self.check()
    }

    /// Messages in mailboxes are those that were sent, and neither handled nor are anywhere else.
    /// So the flows' histories tell them apart.
    fn digest(&mut self) -> u128 {
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
        for ring in [&self.punt, &self.back] {
            for (kind, bytes) in ring.records() {
                say(&kind.to_le_bytes());
                say(bytes);
            }
            say(b"end");
        }
        say(&[self.fed as u8, self.nic.half.has_mail().into(), self.host.has_mail().into()]);
        self.orders.iter().for_each(|orders| say(orders));
        let mut runs: Vec<_> = history::so_far()
            .into_iter()
            .filter_map(|event| if let Event::Ran(run) = event { Some(run) } else { None })
            .collect();
        // Each flow's runs, in their order.
        runs.sort_by_key(|run| run.flow);
        for run in runs {
            say(format!("{:?}", (run.half, run.flow, run.frame, run.result)).as_bytes());
        }
        let [first, second] = hashers.map(|hasher| u128::from(hasher.finish()));
        first << 64 | second
    }

    fn copy(&self) -> Option<Self> {
        None
    }
}
