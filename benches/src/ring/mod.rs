//! The ring against the crates rtrb and ringbuf, against bare lines, and against `memcpy`.
//!
//! Two threads share words that are never freed, as two processes share a mapping: it is the same
//! to the caches, and [`processes`] shows it. Times are wall-clock times, from the common start to
//! the end of the slower thread. An idle thread spins a little and then yields the core. Every
//! consumer adds up its records. The crates write records in place, with their fastest batched
//! interfaces. Cora copies in and out: its peer is not trusted, so it hands out no references into
//! the ring.
//!
//! DPDK's `rte_ring` takes part where DPDK is installed.

mod bare;
mod frames;
mod idle;
pub(crate) mod pair;
pub(crate) mod processes;
mod queue;
#[cfg(dpdk)]
pub(crate) mod rte_ring;

use std::time::Duration;

use crate::figure::Figure;
use crate::turns::{Turns, take_timed};

const CRATES: [&str; 2] = ["rtrb", "ringbuf"];
/// Records of a turn, in one direction, and of a batch.
const STREAMED: u64 = 60_000;
const BATCH: usize = 32;
/// Records of a turn that go there and back one by one.
const ROUND_TRIPS: u64 = 3_000;

/// Measures throughput, round trips and frames.
pub(crate) fn run(quick: bool, tell: &mut dyn FnMut(Figure)) {
    let turns = if quick { 15 } else { 151 };
    for (batch, goal) in [(BATCH, 1.5), (1, 1.0)] {
        throughput(batch, goal, turns, tell);
    }
    round_trips(turns, tell);
    if let Err(why) = between_processes(turns, tell) {
        eprintln!("ring/*, two processes left out: {why}");
    }
    bulk(turns, tell);
    waiting(quick, tell);
}

/// Returns the turns of the faster crate.
fn best(crates: [Turns; 2]) -> (&'static str, Turns) {
    let faster = usize::from(crates[1].median() < crates[0].median());
    let [first, second] = crates;
    (CRATES[faster], if faster == 0 { first } else { second })
}

fn throughput(batch: usize, goal: f64, turns: usize, tell: &mut dyn FnMut(Figure)) {
    let (mut sender, mut receiver) = queue::cora::<7>();
    let (mut sender_2, mut receiver_2) = queue::cora::<8>();
    let (mut rtrb, mut ringbuf) = (queue::rtrb(), queue::ringbuf());
    let mut lines = bare::lines();
    let [one_line, two_lines, rtrb, ringbuf, bare] = take_timed(
        turns,
        [
            &mut || pair::transfer(&mut sender, &mut receiver, batch, STREAMED),
            &mut || pair::transfer(&mut sender_2, &mut receiver_2, batch, STREAMED),
            &mut || pair::transfer(&mut rtrb.0, &mut rtrb.1, batch, STREAMED),
            &mut || pair::transfer(&mut ringbuf.0, &mut ringbuf.1, batch, STREAMED),
            &mut || pair::transfer(&mut lines.0, &mut lines.1, batch, STREAMED),
        ],
    );
    let (name, best) = best([rtrb, ringbuf]);
    for (cora, what) in [(&one_line, "64-byte records"), (&two_lines, "64-byte payloads")] {
        let figure = format!("ring/{what}, batch {batch}");
        tell(Figure::of_times(figure, cora, &best, name, goal).into_rates());
    }
    // The rate of bare lines, and the faster crate beside it.
    for (what, ring) in [("bare", &one_line), ("best crate, bare", &best)] {
        let figure = format!("ring/64-byte records, batch {batch}, {what}");
        tell(Figure::of_times(figure, ring, &bare, "a word a line", 0.0).into_rates());
    }
}

fn round_trips(turns: usize, tell: &mut dyn FnMut(Figure)) {
    let (mut there, mut back) = (queue::cora::<7>(), queue::cora::<7>());
    let (mut rtrb_there, mut rtrb_back) = (queue::rtrb(), queue::rtrb());
    let (mut ringbuf_there, mut ringbuf_back) = (queue::ringbuf(), queue::ringbuf());
    let [cora, rtrb, ringbuf, bare] = take_timed(
        turns,
        [
            &mut || pair::round_trip(&mut there, &mut back, ROUND_TRIPS),
            &mut || pair::round_trip(&mut rtrb_there, &mut rtrb_back, ROUND_TRIPS),
            &mut || pair::round_trip(&mut ringbuf_there, &mut ringbuf_back, ROUND_TRIPS),
            &mut || pair::bare_round_trip(ROUND_TRIPS),
        ],
    );
    let (name, best) = best([rtrb, ringbuf]);
    tell(Figure::of_times("ring/round trip".into(), &cora, &best, name, 1.0 / 0.75));
    let figure = "ring/round trip, bare".into();
    tell(Figure::of_times(figure, &cora, &bare, "two lines", 1.0 / 1.2));
}

/// Compares the ring between two processes with the ring between two threads.
fn between_processes(turns: usize, tell: &mut dyn FnMut(Figure)) -> std::io::Result<()> {
    let mut processes = processes::start()?;
    let (mut there, mut back) = (queue::cora::<7>(), queue::cora::<7>());
    let [streamed, of_threads] = take_timed(
        turns,
        [&mut || processes.stream(), &mut || {
            pair::transfer(&mut there.0, &mut there.1, BATCH, STREAMED)
        }],
    );
    let name = format!("ring/64-byte records, batch {BATCH}, two processes");
    tell(Figure::of_times(name, &streamed, &of_threads, "two threads", 0.0).into_rates());
    let [rounds, of_threads] = take_timed(
        turns,
        [&mut || processes.round_trips(), &mut || {
            pair::round_trip(&mut there, &mut back, ROUND_TRIPS)
        }],
    );
    let name = "ring/round trip, two processes".into();
    tell(Figure::of_times(name, &rounds, &of_threads, "two threads", 0.0));
    Ok(())
}

fn bulk(turns: usize, tell: &mut dyn FnMut(Figure)) {
    const COUNT: u64 = 8_000;
    let mut ends = frames::ends();
    let [cora, handed_over, one_thread] = take_timed(
        turns,
        [
            &mut || frames::through_ring(&mut ends, COUNT),
            &mut || frames::handed_over(COUNT),
            &mut || frames::one_thread(COUNT),
        ],
    );
    let figure = |what| format!("ring/1500-byte frames, {what}");
    tell(Figure::of_times(figure("handed over"), &cora, &handed_over, "memcpy", 0.9).into_rates());
    tell(
        Figure::of_times(figure("one thread"), &cora, &one_thread, "memcpy in its cache", 0.0)
            .into_rates(),
    );
}

/// Measures an idle consumer, against the limits of its cost and its latency.
fn waiting(quick: bool, tell: &mut dyn FnMut(Figure)) {
    let (time, count) = if quick { (500, 200) } else { (5000, 2000) };
    let share = idle::cpu_share(Duration::from_millis(time));
    tell(Figure::of_limit("ring/idle consumer".into(), share, 2.0, "% CPU"));
    let times = idle::first_records(count);
    for (part, name) in [(50, "median"), (99, "p99")] {
        let time = times[(times.len() - 1) * part / 100];
        tell(Figure::of_limit(format!("ring/first record, {name}"), time, 100.0, "µs"));
    }
    let turns = if quick { 9 } else { 41 };
    let [rung, plain] = take_timed(
        turns,
        [&mut || idle::published(20_000, true), &mut || idle::published(20_000, false)],
    );
    tell(Figure::of_times("ring/publish and ring".into(), &rung, &plain, "publish", 0.0));
}
