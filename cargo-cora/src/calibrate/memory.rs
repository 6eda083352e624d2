//! Memory: how long a load takes that depends on the one before it, by working set; and what caches
//! there are.

use std::hint::black_box;
use std::io::{Error, Result};
use std::path::Path;

use cora_measure::ThreadTime;

use super::rounds::Times;
use super::traffic::draw;

/// Bytes of a line.
pub(crate) const LINE: usize = 64;
const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// A cache as the kernel tells it, with the latency that was measured in it.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Its size for this process: of a shared cache, the part that was found.
    pub(crate) bytes: usize,
    /// The working set that its latency was measured with.
    pub(crate) walked: usize,
    pub(crate) shared_by: usize,
    pub(crate) times: Times,
    /// Whether the kernel told its size; otherwise it was read off the latencies.
    pub(crate) told: bool,
}

/// The measurement.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    /// The nearest cache first; latencies rise.
    pub(crate) levels: Vec<Level>,
    /// Of a load that no cache answers.
    pub(crate) memory: Times,
    /// The working set it was measured with.
    pub(crate) memory_bytes: usize,
}

impl Latencies {
    /// Expected latency of a load in a working set of equally popular lines.
    pub(crate) fn of(&self, bytes: f64) -> f64 {
        let mut missed = 1.0;
        let mut expected = 0.0;
        for level in &self.levels {
            // Of lines drawn alike, a cache has its share of the whole.
            let behind = (1.0 - level.bytes as f64 / bytes).clamp(0.0, missed);
            expected += (missed - behind) * level.times.median();
            missed = behind;
        }
        expected + missed * self.memory.median()
    }
}

/// A working set to walk through: each line holds the number of the next one, in an order that no
/// prefetcher guesses.
#[derive(Debug)]
pub(crate) struct Chase {
    pub(crate) bytes: usize,
    next: &'static mut [u32],
    at: u32,
    steps: usize,
}

/// Numbers in a line.
const PER_LINE: usize = LINE / 4;

impl Chase {
    /// On the pages that states are on: a miss of the translation cache is part of a load there,
    /// too.
    fn new(bytes: usize, steps: usize) -> Result<Self> {
        let lines = bytes / LINE;
        let memory = cora_host::memory_for_states(bytes).map_err(Error::other);
        let next =
            memory?.take_u32(lines * PER_LINE).map_err(|lack| Error::other(lack.to_string()))?;
        let mut order: Vec<u32> = (0..lines as u32).collect();
        let mut seed = 7;
        // Sattolo's algorithm (1986): one cycle through all.
        for last in (1..lines).rev() {
            order.swap(last, (draw(&mut seed) % last as u64) as usize);
        }
        for (line, follower) in order.into_iter().enumerate() {
            next[line * PER_LINE] = follower * PER_LINE as u32;
        }
        Ok(Self { bytes, next, at: 0, steps })
    }

    /// Walks; nanoseconds of a step.
    pub(crate) fn walk(&mut self) -> f64 {
        let start = ThreadTime::now();
        let mut at = self.at;
        for _ in 0..self.steps {
            at = self.next[at as usize];
        }
        self.at = black_box(at);
        start.elapsed().as_nanos() as f64 / self.steps as f64
    }
}

/// Working sets: half of each cache, and well beyond the last one. Of the last cache an eighth,
/// too: it may belong to other machines as well, so that half of it does not fit.
#[derive(Debug)]
pub(crate) struct Walks {
    caches: Vec<(usize, usize)>,
    told: bool,
    chases: Vec<Chase>,
}

impl Walks {
    /// Makes them, for the caches that the kernel tells; where it tells none, a curve by size is
    /// taken.
    pub(crate) fn new(quick: bool) -> Result<Self> {
        let told = caches(Path::new("/sys/devices/system/cpu/cpu0/cache"));
        let steps = if quick { 1 << 19 } else { 1 << 20 };
        let (caches, is_told) = if told.is_empty() { (curve(steps)?, false) } else { (told, true) };
        let last = caches.last().map_or(32 * MIB, |(bytes, _)| *bytes);
        // Past the last cache eight times over an eighth is still found there: that is computed
        // away.
        let beyond = (last * 8).clamp(64 * MIB, if quick { 256 * MIB } else { 512 * MIB });
        let mut sizes: Vec<usize> = caches.iter().map(|(bytes, _)| bytes / 2).collect();
        if let [.., (before, _), (last, _)] = caches[..] {
            // But never so little that the cache before it has most of it.
            sizes[caches.len() - 1] = (last / 8).max(2 * before).min(last / 2);
        }
        sizes.extend([last / 2, beyond]);
        let chases = sizes.into_iter().map(|bytes| Chase::new(bytes, steps));
        Ok(Self { caches, told: is_told, chases: chases.collect::<Result<_>>()? })
    }

