//! What a contestant did in a turn, and its turns as a row.

use std::time::Duration;

use serde::Serialize;

use crate::turns::Turns;

/// A turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) writes: u64,
    /// Processor time of those who serve.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// A contestant with so many puts outstanding: medians of its turns.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    name: String,
    outstanding: usize,
    writes_per_cpu_second: f64,
    writes_per_second: f64,
    /// Half the interquartile range of the processor time of a write, as a part of the median.
    spread: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Processor time per write of each turn (ns).
pub(super) fn cpu_per_write(turns: &[Measured]) -> Turns {
    each(turns, |turn| turn.cpu.as_nanos() as f64 / turn.writes.max(1) as f64)
}

fn each(turns: &[Measured], value: impl Fn(&Measured) -> f64) -> Turns {
    Turns::new(turns.iter().map(value).collect())
}

impl Row {
    pub(super) fn of(name: &str, outstanding: usize, turns: &[Measured]) -> Self {
        let cpu = cpu_per_write(turns);
        let wall = each(turns, |turn| turn.wall.as_nanos() as f64 / turn.writes.max(1) as f64);
        Self {
            name: name.to_owned(),
            outstanding,
            writes_per_cpu_second: 1e9 / cpu.median(),
            writes_per_second: 1e9 / wall.median(),
            spread: cpu.spread(),
            p50_us: each(turns, |turn| turn.p50.as_nanos() as f64 / 1e3).median(),
            p99_us: each(turns, |turn| turn.p99.as_nanos() as f64 / 1e3).median(),
        }
    }

    /// One line: JSON, or text.
    pub(super) fn line(&self, json: bool) -> String {
        if json {
            return serde_json::to_string(self).unwrap_or_default();
        }
        let Self { name, outstanding, writes_per_cpu_second, writes_per_second, .. } = self;
        let Self { spread, p50_us, p99_us, .. } = self;
        format!(
            "{name:<30} {outstanding:>3} outstanding {:>8.1} k writes per CPU-second ± {:.0} %, \
             {:.1} k/s, p50 {p50_us:.0} µs, p99 {p99_us:.0} µs",
            writes_per_cpu_second / 1e3,
            spread * 100.0,
            writes_per_second / 1e3,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_medians_of_its_turns() {
        let turn = |cpu, wall| Measured {
            writes: 1_000,
            cpu: Duration::from_millis(cpu),
            wall: Duration::from_millis(wall),
            p50: Duration::from_micros(7),
            p99: Duration::from_micros(90),
        };
        let row = Row::of("one", 16, &[turn(30, 5), turn(20, 10), turn(10, 20)]);
        assert!((row.writes_per_cpu_second - 50_000.0).abs() < 1e-6);
        assert!((row.writes_per_second - 100_000.0).abs() < 1e-6);
        let line = row.line(false);
        assert!(line.contains("16 outstanding     50.0 k writes per CPU-second"), "{line}");
        assert!(line.ends_with("100.0 k/s, p50 7 µs, p99 90 µs"), "{line}");
        assert!(row.line(true).contains("\"writes_per_cpu_second\":50000.0"));
    }
}
