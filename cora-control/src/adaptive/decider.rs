//! The controller itself: a function of the observations so far, and of nothing else. It reads no
//! clock, draws no random number and does no I/O, so that a log replays to the same decisions.

use std::fmt;

use super::admission::{self, Tuning};
use super::choose::{Choice, Scene};
use super::coefficients::Coefficients;
use super::decision::{Action, Decision};
use super::digest::{Digest, FlowId, SideReport};
use super::fallback::{Fallback, State};
use super::number::real;
use super::rates::{Growth, Side};
use super::reason::Reason;
use super::settings::{Costs, Settings};

/// A learned cost is reported again after a change by this factor, up or down.
const DRIFT: f64 = 1.5;
/// Interval between checks of the costs for that (ns).
const DRIFT_EVERY: u64 = 1_000_000_000;

/// A NIC with this part of its time left is checked once in several periods, not in each.
const CALM: f64 = 0.15;
const CALM_PERIODS: u64 = 4;

/// Decides from observations.
#[derive(Debug)]
pub struct Decider {
    settings: Settings,
    host: Side,
    nic: Side,
    coefficients: Coefficients,
    choice: Choice,
    tuning: Tuning,
    fallback: Fallback,
    nic_report: SideReport,
    growth: Growth,
    /// Times of the last observation and of the last check of the costs.
    time: u64,
    drift_reported: u64,
    reported_costs: Costs,
}

/// Utilisation of both sides, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// The part of its time that the host works.
    pub host: f64,
    /// The part of its time that the NIC works.
    pub nic: f64,
    /// Flows at the NIC.
    pub nic_flows: u64,
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, nic, nic_flows } = self;
        let (host, nic) = (100.0 * host, 100.0 * nic);
        write!(f, "host {host:.0} %, NIC {nic:.0} %, {nic_flows} flows there")
    }
}

impl Decider {
    /// Creates a decider without observations.
    pub fn new(settings: Settings) -> Self {
        Self {
            host: Side::default(),
            nic: Side::default(),
            coefficients: Coefficients::new(&settings),
            choice: Choice::new(),
            tuning: Tuning::new(&settings),
            fallback: Fallback::default(),
            nic_report: SideReport::default(),
            growth: Growth::default(),
            time: 0,
            drift_reported: 0,
            reported_costs: settings.expected,
            settings,
        }
    }

    /// Returns the settings.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the costs as learned so far.
    pub const fn costs(&self) -> Costs {
        self.coefficients.costs()
    }

    /// Returns the utilisation of both sides.
    pub fn utilisation(&self) -> Utilisation {
        let (host, nic) = (self.choice.host.level(), self.choice.nic.level());
        Utilisation { host, nic, nic_flows: self.nic_report.flows }
    }

    /// Returns whether the sides exchange flows by themselves and the NIC has time left: then there
    /// is little to decide.
    fn is_calm(&self) -> bool {
        let nic = &self.choice.nic;
        self.tuning.gives_places() && nic.ahead() + CALM < nic.high()
    }

    /// Returns the time until the next decision (ns).
    pub fn period(&self) -> u64 {
        self.settings.period_ns * if self.is_calm() { CALM_PERIODS } else { 1 }
    }

    /// Returns whether it needs the packet rates of single flows.
    pub fn weighs_flows(&self) -> bool {
        !self.is_calm()
    }

    /// Returns whether it knows this flow.
    pub fn knows(&self, flow: FlowId) -> bool {
        self.choice.flows.knows(flow)
    }

    /// Takes the flows that were forgotten since the last call.
    pub fn forgotten(&mut self) -> Vec<FlowId> {
        self.choice.flows.forgotten()
    }

