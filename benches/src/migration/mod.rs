//! The cost of moving flows: `cargo xtask migrate-bench`. Both halves of a program, on a core each,
//! measure themselves (`bench --half moves`, `bench --half group`). Their turns become figures
//! here, beside the goals.
//!
//! A turn is left out if a half lost its core meanwhile, or if the cores bear another load after it
//! than before: it is no measure of the program. The number of omitted turns is printed.

mod objects;
mod told;

use std::path::Path;

use serde::Serialize;

use crate::by_hand::Side;
use crate::figure::{Figure, machine};
use crate::keys::Skew;
use crate::program::before_others;
use crate::traffic::{Traffic, segment};
use crate::turns::Turns;
use told::{Flows, Group, Move, Moved, Paced};

/// Flows that move, each with an entry of 64 bytes.
const FLOWS: u64 = 16_384;
/// Frames of those flows, repeated.
const DRAWS: usize = 1 << 16;
/// Entries of the large flow, of 2 KiB each with their keys: 32 MiB.
const ENTRIES: u16 = 16_432;
/// Flows beside it.
const OTHERS: u16 = 4_096;
/// One frame in so many is of the large flow.
const ONE_OF: u64 = 20;

/// The figures of objects alone: `--only objects`.
pub(crate) const OBJECTS: &str = "objects";

/// Lower limit of moves per second.
const RATE: f64 = 0.5;
/// Upper limit of a flow's pause, in ns.
const PAUSE: f64 = 50_000.0;
/// Time of iPipe for a group of that size (appendix B.3: an LSM tree's table, at nine tenths of the
/// load of a LiquidIO CN2350), in ms; and its parts for copying, for packets that waited, and for
/// the rest, in percent.
const IPIPE: f64 = 35.8;
const IPIPE_PARTS: [f64; 3] = [67.8, 27.2, 5.0];

/// All results in one object.
#[derive(Debug, Serialize)]
struct All {
    machine: String,
    input: String,
    compared: &'static str,
    figures: Vec<Figure>,
    flows: Load,
    group: Vec<Large>,
}

/// Counts of the turns at nine tenths of the load that both halves bear.
#[derive(Debug, Default, Serialize)]
struct Load {
    packets_per_second: f64,
    /// Part of the host's time.
    host_busy: f64,
    moves_per_second: f64,
    packets: u64,
    packets_held: u64,
    packets_lost: u64,
    /// Undisturbed turns that lost packets; and such turns among those without moves.
    turns_with_loss: usize,
    turns_with_loss_unmoved: usize,
    bytes_moved: u64,
    turns: usize,
    turns_disturbed: usize,
}

/// The large flow's moves at one load.
#[derive(Debug, Serialize)]
struct Large {
    /// What moves: `entries` or `objects`.
    of: &'static str,
    /// Part of the load that both halves bear.
    part: f64,
    to: &'static str,
    ms: f64,
    bytes: u64,
    /// Percent of that time: copying, packets that waited, the rest. Only the NIC can separate
    /// them.
    parts: Option<[f64; 3]>,
    ipipe_parts: [f64; 3],
    packets_held: f64,
    packets_lost: f64,
    turns: usize,
    turns_disturbed: usize,
}

/// Measures the programs in `programs`.
pub(crate) fn run(programs: &Path, quick: bool, json: bool) -> std::io::Result<()> {
    let runs = if quick { 1 } else { 3 };
    let traffic = Traffic::from_inside(FLOWS, Skew::Uniform, DRAWS);
    let capture = traffic.save(&programs.join("moves.pcap"))?;
    let flows: Vec<Flows> = (0..runs)
        .map(|_| {
            told::by(before_others(&programs.join("flow-record")), "moves", &capture, traffic.warm)
        })
        .collect::<Result<_, _>>()?;
    let traffic = tenants();
    let capture = traffic.save(&programs.join("group.pcap"))?;
    let groups: Vec<Group> = (0..runs)
        .map(|_| told::by(before_others(&programs.join("tenant")), "group", &capture, traffic.warm))
        .collect::<Result<_, _>>()?;
    let (load, mut figures) = of_flows(&flows);
    let mut group = of_groups("entries", &groups, &mut figures);
    group.extend(objects(programs, runs, &mut figures)?);
    let all = All {
        machine: machine(),
        input: format!(
            "{FLOWS} flows with an entry of 64 bytes each, TCP segments of 64 bytes drawn evenly; then a flow with \
             {ENTRIES} entries of 2042 bytes beside {OTHERS} others, one packet of {ONE_OF} its own; then a flow of \
             messages with {} objects of 2020 bytes, the same way",
            objects::OBJECTS
        ),
        compared: "with what is aimed at, and with iPipe's published figures; `watching` with the same run unwatched",
        figures,
        flows: load,
        group,
    };
    if json {
        println!("{}", serde_json::to_string(&all)?);
    } else {
        tell(&all);
    }
    Ok(())
}

