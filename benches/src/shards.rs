//! Several shards against one: the packet rate of every example with flows steered to host halves
//! on processors of their own, each on the traffic of its main path. And against as many programs
//! of one shard side by side, which have nothing in common: how much that is more than one alone is
//! the machine's affair. A hypervisor may run two of its processors on one core.

use std::path::Path;

use cora_traffic::Ranked;

use crate::examples::{EXAMPLES, Example};
use crate::figure::Figure;
use crate::program::{Program, Turn};
use crate::turns::Turns;

/// Flows, all equal: if a few had most packets, they would set the load of a processor.
const FLOWS: u64 = 20_000;
/// Length of frames without the check sequence. A question of the DNS is not shorter.
const BYTES: u16 = 64;
/// Packets of a flow that open it: a handshake at a proxy has four.
const ROUNDS: u32 = 4;
/// The part of all packets that has to pass: those that are dropped may have a shorter path.
const LEAST: f64 = 0.9;
/// Goal as a part of linear scaling, for shards that share nothing.
const GOAL: f64 = 0.9;

/// Measures the examples in `programs`, on as many shards as there are processors. Two figures are
/// rates; one more says how evenly buckets share the packets, since the larger shard sets the rate.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (turns, packets) = if quick { (5, 1 << 18) } else { (15, 1 << 20) };
    for example in &EXAMPLES {
        for shards in [2, 4, 8].into_iter().filter(|shards| *shards <= processors) {
            let name = format!("shards/{shards}/{}", example.name);
            if wanted(&name) {
                compare(&name, programs, example, shards, packets, turns)?
                    .into_iter()
                    .for_each(&mut *tell);
            }
        }
    }
    Ok(())
}

fn compare(
    name: &str,
    programs: &Path,
    example: &Example,
    shards: usize,
    packets: u64,
    turns: usize,
) -> std::io::Result<[Figure; 3]> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("examples");
    let program = programs.join(example.name);
    let traffic = Ranked { flows: FLOWS, exponent: 0, bytes: BYTES, ..Ranked::default() };
    let case = example.save(&traffic, ROUNDS, packets, [&program, &packages, programs])?;
    let passes = |how: &str, passed: f64| {
        let why = || format!("{}: of its packets {passed:.3} pass alone, {how}", example.name);
        if passed < LEAST { Err(std::io::Error::other(why())) } else { Ok(()) }
    };
    passes("in a run", example.passed(&program, &case)?)?;
    let start = |shards| Program::start_shards(&program, &case, shards);
    let (mut many, mut one) = (start(shards)?, start(1)?);
    let beside = (0..shards).map(|processor| Program::start_on(processor, &program, &case));
    let mut beside = beside.collect::<std::io::Result<Vec<_>>>()?;
    let (mut together, mut apart, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..turns {
        let turns = [many.turn()?, one.turn()?];
        apart.push(Turn::at_once(&at_once(&mut beside)?));
        together.push(turns[0].ns_per_packet());
        alone.push(turns[1].ns_per_packet());
        last = Some(turns);
    }
    std::fs::remove_file(&case.capture)?;
    let last = last.ok_or_else(|| std::io::Error::other("no turns"))?;
    passes("in one shard", last[1].passed())?;
    passes("in several shards", last[0].passed())?;
    let (together, apart, alone) = (Turns::new(together), Turns::new(apart), Turns::new(alone));
    let goal = shards as f64 * GOAL;
    // Every turn has the same packets.
    let (most, all) = last[0].largest_shard();
    let dealt = format!("{name}/dealt");
    let (side_by_side, in_all) = (format!("{name}/apart"), "side by side, sharing nothing");
    Ok([
        Figure::of_times(side_by_side, &together, &apart, in_all, GOAL).into_rates(),
        Figure::of_times(name.to_owned(), &together, &alone, "one shard", goal).into_rates(),
        Figure::of_counts(dealt, most, all, "all", "packets", goal),
    ])
}

/// A turn of each program, all at once.
fn at_once(programs: &mut [Program]) -> std::io::Result<Vec<Turn>> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            programs.iter_mut().map(|program| scope.spawn(|| program.turn())).collect();
        let failed = |_| Err(std::io::Error::other("a turn failed"));
        running.into_iter().map(|turn| turn.join().unwrap_or_else(failed)).collect()
    })
}