    /// Returns the decision for this observation and all before.
    pub fn decide(&mut self, seen: &Digest) -> Decision {
        let mut decision = Decision::default();
        let passed = real(seen.host.time.saturating_sub(self.time));
        self.time = seen.host.time;
        self.choice.flows.see(seen, self.tuning.gives_places());
        self.choice.pass(passed);
        self.choice.budget.fill(self.time, &self.settings);
        self.learn(seen);
        // A NIC without news gets no orders: it has no packets, or is not there.
        if seen.nic.is_none() {
            return decision;
        }
        match self.fallback.judge(self.time, self.coefficients.wrong(), &self.settings) {
            State::Plan => return decision,
            State::Falls(seconds) => {
                let wrong = self.coefficients.wrong();
                let reason = Reason::Fallback { wrong, seconds, costs: self.costs() };
                let mut plan = self.tuning.fall_back(&self.settings);
                // The plan does not know the NIC's capacity: declined offers cost both sides.
                let fits = self.nic_report.flows.saturating_add(self.nic_report.room);
                plan.most = plan.most.min(u32::try_from(fits).unwrap_or(u32::MAX));
                // The cool-down stays: the bounds on moves must hold under the plan, too.
                plan.rest = plan.rest.max(self.settings.rest_ns);
                decision.actions.push(Action::Admit(plan));
                decision.why.push(reason.to_string());
                return decision;
            }
            State::Again => {
                self.coefficients.forgive();
                self.tuning = Tuning::new(&self.settings);
                decision.why.push(Reason::Again.to_string());
            }
            State::Trusted => {}
        }
        self.choice.flows.forget(self.time, &self.settings);
        if self.weighs_flows() {
            self.choice.flows.look_there(self.time, &self.settings);
        }
        self.act(seen, &mut decision);
        self.report_drift(&mut decision);
        decision
    }

    /// Learns from the steps of both sides.
    fn learn(&mut self, seen: &Digest) {
        if let Some(step) = self.host.step(&seen.host) {
            self.coefficients.host(&step);
            self.choice.host.add(&step, &self.settings);
            self.choice.budget.add(&step);
        }
        let Some(report) = &seen.nic else { return };
        if let Some(step) = self.nic.step(report) {
            self.coefficients.nic(&step);
            self.choice.nic.add(&step, &self.settings);
            self.tuning.add(&step);
            self.growth.add(&step);
        }
        self.nic_report.clone_from(report);
    }

    fn act(&mut self, seen: &Digest, decision: &mut Decision) {
        let fits = self.nic_report.flows.saturating_add(self.nic_report.room);
        let scene = Scene {
            time: self.time,
            settings: &self.settings,
            costs: self.coefficients.costs(),
            host_report: &seen.host,
            nic_report: &self.nic_report,
            capacity: real(fits.min(self.settings.most.into())),
            growth: self.growth.now(),
            by_themselves: self.tuning.gives_places(),
        };
        let (host, nic) = (&self.choice.host, &self.choice.nic);
        let around = admission::Scene {
            time: self.time,
            flows: real(self.nic_report.flows),
            capacity: scene.capacity,
            nic_over: nic.is_over(),
            nic_was_over: nic.was_over(),
            relieved_by_recalls: scene.recalls_relieve(),
            headroom: nic.headroom(),
            nic_load: nic.level(),
            host_load: host.level(),
        };
        if let Some((admitted, reason)) = self.tuning.tune(&around, &scene.costs, &self.settings) {
            decision.actions.push(Action::Admit(admitted));
            decision.why.push(reason.to_string());
        }
        self.choice.choose(&scene, decision);
    }

    fn report_drift(&mut self, decision: &mut Decision) {
        if self.time.saturating_sub(self.drift_reported) < DRIFT_EVERY {
            return;
        }
        self.drift_reported = self.time;
        let (costs, reported) = (self.costs(), self.reported_costs);
        let expected = self.settings.expected;
        let by_plan = self.settings.predicted;
        for (((what, cost), (_, before)), (_, expected)) in
            costs.each().into_iter().zip(reported.each()).zip(expected.each())
        {
            if !(1.0 / DRIFT..DRIFT).contains(&(cost / before)) {
                decision.why.push(Reason::Drift { what, cost, expected, by_plan }.to_string());
                self.reported_costs = costs;
            }
        }
    }
}