/// Measures the flow with objects alone.
pub(crate) fn run_objects(programs: &Path, quick: bool, json: bool) -> std::io::Result<()> {
    let mut figures = Vec::new();
    let group = objects(programs, if quick { 1 } else { 3 }, &mut figures)?;
    if json {
        println!("{}", serde_json::to_string(&(&figures, &group))?);
    } else {
        for figure in &figures {
            println!("{}", figure.line(false));
        }
        group.iter().for_each(tell_large);
    }
    Ok(())
}

fn objects(programs: &Path, runs: usize, figures: &mut Vec<Figure>) -> std::io::Result<Vec<Large>> {
    let traffic = objects::traffic();
    let capture = traffic.save(&programs.join("objects.pcap"))?;
    let program = programs.join("memtable");
    let groups: Vec<Group> = (0..runs)
        .map(|_| told::by(before_others(&program), "group", &capture, traffic.warm))
        .collect::<Result<_, _>>()?;
    Ok(of_groups("objects", &groups, figures))
}

fn tell(all: &All) {
    println!("{}\n{}", all.input, all.compared);
    for figure in &all.figures {
        println!("{}", figure.line(false));
    }
    let Load { packets_per_second, packets_held, packets_lost, moves_per_second, .. } = all.flows;
    let Load { turns_with_loss, turns_with_loss_unmoved, .. } = all.flows;
    println!(
        "at {:.2} M packets/s and {moves_per_second:.0} moves/s: {packets_held} packets held, {packets_lost} lost in \
         {turns_with_loss} turns (without moves in {turns_with_loss_unmoved}), {} bytes moved; host busy {:.0} %; {} of {} turns \
         disturbed",
        packets_per_second / 1e6,
        all.flows.bytes_moved,
        all.flows.host_busy * 100.0,
        all.flows.turns_disturbed,
        all.flows.turns,
    );
    all.group.iter().for_each(tell_large);
}

fn tell_large(large: &Large) {
    let Large { of, part, to, ms, bytes, parts, packets_held, packets_lost, .. } = large;
    print!(
        "{bytes} bytes of {of} to the {to} at {part} of the load: {ms:.1} ms (iPipe {IPIPE}), {packets_held:.0} packets \
         held, {packets_lost:.0} lost"
    );
    match parts {
        Some([copy, waiting, rest]) => println!(
            "; copying {copy:.1} %, packets that waited {waiting:.1} %, the rest {rest:.1} % (iPipe {IPIPE_PARTS:?})"
        ),
        None => println!(),
    }
}

/// Returns frames of the large flow's entries and of the others, then draws of both.
fn tenants() -> Traffic {
    let large = |entry: u16| segment(([10, 0, 0, 1], 1_024 + entry), ([198, 18, 0, 1], 443), 0x10);
    let other = |flow: u16| {
        segment(([10, 1, (flow >> 8) as u8, flow as u8], 5_000), ([198, 18, 0, 1], 443), 0x10)
    };
    let mut bytes = Vec::new();
    (0..ENTRIES).for_each(|entry| bytes.extend_from_slice(&large(entry)));
    (0..OTHERS).for_each(|flow| bytes.extend_from_slice(&other(flow)));
    let warm = usize::from(ENTRIES) + usize::from(OTHERS);
    let of_which = Skew::Uniform.draws(ONE_OF, DRAWS, 7);
    let of_large = Skew::Uniform.draws(u64::from(ENTRIES), DRAWS, 8);
    let of_others = Skew::Uniform.draws(u64::from(OTHERS), DRAWS, 9);
    for ((which, entry), flow) in of_which.into_iter().zip(of_large).zip(of_others) {
        let frame = if which == 0 { large(entry as u16) } else { other(flow as u16) };
        bytes.extend_from_slice(&frame);
    }
    Traffic::new(bytes, warm, Side::Inside)
}

