//! A run under the controller of `run --moves adapt`, in virtual time. One clock drives the arrival
//! of packets, the duration of work, the NIC's load reports, and the controller's orders. The
//! controller is the real one; its times are shorter, so that a run of some ten milliseconds is
//! long for it.
//!
//! 1. The seed gives the traffic ([`hot`](crate::hot)), the costs of work, the NIC's room, and the
//!    controller's settings.
//! 2. A side that worked is busy for the cost of the work. Now and then a side pauses, or work gets
//!    slower for good.
//! 3. Results must be those of the host alone; moves keep to their bounds (`bounds`); and a replay
//!    of the controller's log must give the same decisions.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use cora_control::adaptive::{Adaptive, Admitted, Settings};
use cora_control::{Controller as _, replay};
use cora_runtime::link::message::Report;
use cora_runtime::ownership::{Admission, Order};

use super::bounds::Bounds;
use super::nic::Others;
use super::{Ran, Runtime};
use crate::apps::SimApp;
use crate::hot;
use crate::memory::Supply;
use crate::random::Random;
use crate::story;

/// Maximum time between two steps (ns).
const STEP: u64 = 200;
/// Index of the host in `TURNS`; the other two, the wire and the NIC, are the NIC's core.
const HOST: usize = 1;

/// Costs of work (ns).
#[derive(Clone, Copy, Debug)]
struct Work {
    host_packet: u64,
    host_move: u64,
    nic_packet: u64,
    nic_pass: u64,
    nic_move: u64,
}

impl Work {
    fn drawn(random: &mut Random) -> Self {
        Self {
            host_packet: random.pick(&[150, 400, 1_000]),
            host_move: random.pick(&[1_000, 4_000]),
            nic_packet: random.pick(&[100, 300, 900]),
            nic_pass: random.pick(&[50, 150, 400]),
            nic_move: random.pick(&[1_000, 4_000]),
        }
    }

    /// Returns the costs times `halves` / 2.
    const fn slowed(self, halves: u64) -> Self {
        Self {
            host_packet: self.host_packet * halves / 2,
            host_move: self.host_move * halves / 2,
            nic_packet: self.nic_packet * halves / 2,
            nic_pass: self.nic_pass * halves / 2,
            nic_move: self.nic_move * halves / 2,
        }
    }
}

/// The controller's log, kept in memory.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().map_err(|_| io::ErrorKind::Other)?.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The controller, and the conditions of its run.
pub(super) struct Conducted<A: SimApp> {
    controller: Adaptive<A::Group>,
    bounds: Bounds,
    /// Times of the next decision, and of the NIC's next load report (ns).
    decides: u64,
    tells: u64,
    work: Work,
    /// The packet from which work is slower, and its factor in halves.
    slows: (usize, u64),
    /// Reports of both sides at the last charge.
    charged: [Report; 2],
    stands_in: u64,
    log: Option<Kept>,
    pub(super) violated: Option<String>,
}

/// Runs `packets` packets under the controller. An error describes the violation.
pub fn run_conducted<A: SimApp>(seed: u64, packets: u32) -> Result<Ran, String> {
    let mut random = Random::new(seed ^ 0x6164_6170_7400);
    let case = hot::make::<A>(seed, packets, 1 + random.below(4) as u32);
    let mut supply = Supply::default();
    let mut runtime = Runtime::<A>::new(&case, seed, &mut supply);
    let room = random.pick(&[12, 32, 64, u32::MAX]);
    runtime.nic.tighten(room);
    runtime.host.watch();
    // The host offers nothing before the controller's first decision.
    runtime.host.follow(&Order::Admit(Admission::NONE));
    let conducted = Conducted::drawn(&mut random, packets);
    let log = conducted.log.clone();
    story::tell(|| format!("room for {room} flows; {:?}", conducted.work));
    story::tell(|| format!("{:?}", conducted.controller.decider().settings()));
    runtime.conducted = Some(conducted);
    runtime.run()?;
    let results = runtime.results()?;
    if let Some(difference) = results.difference(&case.expected) {
        return Err(difference);
    }
    if let (Some(log), Some(mut conducted)) = (log, runtime.conducted.take()) {
        conducted.controller.finish().map_err(|why| why.to_string())?;
        let text = log.0.lock().map_err(|why| why.to_string())?;
        let replayed = replay(text.as_slice()).map_err(|why| why.to_string())?;
        if let Some(time) = replayed.differs {
            return Err(format!("decided anew, the decision at {time} ns is another one"));
        }
    }
    Ok(runtime.ran())
}

impl<A: SimApp> Conducted<A> {
    /// Draws the controller and its conditions, for a run of `packets` packets.
    fn drawn(random: &mut Random, packets: u32) -> Self {
        let plan = Admitted::share(1024, random.pick(&[1, 4]));
        let settings = Settings {
            period_ns: random.pick(&[200_000, 500_000, 2_000_000]),
            rest_ns: random.pick(&[2_000_000, 8_000_000, 250_000_000]),
            stay_ns: random.pick(&[500_000, 4_000_000]),
            again_ns: 1_000_000,
            patience_ns: 2_000_000,
            retry_ns: 3_000_000,
            within: random.pick(&[2.0, 16.0]),
            ..Settings::new(plan)
        };
        let bounds = Bounds::new(settings.clone());
        let mut controller = Adaptive::new(settings);
        let log = random.once_in(4).then(Kept::default);
        if let Some(log) = &log {
            controller = controller.with_log(log.clone());
        }
        let slows = (random.below(2 * u64::from(packets)) as usize, random.pick(&[1, 4, 8]));
        Self {
            controller,
            bounds,
            decides: 0,
            tells: 0,
            work: Work::drawn(random),
            slows,
            charged: [Report::default(); 2],
            stands_in: random.pick(&[200, 1_000, 10_000]),
            log,
            violated: None,
        }
    }

