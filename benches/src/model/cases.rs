//! The cases: programs, traffic, plans.

use cora_plan::Sides;
use cora_plan::statement::{Stated, Statement};

use super::popularity::Popularity;

/// A program, and its traffic.
#[derive(Debug)]
pub(crate) struct Nf {
    /// Also the name of its package and its file.
    pub(crate) name: &'static str,
    pub(crate) feed: Feed,
    /// Largest number of flows that it holds; its traffic has no more.
    pub(crate) most: u64,
    /// Whether calibration and the design of the model never saw it.
    pub(crate) unseen: bool,
}

impl Nf {
    /// Returns whether the program runs under a plan: without a state nothing is dealt.
    pub(crate) fn runs_under(&self, plan: Plan) -> bool {
        plan != Plan::Dealt || self.name != EMPTY.name
    }
}

/// The senders of the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feed {
    /// Inside alone, each flow from an address of its own.
    FromInside,
    /// Inside, and equally often outside, which answers.
    BothWays,
    /// Both ways, but outside answers to a translated address.
    Translated,
    /// Outside alone, to the balancer's service.
    ToService,
}

impl Feed {
    /// Returns whether half of the packets come from the answering side.
    pub(crate) const fn answers(self) -> bool {
        matches!(self, Self::BothWays | Self::Translated)
    }
}

/// The sides of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    HostOnly,
    NicOnly,
    /// The NIC may own half of the flows.
    Half,
    /// The flow table deals half of the buckets to each side.
    Dealt,
}

impl Plan {
    pub(crate) const ALL: [Self; 4] = [Self::HostOnly, Self::NicOnly, Self::Half, Self::Dealt];

    /// Returns its name in tables, and the directory of its programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::HostOnly => "host-only",
            Self::NicOnly => "nic-only",
            Self::Half => "half",
            Self::Dealt => "dealt",
        }
    }

    /// Returns its statement, with which the programs in its directory were built.
    pub(crate) fn statement(self) -> Statement {
        match self {
            Self::HostOnly => Statement::of(Sides::HostOnly),
            Self::NicOnly => Statement::of(Sides::NicOnly),
            Self::Half => Statement {
                nic_share: Some(Stated { what: 0.5, line: 0 }),
                ..Statement::of(Sides::Split)
            },
            Self::Dealt => Statement::of(Sides::Dealt),
        }
    }
}

pub(crate) static NFS: [Nf; 7] = [
    Nf { name: "firewall", feed: Feed::BothWays, most: 1_000_000, unseen: false },
    // It has 32,768 ports.
    Nf { name: "nat", feed: Feed::Translated, most: 32_768, unseen: false },
    Nf { name: "balancer", feed: Feed::ToService, most: 500_000, unseen: false },
    Nf { name: "heavy-hitter", feed: Feed::FromInside, most: 1 << 20, unseen: false },
    Nf { name: "policer", feed: Feed::FromInside, most: 1 << 20, unseen: true },
    Nf { name: "port-scan", feed: Feed::FromInside, most: 1 << 20, unseen: true },
    Nf { name: "connection-limiter", feed: Feed::BothWays, most: 1_000_000, unseen: true },
];

/// A program that has every packet parsed and lets it pass: for calibration alone.
pub(crate) static EMPTY: Nf =
    Nf { name: "parsed-chain", feed: Feed::FromInside, most: 1 << 20, unseen: false };

pub(crate) const SKEWS: [Popularity; 3] =
    [Popularity::Uniform, Popularity::Zipf(0.99), Popularity::Zipf(1.26)];
pub(crate) const FLOWS: [u64; 3] = [1_000, 32_768, 1_000_000];

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) nf: &'static Nf,
    pub(crate) flows: u64,
    pub(crate) skew: Popularity,
    pub(crate) plan: Plan,
}

/// Returns all cases; those with one capture follow each other. A quick run has sixteen: every
/// program, every plan, and every number of flows with every skew occurs.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (f, flows) in FLOWS.into_iter().enumerate() {
        for (s, skew) in SKEWS.into_iter().enumerate() {
            for (n, nf) in NFS.iter().enumerate() {
                for (p, plan) in Plan::ALL.into_iter().enumerate() {
                    // After the diagonals of the traffics, any program that can hold that many
                    // flows.
                    let traffic = 3 * f + s;
                    let turn = (p + traffic + f) % 3;
                    let chosen = n == (traffic + 3) % 7 && (turn == 0 || f == 0 && turn == 1);
                    if !quick || chosen {
                        cases.extend(Case::new(nf, flows, skew, plan));
                    }
                }
            }
        }
    }
    cases.sort_by_key(|case| (case.flows, case.skew.name(), case.nf.feed));
    cases
}

impl Case {
    /// Returns the name, as in `--only`.
    pub(crate) fn name(&self) -> String {
        let Self { nf, flows, skew, plan } = self;
        format!("{}/{flows}/{}/{}", nf.name, skew.name(), plan.name())
    }

    /// Makes a case; `None` if the program holds so few flows that the case is another one again.
    fn new(nf: &'static Nf, flows: u64, skew: Popularity, plan: Plan) -> Option<Self> {
        let held = flows.min(nf.most);
        let distinct = FLOWS.into_iter().all(|other| other >= flows || held > other);
        distinct.then_some(Self { nf, flows: held, skew, plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_all_of_them() {
        // Of 7 · 3 · 3 · 4, `nat` has no million flows.
        assert_eq!(all(false).len(), 252 - 12);
        assert!(all(false).iter().all(|case| case.flows <= case.nf.most));
    }

    #[test]
    fn in_a_hurry_everything_comes_up() {
        let quick = all(true);
        assert_eq!(quick.len(), 16);
        for nf in &NFS {
            assert!(quick.iter().any(|case| case.nf.name == nf.name), "{}", nf.name);
        }
        for plan in Plan::ALL {
            assert!(quick.iter().any(|case| case.plan == plan), "{}", plan.name());
        }
        for skew in SKEWS {
            for flows in FLOWS {
                // Or as many as the program holds.
                let about = |held: u64| held <= flows && held * 2 >= flows;
                assert!(quick.iter().any(|case| case.skew == skew && about(case.flows)));
            }
        }
    }
}
