//! Flows at a time, and entries that stand in tables, at a rate: Little's law.
//!
//! Of flows that come and go, `opens/s · (life + idle)` stand in a table whose entries expire after
//! `idle`: those under way, and those that ended less than the idle time ago. Where a fixed number
//! of flows sends at any rate, these stand, and with them those that were replaced less than the
//! idle time ago.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9(3), 1961.

use super::{Class, Traffic};

impl Traffic {
    /// The factor from [`Class::flows`] to concurrent flows at a rate.
    pub fn growth(&self, mpps: f64) -> f64 {
        self.mpps.map_or(1.0, |counted| mpps / counted)
    }

    /// Concurrent flows by a key at a rate, in million packets a second.
    pub fn flows(&self, key: &str, mpps: f64) -> f64 {
        let flows: f64 = self.classes(key).iter().map(|class| class.flows).sum();
        flows * self.growth(mpps)
    }

    /// Mean seconds from first to last packet of a flow at a rate; `None` if no flow ever opens.
    pub fn lasts(&self, class: &Class, mpps: f64) -> Option<f64> {
        let opened = class.opened(mpps);
        if opened <= 0.0 {
            return None;
        }
        // Without a stated duration, concurrent flows divided by those that open.
        let stated = class.seconds.filter(|_| self.mpps.is_some());
        Some(stated.unwrap_or(class.flows * self.growth(mpps) / opened))
    }

    /// Entries of a class's flows in a table that frees an entry `idle` seconds after its last use.
    pub fn standing(&self, class: &Class, mpps: f64, idle: f64) -> f64 {
        match self.lasts(class, mpps) {
            Some(life) => class.opened(mpps) * (life + idle),
            None => class.flows * self.growth(mpps),
        }
    }
}

impl Class {
    /// Flows of the class that open a second, at a rate of the whole traffic.
    pub fn opened(&self, mpps: f64) -> f64 {
        mpps * 1e6 * self.share * self.opens
    }

    /// Mean packets of a flow; `None` if its flows never end.
    pub fn packets(&self) -> Option<f64> {
        (self.opens > 0.0).then(|| 1.0 / self.opens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(name: &str) -> Traffic {
        Traffic::load(name).unwrap_or_else(|error| panic!("{error}"))
    }

    fn standing(traffic: &Traffic, mpps: f64, idle: f64) -> f64 {
        let classes = traffic.classes("FiveTuple").iter();
        classes.map(|class| traffic.standing(class, mpps, idle)).sum()
    }

    fn close(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-6
    }

    #[test]
    fn flows_of_a_campus_follow_the_rate_and_those_of_clients_do_not() {
        let campus = load("campus");
        // 10 Gbit/s in frames of 870.6 bytes.
        let flows = campus.flows("FiveTuple", 10e3 / 8.0 / 870.6);
        assert!((flows / 274_080.0 - 1.0).abs() < 1e-4, "{flows}");
        for key in ["FiveTuple", "SourceAddress", "InsideAddress"] {
            assert!(close(campus.flows(key, 12.6), 1e4 * campus.flows(key, 0.001_26)), "{key}");
        }
        // The same traffic, counted at another rate.
        let faster = load("campus:gbps=100");
        let (a, b) = (campus.flows("FiveTuple", 5.0), faster.flows("FiveTuple", 5.0));
        assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
        for name in ["zipf", "uniform", "kv", "shift", "zipf:churn=0.01"] {
            let traffic = load(name);
            let flows = |mpps| traffic.flows("FiveTuple", mpps);
            assert!(close(flows(0.001), flows(50.0)), "{name}");
        }
    }

    #[test]
    fn entries_grow_with_the_rate_and_with_the_idle_time() {
        for name in ["campus", "zipf:churn=0.012", "uniform:churn=0.001"] {
            let traffic = load(name);
            let entries = |mpps, idle| standing(&traffic, mpps, idle);
            for (mpps, idle) in [(0.01, 1.0), (1.0, 30.0), (12.6, 300.0)] {
                assert!(entries(2.0 * mpps, idle) > entries(mpps, idle) * 1.000_01, "{name}");
                assert!(entries(mpps, 2.0 * idle) > entries(mpps, idle) * 1.000_01, "{name}");
                assert!(entries(mpps, idle) >= traffic.flows("FiveTuple", mpps) * 0.05, "{name}");
            }
        }
        // Flows that never open stand as they are.
        let still = load("kv");
        assert!(close(standing(&still, 0.1, 1.0), 1_000.0));
        assert!(close(standing(&still, 9.0, 7_440.0), 1_000.0));
    }

    #[test]
    fn entries_are_openings_times_life_and_idle() {
        let campus = load("campus");
        let opened: f64 = campus.classes("FiveTuple").iter().map(|class| class.opened(1.0)).sum();
        // 1.27 % of a million packets a second open a flow.
        assert!((opened / (1e6 / 78.58) - 1.0).abs() < 1e-3, "{opened}");
        let life = standing(&campus, 1.0, 0.0) / opened;
        assert!((life - 7.76).abs() < 0.1, "{life} s");
        assert!(close(standing(&campus, 1.0, 300.0), opened * (life + 300.0)));
    }
}
