//! The examples in memory, through the macros, against loops written by hand that do the same work.

use std::path::Path;

use crate::by_hand::{ByHand, firewall::Firewall};
use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::{Turns, time};

/// Packets of a turn.
const TURN: usize = 1 << 20;
const GOAL: f64 = 0.95;

/// Measures every example whose program stands in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let sizes: &[u64] = if quick { &[1_000, 1_000_000] } else { &[1_000, 100_000, 1_000_000] };
    let turns = if quick { 5 } else { 15 };
    for flows in sizes {
        for skew in [Skew::Zipf, Skew::Uniform] {
            let name = |nf: &str| format!("nf/{nf}/{}/{}", skew.name(), crate::keys::size(*flows));
            if !wanted(&name("firewall")) {
                continue;
            }
            let traffic = Traffic::of(*flows, skew, TURN);
            let capture = traffic.save(&programs.join("bench.pcap"))?;
            let program = Program::start(&programs.join("firewall"), &capture, traffic.warm)?;
            let mut hand = Firewall::new(1_000_000);
            tell(compare(name("firewall"), program, &mut hand, &traffic, turns)?);
        }
    }
    Ok(())
}

fn compare(
    name: String,
    mut program: Program,
    hand: &mut dyn ByHand,
    traffic: &Traffic,
    turns: usize,
) -> std::io::Result<Figure> {
    let mut buffer = [[0; crate::traffic::FRAME]; 32];
    hand.replay(&traffic.bytes, &mut buffer);
    let drawn = &traffic.bytes[traffic.warm * crate::traffic::FRAME..];
    let (mut cora, mut by_hand) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        cora.push(program.turn()?.ns_per_packet());
        by_hand.push(time(|| hand.replay(drawn, &mut buffer)));
    }
    let (cora, by_hand) = (Turns::new(cora), Turns::new(by_hand));
    Ok(Figure::of_times(name, &cora, &by_hand, "by hand", GOAL))
}
