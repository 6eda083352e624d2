//! The Ethernet link between host and card beside raw frames on the same veth, by AF_PACKET and by
//! AF_XDP: rates there and back, and the time of a round trip. Both sides of a comparison take
//! turns on the same two sockets, with a thread at either end, each on a processor of its own.
//!
//! The link is the end, the wire and the turn that relay and agent run. Raw frames go by the same
//! wire, without the link's protocol: the ports of `cora-port`, with a copy in and a copy out.
//!
//! | module | concept |
//! | --- | --- |
//! | `veth` | two namespaces, and the wires between them |
//! | `raw` | frames that are sent back as they came |
//! | `records` | records that the link carries there and back |
//! | `whole` | packets through a program whose NIC half is behind the link |

mod raw;
mod records;
mod veth;
mod whole;

use std::io::Result;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::figure::Figure;
use crate::turns::Turns;
pub(crate) use veth::set_up;
use veth::{Pair, Veths};

/// Bytes of records, and the bytes of a frame that has one of them alone.
const SMALL: usize = 64;
const LARGE: usize = 1_400;
const ALONE: usize = cora_link::HEADER + cora_link::RECORD_HEADER + SMALL;
/// Bytes of the longest frame.
const LONGEST: usize = 1_514;
/// Bytes of the shortest frames that are compared.
const SHORT: usize = 64;

/// What a link carried, beside the ratio.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Carried {
    /// Millions of bytes of records a second, there and back.
    megabytes: f64,
    /// Frames with records, one way, per record.
    frames_per_record: f64,
    /// Processor time of both ends per record, in ns.
    cpu_per_record: f64,
}

impl Carried {
    /// The end of a line.
    pub(crate) fn line(&self) -> String {
        let Self { megabytes, frames_per_record, cpu_per_record } = self;
        format!(
            "; {megabytes:.1} MB/s, {frames_per_record:.3} frames and {cpu_per_record:.0} ns of \
             CPU per record"
        )
    }
}

/// What went there and back in a turn.
#[derive(Clone, Copy, Debug)]
struct Took {
    /// Frames or records that came back.
    count: u64,
    /// Frames with them, one way.
    frames: u64,
    wall: Duration,
    /// Processor time of both ends.
    cpu: Duration,
}

impl Took {
    fn ns(&self) -> f64 {
        self.wall.as_nanos() as f64 / self.count.max(1) as f64
    }

    fn ns_per_frame(&self) -> f64 {
        self.wall.as_nanos() as f64 / self.frames.max(1) as f64
    }

    fn cpu(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.count.max(1) as f64
    }

    fn cpu_per_frame(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.frames.max(1) as f64
    }

    fn frames_per_record(&self) -> f64 {
        self.frames as f64 / self.count.max(1) as f64
    }
}

/// Measures the link with no program, and then with the one in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    let mut veths = match Veths::build() {
        Ok(veths) => veths,
        Err(why) => {
            eprintln!("SKIPPED link: {why}");
            return Ok(());
        }
    };
    eprintln!(
        "link: both ends are threads of this process, each on a processor of its own; load {}",
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );
    let mut number = 0;
    for pair in &mut veths.pairs {
        if ["records", "frames"].iter().any(|part| wanted(&format!("link/{}/{part}", pair.way))) {
            rates(pair, &mut number, quick, tell)?;
        }
        if wanted(&format!("link/{}/round trip", pair.way)) {
            round_trips(pair, &mut number, quick, tell)?;
        }
    }
    drop(veths);
    whole::run(programs, quick, wanted, tell)
}

/// Turns of a contestant that goes there and back.
#[derive(Debug, Default)]
struct Rates(Vec<Took>);

impl Rates {
    fn turns(&self, of: fn(&Took) -> f64) -> Turns {
        Turns::new(self.0.iter().map(of).collect())
    }
}

