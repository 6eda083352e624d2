//! The examples in memory, through the macros, against equivalent loops by hand.

use std::path::Path;

use crate::by_hand::{BUFFER, ByHand};
use crate::by_hand::{balancer::Balancer, firewall::Firewall, heavy_hitter::HeavyHitter, nat::Nat};
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::{Turns, time};

/// Packets of a turn.
const TURN: usize = 1 << 20;
pub(crate) const GOAL: f64 = 0.95;

/// An example: its program, its traffic and its rival.
pub(crate) struct Example {
    /// Also the name of the program's file.
    pub(crate) name: &'static str,
    /// Numbers of flows, from few to as many as it can hold.
    flows: &'static [u64],
    pub(crate) traffic: fn(u64, Skew, usize) -> Traffic,
    pub(crate) by_hand: fn() -> Box<dyn ByHand>,
}

pub(crate) const EXAMPLES: [Example; 4] = [
    Example {
        name: "firewall",
        flows: &[1_000, 100_000, 1_000_000],
        traffic: Traffic::opened_from_inside,
        by_hand: || Box::new(Firewall::new(1_000_000)),
    },
    Example {
        name: "nat",
        // It has 32,768 ports.
        flows: &[1_000, 30_000],
        traffic: Traffic::from_inside,
        by_hand: || Box::new(Nat::new()),
    },
    Example {
        name: "balancer",
        flows: &[1_000, 100_000, 500_000],
        traffic: Traffic::to_service,
        by_hand: || Box::new(Balancer::new(1 << 19)),
    },
    Example {
        name: "heavy-hitter",
        flows: &[1_000, 100_000, 1_000_000],
        traffic: Traffic::from_inside,
        by_hand: || Box::new(HeavyHitter::new(1 << 20)),
    },
];

/// Measures every example in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let turns = if quick { 4 } else { 15 };
    for example in &EXAMPLES {
        for (flows, skew) in example.points(quick) {
            let size = crate::keys::size(flows);
            let name = format!("nf/{}/{}/{size}", example.name, skew.name());
            if wanted(&name) {
                tell(example.compare(name, programs, flows, skew, turns)?);
            }
        }
    }
    Ok(())
}

impl Example {
    /// Returns the points of measurement; in a quick run the ends alone, and one skew except for
    /// the firewall.
    fn points(&self, quick: bool) -> Vec<(u64, Skew)> {
        let is_end = |flows| Some(flows) == self.flows.first() || Some(flows) == self.flows.last();
        let mut points = Vec::new();
        for flows in self.flows.iter().filter(|flows| !quick || is_end(flows)) {
            points.push((*flows, Skew::Zipf));
            if !quick || self.name == "firewall" {
                points.push((*flows, Skew::Uniform));
            }
        }
        points
    }

    fn compare(
        &self,
        name: String,
        programs: &Path,
        flows: u64,
        skew: Skew,
        turns: usize,
    ) -> std::io::Result<Figure> {
        let traffic = (self.traffic)(flows, skew, TURN);
        let capture = traffic.save(&programs.join("bench.pcap"))?;
        let mut program = Program::start(&programs.join(self.name), &capture, traffic.warm)?;
        let mut hand = (self.by_hand)();
        let mut buffer = vec![0; BUFFER];
        hand.replay(&traffic, 0, &mut buffer);
        let (mut cora, mut by_hand) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            cora.push(program.turn()?.ns_per_packet());
            by_hand.push(time(|| hand.replay(&traffic, traffic.warm, &mut buffer)));
        }
        let (cora, by_hand) = (Turns::new(cora), Turns::new(by_hand));
        Ok(Figure::of_times(name, &cora, &by_hand, "by hand", GOAL))
    }
}