    /// Returns the duration of the work since the last call: the NIC's and the host's.
    fn charge(&mut self, now: [Report; 2]) -> [u64; 2] {
        let [nic, host] = self.charged;
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let moves = |report: &Report| report.offloads + report.released;
        let passed = |report: &Report| report.passed_on + report.punts;
        let work = self.work;
        let took = [
            since(now[0].packets, nic.packets) * work.nic_packet
                + since(passed(&now[0]), passed(&nic)) * work.nic_pass
                + since(moves(&now[0]), moves(&nic)) * work.nic_move,
            since(now[1].packets, host.packets) * work.host_packet
                + since(moves(&now[1]), moves(&host)) * work.host_move,
        ];
        self.charged = now;
        took
    }

    fn note(&mut self, checked: Result<(), String>) {
        if let (Err(what), None) = (checked, &self.violated) {
            self.violated = Some(what);
        }
    }
}

impl<A: SimApp> Runtime<'_, A> {
    /// Returns the arrival time of the next packet.
    fn next_arrival(&self) -> Option<u64> {
        self.case.packets.get(self.fed).map(|(stamp, _)| stamp.meta.now)
    }

    /// Returns whether a packet has arrived: always, without a controller.
    pub(super) fn has_come(&self) -> bool {
        self.conducted.is_none() || self.next_arrival().is_some_and(|at| at <= self.clock)
    }

    /// Returns the next packet's arrival time, for an idle run under a controller.
    pub(super) fn waits_until(&self) -> Option<u64> {
        self.conducted.as_ref().and_then(|_| self.next_arrival())
    }

    /// Advances the clock by the time of a step.
    pub(super) fn pass_time(&mut self) {
        let most = if self.conducted.is_some() { STEP } else { 1_000 };
        self.clock += 1 + self.random.below(most);
    }

    /// Charges the sides for their work, and checks the flows that moved.
    pub(super) fn charge(&mut self) {
        let Some(mut conducted) = self.conducted.take() else { return };
        let [nic, host] = conducted.charge([self.nic.core.half.report, self.host.half.report]);
        self.work(0, nic);
        self.work(HOST, host);
        let packets = self.host.half.now();
        for moved in self.host.moved() {
            story::tell(|| format!("at {}: {moved:?}", self.clock));
            let kept = conducted.bounds.moved(&moved, self.clock, packets);
            conducted.note(kept);
            self.moved.push(moved);
        }
        self.conducted = Some(conducted);
    }

    /// Keeps a side busy for `time`: 0 is the NIC.
    fn work(&mut self, side: usize, time: u64) {
        let until = self.clock + time;
        if side == HOST {
            self.host.half.report.busy_ns += time;
            self.wakes[HOST] = self.wakes[HOST].max(until);
        } else {
            self.nic.core.half.report.busy_ns += time;
            self.wakes[0] = self.wakes[0].max(until);
            self.wakes[2] = self.wakes[2].max(until);
        }
    }

    /// Injects the events beside a step under a controller: decisions, load reports of the NIC,
    /// pauses of sides, and slower work.
    pub(super) fn decide(&mut self) {
        let Some(mut conducted) = self.conducted.take() else { return };
        if self.fed >= conducted.slows.0 {
            conducted.slows.0 = usize::MAX;
            conducted.work = conducted.work.slowed(conducted.slows.1);
            story::tell(|| format!("from {} on: {:?}", self.clock, conducted.work));
        }
        if self.random.once_in(conducted.stands_in) {
            self.stand_still();
        }
        if self.clock >= conducted.tells && self.wakes[2] <= self.clock {
            conducted.tells = self.clock + conducted.controller.decider().period();
            let mut others = Others { host: &mut self.host, wire: &mut self.wire };
            self.nic.tell(self.clock, &mut others);
        }
        if self.clock >= conducted.decides && self.wakes[HOST] <= self.clock {
            let mut seen = self.host.observe(self.clock);
            seen.moved = std::mem::take(&mut self.moved);
            for order in conducted.controller.decide(&seen) {
                self.faults.orders += 1;
                story::tell(|| format!("at {}: {order:?}", self.clock));
                let kept = conducted.bounds.ordered(&order, self.clock);
                conducted.note(kept);
                self.host.follow(&order);
            }
            conducted.decides = self.clock + conducted.controller.decider().period();
        }
        self.conducted = Some(conducted);
    }

    /// Pauses a side, as if another program had its core; this may count as the side's work.
    fn stand_still(&mut self) {
        self.faults.delays += 1;
        let longest = self.random.pick(&[20_000, 200_000, 3_000_000]);
        let (time, side) = (self.random.below(longest), self.random.below(2) as usize);
        if self.random.once_in(2) {
            return self.work(side, time);
        }
        for at in if side == HOST { [HOST, HOST] } else { [0, 2] } {
            self.wakes[at] = self.wakes[at].max(self.clock + time);
        }
    }

    /// Takes the first violated bound of the controller.
    pub(super) fn broken_promise(&mut self) -> Option<String> {
        self.conducted.as_mut()?.violated.take()
    }
}
