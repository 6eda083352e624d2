//! What a side did between two tellings.

use super::digest::SideReport;
use super::number::{fading, real};

/// What a side did in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// The time (ns).
    pub(super) time: f64,
    /// Packets whose handlers ran to their end.
    pub(super) packets: f64,
    /// Packets that were sent on to the other side, handled in vain or not at all.
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
    /// The part of the time that was spent working. More than all is told when work is counted at
    /// its end.
    pub(super) fn utilisation(&self) -> f64 {
        (self.busy / self.time).min(2.0)
    }
}

/// A side's last telling.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    last: Option<SideReport>,
}

impl Side {
    /// What was done since the last telling; `None` at the first, and when counts begin anew, as
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

/// How much faster packets come now than on average: rates of single flows are known only as means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Growth {
    now: f64,
    mean: f64,
}

impl Growth {
    /// Time constants (ns): of now, and about that of the rates of flows.
    const NOW: f64 = 1e6;
    const MEAN: f64 = 500e6;

    /// The NIC, where all packets come, did this.
    pub(super) fn add(&mut self, nic: &Step) {
        let rate = (nic.packets + nic.passed) / nic.time;
        if self.mean <= 0.0 {
            self.mean = rate;
        }
        self.now += (1.0 - fading(nic.time, Self::NOW)) * (rate - self.now);
        self.mean += (1.0 - fading(nic.time, Self::MEAN)) * (rate - self.mean);
    }

    /// Now against the mean, at least 1.
    pub(super) fn now(&self) -> f64 {
        if self.mean > 0.0 { (self.now / self.mean).clamp(1.0, 10.0) } else { 1.0 }
    }
}