fn of_flows(runs: &[Flows]) -> (Load, Vec<Figure>) {
    let all = |turns: fn(&Flows) -> &Vec<Moved>| runs.iter().flat_map(turns).collect::<Vec<_>>();
    let mut figures = Vec::new();
    for (name, turns) in [("offload", all(|run| &run.offload)), ("recall", all(|run| &run.recall))]
    {
        let times = Turns::new(turns.iter().map(|turn| turn.ns / turn.flows).collect());
        let limit = Turns::new(vec![1e3 / RATE]);
        let name = format!("moves/{name}, 64 bytes");
        figures.push(Figure::of_times(name, &times, &limit, "at least", 1.0).into_rates());
    }
    let all = |turns: fn(&Flows) -> &Vec<Paced>| runs.iter().flat_map(turns).collect::<Vec<_>>();
    let (still, moving) = (all(|run| &run.still), all(|run| &run.moving));
    let (calm, calm_still) = (undisturbed(&moving), undisturbed(&still));
    let median = |of: &dyn Fn(&Paced) -> f64, turns: &[&Paced]| {
        Turns::new(turns.iter().map(|turn| of(turn)).collect())
    };
    for (part, pause) in [
        ("p50", (&|turn: &Paced| turn.pause.p50_ns) as &dyn Fn(&Paced) -> f64),
        ("p99", &|turn| turn.pause.p99_ns),
    ] {
        let times = median(pause, &calm);
        let name = format!("moves/pause of a flow, {part}");
        let figure = Figure::of_limit(name, times.median(), PAUSE, "ns");
        figures.push(Figure { spread: times.spread(), ..figure });
    }
    for (part, latency) in [
        ("p50", (&|turn: &Paced| turn.others.p50_ns) as &dyn Fn(&Paced) -> f64),
        ("p99", &|turn| turn.others.p99_ns),
    ] {
        let name = format!("moves/packets of other flows, {part}");
        let (moving, still) = (median(latency, &calm), median(latency, &calm_still));
        figures.push(Figure::of_times(name, &moving, &still, "no moves", 0.0));
    }
    let load = runs.iter().flat_map(|run| &run.load);
    let (plain, watched): (Vec<_>, Vec<_>) =
        load.map(|turn| (1e9 / turn.per_second, 1e9 / turn.per_second_watched)).unzip();
    let name = "moves/watching, told each ms".to_owned();
    let (plain, watched) = (Turns::new(plain), Turns::new(watched));
    figures.push(Figure::of_times(name, &watched, &plain, "not told", 0.99));
    (sums(&moving, &calm, &calm_still), figures)
}

fn sums(moving: &[&Paced], calm: &[&Paced], still: &[&Paced]) -> Load {
    let sum = |of: &dyn Fn(&Paced) -> u64| calm.iter().map(|turn| of(turn)).sum::<u64>();
    let ns = sum(&|turn| turn.ns) as f64;
    let moves = sum(&|turn| turn.offloads + turn.released) as f64;
    Load {
        packets_per_second: calm.first().map_or(0.0, |turn| turn.per_second),
        host_busy: sum(&|turn| turn.host_busy_ns) as f64 / ns,
        moves_per_second: moves / ns * 1e9,
        packets: sum(&|turn| turn.packets),
        packets_held: sum(&|turn| turn.held),
        packets_lost: sum(&|turn| turn.lost),
        turns_with_loss: with_loss(calm),
        turns_with_loss_unmoved: with_loss(still),
        bytes_moved: sum(&|turn| turn.bytes),
        turns: moving.len(),
        turns_disturbed: moving.len() - calm.len(),
    }
}

fn with_loss(turns: &[&Paced]) -> usize {
    turns.iter().filter(|turn| turn.lost > 0).count()
}

/// Returns the turns in which both halves had their cores at an unchanged speed; all turns, if
/// fewer than three did.
fn undisturbed<'a, T: told::Disturbed>(turns: &[&'a T]) -> Vec<&'a T> {
    let calm: Vec<&T> = turns.iter().copied().filter(|turn| !turn.is_disturbed()).collect();
    if calm.len() < 3 { turns.to_vec() } else { calm }
}

fn of_groups(of: &'static str, runs: &[Group], figures: &mut Vec<Figure>) -> Vec<Large> {
    let mut large = Vec::new();
    let parts = runs.first().map_or(0, |run| run.turns.len());
    for at in 0..parts {
        let turns = || runs.iter().filter_map(|run| run.turns.get(at));
        let Some(part) = turns().next().map(|turns| turns.part) else { continue };
        let there: Vec<&Move> = turns().flat_map(|turns| &turns.offload).collect();
        let back: Vec<&Move> = turns().flat_map(|turns| &turns.recall).collect();
        for (to, moves, timed) in [("NIC", there, true), ("host", back, false)] {
            let calm = undisturbed(&moves);
            let median = |of: &dyn Fn(&Move) -> f64| {
                Turns::new(calm.iter().map(|one| of(one)).collect()).median()
            };
            let times = Turns::new(calm.iter().map(|one| one.ns / 1e6).collect());
            let name = format!("moves/32 MiB of {of} to the {to}, load {part}");
            let figure = Figure::of_limit(name, times.median(), IPIPE, "ms");
            figures.push(Figure { spread: times.spread(), baseline_name: "iPipe", ..figure });
            let percent = |of: &dyn Fn(&Move) -> f64| median(&|one| of(one) / one.ns * 100.0);
            large.push(Large {
                of,
                part,
                to,
                ms: times.median(),
                bytes: calm.first().map_or(0, |one| one.bytes),
                parts: timed.then(|| {
                    [
                        percent(&|one| one.copy_ns),
                        percent(&|one| one.waiting_ns),
                        percent(&|one| one.books_ns),
                    ]
                }),
                ipipe_parts: IPIPE_PARTS,
                packets_held: median(&|one| one.held),
                packets_lost: median(&|one| one.lost),
                turns: moves.len(),
                turns_disturbed: moves.len() - calm.len(),
            });
        }
    }
    large
}
