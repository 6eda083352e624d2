//! The work of a side between two reports.

use super::digest::SideReport;
use super::number::{fading, real};

/// The work of a side in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The time (ns).
    pub(super) time: f64,
    /// Packets with handlers that ran to their end.
    pub(super) packets: f64,
    /// Packets sent on to the other side, handled in vain or not at all.
    pub(super) passed: f64,
    /// Flows that came or went.
    pub(super) moves: f64,
    /// Flows that came to the NIC.
    pub(super) offloads: f64,
    /// Bytes of entries sent.
    pub(super) bytes: f64,
    /// Time spent working (ns).
    pub(super) busy: f64,
}

impl Step {
    /// Returns the part of the time spent working. It exceeds 1 if work is counted at its end.
    pub(super) fn utilisation(&self) -> f64 {
        (self.busy / self.time).min(2.0)
    }
}

/// The last report of a side.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    last: Option<SideReport>,
}

impl Side {
    /// Returns the work since the last report; `None` at the first, and when counts begin anew, as
    /// after a restart.
    pub(super) fn step(&mut self, report: &SideReport) -> Option<Step> {
        let now = SideReport { talkers: Vec::new(), ..report.clone() };
        let last = self.last.replace(now)?;
        let since =
            |count: fn(&SideReport) -> u64| count(report).checked_sub(count(&last)).map(real);
        let step = Step {
            time: since(|report| report.time)?,
            packets: since(|report| report.packets)?,
            passed: since(|report| report.punts)? + since(|report| report.passed_on)?,
            moves: since(|report| report.offloads)? + since(|report| report.released)?,
            offloads: since(|report| report.offloads)?,
            bytes: since(|report| report.moved_bytes)?,
            busy: since(|report| report.busy_ns)?,
        };
        (step.time > 0.0).then_some(step)
    }
}

/// Packet rate now, relative to its mean: rates of single flows are known only as means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    now: f64,
    mean: f64,
}

impl Growth {
    /// Time constants (ns): of the rate now, and about that of the rates of flows.
    const NOW: f64 = 1e6;
    const MEAN: f64 = 500e6;

    /// Adds a step of the NIC, where all packets come.
    pub(super) fn add(&mut self, nic: &Step) {
        let rate = (nic.packets + nic.passed) / nic.time;
        if self.mean <= 0.0 {
            self.mean = rate;
        }
        self.now += (1.0 - fading(nic.time, Self::NOW)) * (rate - self.now);
        self.mean += (1.0 - fading(nic.time, Self::MEAN)) * (rate - self.mean);
    }

    /// Returns the rate now relative to the mean, at least 1.
    pub(super) fn now(&self) -> f64 {
        if self.mean > 0.0 { (self.now / self.mean).clamp(1.0, 10.0) } else { 1.0 }
    }
}