    /// A round.
    pub(crate) fn round(&mut self) -> Vec<f64> {
        self.chases.iter_mut().map(Chase::walk).collect()
    }

    /// The sum of all rounds.
    pub(crate) fn latencies(&self, rounds: &[Vec<f64>]) -> Latencies {
        let times = |number: usize| -> Vec<f64> {
            rounds.iter().filter_map(|round| round.get(number).copied()).collect()
        };
        let mut levels: Vec<Level> = Vec::new();
        for (number, (bytes, shared_by)) in self.caches.iter().enumerate() {
            // It fits into the cache, but for the part that the caches before it answer.
            let walked = self.chases[number].bytes;
            let taken = times(number).into_iter().map(|time| beyond(time, (walked, &levels)));
            let level = Level {
                bytes: *bytes,
                walked,
                shared_by: *shared_by,
                times: Times::new(taken.collect()),
                told: self.told,
            };
            let last = levels.last().map_or(0.0, |level: &Level| level.times.median());
            if level.times.median() > last {
                levels.push(level);
            }
        }
        let [half, memory] = [self.chases.len() - 2, self.chases.len() - 1];
        let memory_bytes = self.chases[memory].bytes;
        let of_memory = |levels: &[Level]| {
            let taken = times(memory).into_iter().map(|time| beyond(time, (memory_bytes, levels)));
            Times::new(taken.collect())
        };
        let slowest = of_memory(&levels).median();
        let mean = Times::new(times(half)).median();
        if let Some(last) = levels.last_mut() {
            let found = found((mean, self.chases[half].bytes), last.times.median(), slowest);
            last.bytes = found.map_or(last.bytes, |found| found.clamp(last.walked, last.bytes));
        }
        // A cache that is no faster than memory is none.
        while levels.len() > 1 && levels.last().is_some_and(|last| last.times.median() >= slowest) {
            levels.pop();
        }
        Latencies { memory: of_memory(&levels), levels, memory_bytes }
    }
}

/// Bytes that a cache with this latency has of a working set, by the mean over it; nothing when all
/// of them.
#[expect(clippy::cast_sign_loss, reason = "a part of a whole is not negative")]
fn found((mean, bytes): (f64, usize), latency: f64, memory: f64) -> Option<usize> {
    let part = (memory - mean) / (memory - latency);
    (0.0..0.95).contains(&part).then(|| (part * bytes as f64) as usize / LINE * LINE)
}

/// The latency of loads that no cache answers, from a mean over a working set.
fn beyond(mean: f64, (bytes, levels): (usize, &[Level])) -> f64 {
    let mut found = 0.0;
    let mut rest = mean;
    for level in levels {
        let here = (level.bytes as f64 / bytes as f64).min(1.0) - found;
        rest -= here.max(0.0) * level.times.median();
        found += here.max(0.0);
    }
    if found < 1.0 { rest / (1.0 - found) } else { mean }
}

/// Data caches of a core that the kernel tells: bytes, and how many of the machine's cores share
/// each.
fn caches(folder: &Path) -> Vec<(usize, usize)> {
    let read = |number: usize, name: &str| {
        let path = folder.join(format!("index{number}")).join(name);
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let mut found: Vec<(usize, usize)> = (0..8)
        .filter(|number| read(*number, "type").is_some_and(|kind| kind != "Instruction"))
        .filter_map(|number| {
            let sharers = read(number, "shared_cpu_list").map_or(1, |list| cores_of(&list));
            Some((bytes_of(&read(number, "size")?)?, sharers.max(1)))
        })
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|(bytes, _)| *bytes);
    found
}

/// `1024K`.
fn bytes_of(text: &str) -> Option<usize> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "K" => KIB,
        "M" => MIB,
        _ => return None,
    };
    Some(number.parse::<usize>().ok()? * unit)
}

/// How many numbers are in `0-3,8`.
pub(crate) fn cores_of(list: &str) -> usize {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
        Some(to.saturating_sub(from) + 1)
    };
    list.split(',').filter_map(range).sum()
}

