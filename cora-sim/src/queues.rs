//! Both halves, joined by queues of encoded messages, which can be sabotaged.

use cora_runtime::channel::PeerOutbox as _;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{Control, Kind, Report};

use crate::apps::SimApp;
use crate::halves;
use crate::link::{NicEnds, Ring, Sabotage};
use crate::memory::Supply;
use crate::nic_core::NicCore;
use crate::random::Random;
use crate::result::Results;
use crate::shelf::{self, Shelf};
use crate::traffic::Case;
use crate::words::Words;

/// Bytes at the NIC for waiting packets.
const HOLD: usize = 4 << 20;

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    pub nic: Report,
    pub host: Report,
    /// Waits of the wire.
    pub waits: u64,
    /// Packets that sent only their heads to the host.
    pub heads: u64,
}

impl Account {
    pub fn add(&mut self, other: &Self) {
        self.nic.packets += other.nic.packets;
        self.nic.punts += other.nic.punts;
        self.nic.offloads += other.nic.offloads;
        self.nic.declined += other.nic.declined;
        self.nic.held += other.nic.held;
        self.host.packets += other.host.packets;
        self.host.offloads += other.host.offloads;
        self.host.declined += other.host.declined;
        self.host.evicted += other.host.evicted;
        self.host.refused += other.host.refused;
        self.waits += other.waits;
        self.heads += other.heads;
    }
}

struct Sim<'a, A: SimApp> {
    nic: NicCore<A>,
    host: HostHalf<A>,
    punt: Ring,
    back: Ring,
    case: &'a Case,
    fed: usize,
    results: Results,
    shelf: Shelf,
    waits: u64,
}

/// Runs a case over both halves, by the schedule of this seed. An error describes the violation.
pub fn run<A: SimApp>(case: &Case, schedule: u64, sabotage: Sabotage) -> Result<Account, String> {
    let (account, found) = through::<A>(case, schedule, sabotage)?;
    if account.host.refused > 0 {
        return Err("the key of an entry that came back was another's".to_owned());
    }
    found.difference(&case.expected).map_or(Ok(account), Err)
}

/// Runs a program with full tables. The plan then affects which packets are refused, so this checks
/// that the run ends, that each packet has one outcome, and that flows keep their order.
pub fn run_full<A: SimApp>(case: &Case, schedule: u64) -> Result<Account, String> {
    let (account, found) = through::<A>(case, schedule, Sabotage::None)?;
    found.unsound(case.packets.len() as u64).map_or(Ok(account), Err)
}

fn through<A: SimApp>(
    case: &Case,
    schedule: u64,
    sabotage: Sabotage,
) -> Result<(Account, Results), String> {
    let mut supply = Supply::default();
    let mut sim = Sim::<A>::new(case, schedule, sabotage, &mut supply);
    sim.run_all(schedule)?;
    let found = sim.finish()?;
    let account = Account {
        nic: sim.nic.half.counts(),
        host: sim.host.counts(),
        waits: sim.waits,
        heads: sim.shelf.parked,
    };
    Ok((account, found))
}

impl<'a, A: SimApp> Sim<'a, A> {
    fn new(case: &'a Case, schedule: u64, sabotage: Sabotage, supply: &mut Supply) -> Self {
        let host = halves::host::<A>(supply, case.seed, true);
        let refuses = schedule.is_multiple_of(3).then_some(schedule);
        let nic = halves::nic::<A>(supply, case.seed, HOLD, refuses);
        let (punt, back) = (Ring::new(sabotage), Ring::new(sabotage));
        let shelf = Shelf::new(Words::new(shelf::BYTES));
        let results = Results::default();
        let nic = NicCore::new(nic);
        let mut sim = Self { nic, host, punt, back, case, fed: 0, results, shelf, waits: 0 };
        sim.back.send(&Control::Begin {}.into());
        sim.serve_nic(1, 0).expect("the first message");
        sim
    }

    fn run_all(&mut self, schedule: u64) -> Result<(), String> {
        let mut random = Random::new(schedule ^ 0x7363_6865);
        // In half of the schedules the rings are mostly short; in the others each may pause.
        let least = if schedule.is_multiple_of(2) { [0, 4, 4] } else { [0, 0, 0] };
        let mut weights = [1, 1, 1];
        loop {
            if random.once_in(30) {
                weights = least.map(|least| least + random.below(7));
            }
            if self.nic.half.is_handing_over() && random.once_in(3) {
                self.serve_nic(0, 1 + random.below(5) as u32)?;
            }
            if self.host.is_handing_over() && random.once_in(3) {
                let most = 1 + random.below(5) as u32;
                self.host
                    .hand_over(most, &mut self.back)
                    .map_err(|error| format!("host: {error}"))?;
            }
            let can =
                [self.fed < self.case.packets.len(), !self.punt.is_empty(), !self.back.is_empty()];
            if !can.contains(&true) {
                if self.nic.half.is_handing_over() || self.host.is_handing_over() {
                    continue;
                }
                return Ok(());
            }
            let shares = [0, 1, 2].map(|at| if can[at] { weights[at] } else { 0 });
            let all: u64 = shares.iter().sum();
            if all == 0 {
                weights = [1, 1, 1];
                continue;
            }
            let ticket = random.below(all);
            for _ in 0..=random.below(3) {
                if ticket < shares[0] {
                    self.feed()?;
                } else if ticket < shares[0] + shares[1] {
                    self.serve_host()?;
                } else {
                    self.serve_nic(1, 0)?;
                }
            }
        }
    }

    fn feed(&mut self) -> Result<(), String> {
        if !self.nic.half.takes_packets() {
            self.waits += 1;
            let leaving = self.nic.half.is_handing_over() || self.host.is_handing_over();
            let stuck = self.punt.is_empty() && self.back.is_empty() && !leaving;
            return if stuck {
                Err("the NIC takes no packet and waits for nothing".to_owned())
            } else {
                Ok(())
            };
        }
        // Bursts of one to five.
        let packets = self.case.packets.iter().skip(self.fed).take(1 + self.fed % 5);
        let mut frames: Vec<_> = packets.cloned().collect();
        let Self { nic, punt, results: wire, shelf, .. } = self;
        self.fed += nic.feed(&mut frames, &mut NicEnds { punt, wire, shelf, entries: 0 })?;
        Ok(())
    }

    fn serve_host(&mut self) -> Result<(), String> {
        // One packet, and also the next message if it is a packet.
        let is_packet = |(kind, _): &(u16, Vec<u8>)| *kind == Kind::Punt;
        let packets = self.punt.records().take(2).take_while(|record| is_packet(record)).count();
        halves::serve_host(&mut self.host, &mut self.punt, &mut self.back, packets.max(1))
    }

    fn serve_nic(&mut self, most: usize, entries: u32) -> Result<(), String> {
        let Self { nic, punt, back, results: wire, shelf, .. } = self;
        nic.serve(most, back, &mut NicEnds { punt, wire, shelf, entries })
    }

    fn finish(&mut self) -> Result<Results, String> {
        if !self.nic.half.is_drained() || !self.host.is_drained() {
            return Err(format!(
                "stuck: NIC {}, host {}",
                self.nic.half.is_drained(),
                self.host.is_drained()
            ));
        }
        let now = self.nic.half.now().max(self.host.now());
        let mut results = std::mem::take(&mut self.results);
        results.count(&self.nic.half.engine().outcomes);
        results.count(&self.host.engine().outcomes);
        results.merge(self.nic.half.engine().app(), self.host.engine().app(), now)?;
        results.hold(self.host.engine().app(), now);
        Ok(results)
    }
}
