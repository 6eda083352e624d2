//! Reports of the programs about their turns.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Report of `bench --half moves`.
#[derive(Debug, Deserialize)]
pub(super) struct Flows {
    pub(super) offload: Vec<Moved>,
    pub(super) recall: Vec<Moved>,
    pub(super) load: Vec<Borne>,
    pub(super) still: Vec<Paced>,
    pub(super) moving: Vec<Paced>,
}

/// Moves of all flows in one direction.
#[derive(Debug, Deserialize)]
pub(super) struct Moved {
    pub(super) flows: f64,
    pub(super) ns: f64,
}

/// Load at full speed.
#[derive(Debug, Deserialize)]
pub(super) struct Borne {
    pub(super) per_second: f64,
    pub(super) per_second_watched: f64,
}

/// Load at a pace.
#[derive(Debug, Deserialize)]
pub(super) struct Paced {
    pub(super) per_second: f64,
    bore: f64,
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) host_busy_ns: u64,
    pub(super) ns: u64,
    robbed_ns: Option<u64>,
    pub(super) offloads: u64,
    pub(super) released: u64,
    pub(super) bytes: u64,
    pub(super) held: u64,
    pub(super) pause: Times,
    pub(super) others: Times,
}

#[derive(Debug, Deserialize)]
pub(super) struct Times {
    pub(super) p50_ns: f64,
    pub(super) p99_ns: f64,
}

/// Report of `bench --half group`.
#[derive(Debug, Deserialize)]
pub(super) struct Group {
    pub(super) turns: Vec<At>,
}

/// Moves at one load.
#[derive(Debug, Deserialize)]
pub(super) struct At {
    pub(super) part: f64,
    pub(super) offload: Vec<Move>,
    pub(super) recall: Vec<Move>,
}

/// One move of the large flow.
#[derive(Debug, Deserialize)]
pub(super) struct Move {
    pub(super) ns: f64,
    pub(super) books_ns: f64,
    pub(super) copy_ns: f64,
    pub(super) waiting_ns: f64,
    pub(super) bytes: u64,
    pub(super) held: f64,
    pub(super) lost: f64,
    robbed_ns: Option<u64>,
}

/// Allowed ratio of a turn's pace to the load that the cores bore right after it. The pace was nine
/// tenths of the load before.
const STEADY: std::ops::RangeInclusive<f64> = 0.87..=0.93;

/// A turn with the time for which its threads were ready without a core.
pub(super) trait Disturbed {
    /// Returns whether that time was too long, or the speed of the cores changed.
    fn is_disturbed(&self) -> bool;
}

impl Disturbed for Paced {
    fn is_disturbed(&self) -> bool {
        let robbed = self.robbed_ns.is_some_and(|robbed| robbed > self.ns / 500);
        robbed || !STEADY.contains(&(self.per_second / self.bore))
    }
}

impl Disturbed for Move {
    fn is_disturbed(&self) -> bool {
        self.robbed_ns.is_some_and(|robbed| robbed as f64 > self.ns / 100.0)
    }
}

/// Runs the program's own measurement.
pub(super) fn by<T: DeserializeOwned>(
    mut program: Command,
    half: &str,
    capture: &Path,
    warm: usize,
) -> std::io::Result<T> {
    let program = program.args(["bench", "--half", half, "--warm", &warm.to_string(), "--in"]);
    let told = program.arg(capture).output()?;
    serde_json::from_slice(&told.stdout)
        .map_err(|_| std::io::Error::other(String::from_utf8_lossy(&told.stderr).into_owned()))
}
