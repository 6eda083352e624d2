//! Several shards against one: the packet rate of a program with flows steered to host halves on
//! processors of their own.

use std::path::Path;

use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

/// Packets of a turn.
const TURN: usize = 1 << 20;
/// Goal as a part of linear scaling, for shards that share nothing.
const GOAL: f64 = 0.9;

/// Measures the programs in `programs` that scale, on as many shards as there are processors.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let turns = if quick { 5 } else { 15 };
    for example in ["firewall", "heavy-hitter"] {
        for flows in if quick { &[1_000][..] } else { &[1_000, 1_000_000] } {
            for shards in [2, 4, 8].into_iter().filter(|shards| *shards <= processors) {
                let name = format!("shards/{shards}/{example}/{}", crate::keys::size(*flows));
                if wanted(&name) {
                    tell(compare(name, programs, example, *flows, shards, turns)?);
                }
            }
        }
    }
    Ok(())
}

fn compare(
    name: String,
    programs: &Path,
    example: &str,
    flows: u64,
    shards: usize,
    turns: usize,
) -> std::io::Result<Figure> {
    // Uniform: if a few flows had most packets, they would set the load of a processor.
    let traffic = Traffic::opened_from_inside(flows, Skew::Uniform, TURN);
    let capture = traffic.save(&programs.join("bench.pcap"))?;
    let start =
        |shards| Program::start_shards(&programs.join(example), &capture, traffic.warm, shards);
    let (mut many, mut one) = (start(shards)?, start(1)?);
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        together.push(many.turn()?.ns_per_packet());
        alone.push(one.turn()?.ns_per_packet());
    }
    let (together, alone) = (Turns::new(together), Turns::new(alone));
    let goal = shards as f64 * GOAL;
    Ok(Figure::of_times(name, &together, &alone, "one shard", goal))
}