/// Caches read off the latencies: where a step of the working set makes loads half as long again,
/// one ends.
fn curve(steps: usize) -> Result<Vec<(usize, usize)>> {
    let sizes: Vec<usize> = (2..18).map(|power| KIB << power).collect();
    let mut times = Vec::new();
    for bytes in &sizes {
        let mut chase = Chase::new(*bytes, steps / 4)?;
        times.push(Times::new((0..3).map(|_| chase.walk()).collect()).median());
    }
    Ok(knees(&sizes, &times).into_iter().map(|bytes| (bytes, 1)).collect())
}

fn knees(sizes: &[usize], times: &[f64]) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut plateau = times.first().copied().unwrap_or_default();
    for (pair, bytes) in times.windows(2).zip(sizes) {
        if pair[1] > 1.5 * plateau {
            // A slope over several sizes is one knee.
            if found.last().is_none_or(|last| last * 2 < *bytes) {
                found.push(*bytes);
            }
            plateau = pair[1];
        }
    }
    if found.is_empty() { vec![32 * KIB] } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_through_every_line_once() {
        let mut chase = Chase::new(64 * KIB, 64 * KIB / LINE).expect("memory");
        let mut seen = vec![false; 64 * KIB / LINE];
        let mut at = 0;
        for _ in 0..seen.len() {
            assert!(!std::mem::replace(&mut seen[at as usize / PER_LINE], true));
            at = chase.next[at as usize];
        }
        assert_eq!(at, 0, "one cycle");
        assert!(chase.walk() > 0.0);
        assert_eq!(chase.at, 0, "as many steps as lines");
    }

    #[test]
    fn what_the_kernel_tells_is_read() {
        let room = tempfile::tempdir().expect("a directory");
        for (number, kind, size, sharers) in [
            (0, "Data", "32K", "0"),
            (1, "Instruction", "32K", "0"),
            (2, "Unified", "1024K", "0-1"),
            (3, "Unified", "32M", "0-3,8-11"),
        ] {
            let folder = room.path().join(format!("index{number}"));
            std::fs::create_dir(&folder).expect("a directory");
            for (name, text) in [("type", kind), ("size", size), ("shared_cpu_list", sharers)] {
                std::fs::write(folder.join(name), format!("{text}\n")).expect("a file");
            }
        }
        assert_eq!(caches(room.path()), [(32 * KIB, 1), (MIB, 2), (32 * MIB, 8)]);
        assert_eq!(caches(&room.path().join("none")), []);
    }

    #[test]
    fn knees_end_plateaus() {
        let sizes: Vec<usize> = (2..12).map(|power| KIB << power).collect();
        let times = [1.0, 1.0, 1.0, 1.0, 3.0, 3.1, 3.0, 3.2, 9.0, 20.0];
        assert_eq!(knees(&sizes, &times), [32 * KIB, 512 * KIB]);
        assert_eq!(knees(&sizes, &[1.0; 10]), [32 * KIB]);
    }

    fn latencies() -> Latencies {
        let level = |bytes, time| Level {
            bytes,
            walked: bytes / 2,
            shared_by: 1,
            times: Times::new(vec![time]),
            told: true,
        };
        let levels = vec![level(100, 1.0), level(1000, 5.0)];
        Latencies { levels, memory: Times::new(vec![100.0]), memory_bytes: 10_000 }
    }

    #[test]
    fn of_a_cache_that_others_share_what_is_found_counts() {
        // A quarter of 16 MiB is found at 20 ns, the rest in memory.
        assert_eq!(found((0.25 * 20.0 + 0.75 * 100.0, 16 * MIB), 20.0, 100.0), Some(4 * MIB));
        assert_eq!(found((21.0, 16 * MIB), 20.0, 100.0), None, "all of it, but for noise");
    }

    #[test]
    fn the_part_that_nearer_caches_answer_is_computed_away() {
        let latencies = latencies();
        assert!((latencies.of(50.0) - 1.0).abs() < 1e-9);
        let mean = latencies.of(2000.0);
        assert!((mean - (0.05 * 1.0 + 0.45 * 5.0 + 0.5 * 100.0)).abs() < 1e-9);
        assert!((beyond(mean, (2000, &latencies.levels)) - 100.0).abs() < 1e-9);
    }
}