fn rates(
    pair: &mut Pair,
    number: &mut u64,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    let (rounds, time) = if quick { (3, 100) } else { (9, 200) };
    let time = Duration::from_millis(time);
    let [mut short, mut longest, mut small, mut large] = [(); 4].map(|()| Rates::default());
    for round in 0..=rounds {
        let took = [
            raw::throughput(pair, SHORT, time)?,
            records::throughput(pair, number, SMALL, time)?,
            raw::throughput(pair, LONGEST, time)?,
            records::throughput(pair, number, LARGE, time)?,
        ];
        if round > 0 {
            let all = [&mut short, &mut small, &mut longest, &mut large];
            all.into_iter().zip(took).for_each(|(all, took)| all.0.push(took));
        }
    }
    let way = pair.way;
    for (bytes, link, raw, what) in [
        (SMALL, &small, &short, "raw frames of 64 bytes"),
        (LARGE, &large, &longest, "raw frames of 1514 bytes"),
    ] {
        let name = format!("link/{way}/records of {bytes} bytes");
        let turns = link.turns(Took::ns);
        let figure = Figure::of_times(name, &turns, &raw.turns(Took::ns), what, 0.0);
        let records = 1e3 / turns.median();
        let carried = Carried {
            megabytes: records * bytes as f64,
            frames_per_record: link.turns(Took::frames_per_record).median(),
            cpu_per_record: link.turns(Took::cpu).median(),
        };
        tell(Figure { carried: Some(carried), ..figure.into_thousands() });
        let name = format!("link/{way}/frames with records of {bytes} bytes");
        let (frames, raw) = (link.turns(Took::ns_per_frame), longest.turns(Took::ns));
        let what = "raw frames of 1514 bytes";
        tell(Figure::of_times(name, &frames, &raw, what, 0.0).into_thousands());
        let name = format!("link/{way}/frames with records of {bytes} bytes, CPU");
        let (frames, raw) = (link.turns(Took::cpu_per_frame), longest.turns(Took::cpu));
        tell(Figure::of_times(name, &frames, &raw, what, 0.0));
    }
    Ok(())
}

fn round_trips(
    pair: &mut Pair,
    number: &mut u64,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> Result<()> {
    let (rounds, count) = if quick { (3, 300) } else { (9, 1_000) };
    let way = pair.way;
    for (bytes, frame) in [(SMALL, ALONE), (LARGE, LONGEST)] {
        let mut latencies = Latencies::default();
        for _ in 0..rounds {
            let raw = raw::round_trips(pair, frame, count)?;
            latencies.add([records::round_trips(pair, number, bytes, count)?, raw]);
        }
        latencies.tell(&format!("link/{way}/round trip of {bytes} bytes"), "a raw frame", tell);
    }
    Ok(())
}

/// Medians and 99th percentiles of two contestants, round by round: the first one's figure is told
/// beside the second one's.
#[derive(Debug, Default)]
struct Latencies([[Vec<f64>; 2]; 2]);

impl Latencies {
    /// Adds the times of a round.
    fn add(&mut self, times: [Vec<f64>; 2]) {
        for (all, times) in self.0.iter_mut().zip(times) {
            for (all, time) in all.iter_mut().zip(median_and_p99(times)) {
                all.push(time);
            }
        }
    }

    fn tell(self, name: &str, baseline_name: &'static str, tell: &mut dyn FnMut(Figure)) {
        let [first, second] = self.0.map(|all| all.map(Turns::new));
        for ((first, second), part) in first.iter().zip(&second).zip(["median", "p99"]) {
            tell(Figure::of_times(format!("{name}, {part}"), first, second, baseline_name, 0.0));
        }
    }
}

/// The median and the 99th percentile.
fn median_and_p99(mut times: Vec<f64>) -> [f64; 2] {
    times.sort_by(f64::total_cmp);
    [50, 99].map(|percent| times[(times.len() - 1) * percent / 100])
}
