//! The rate of a program's handlers in memory: frames that are there already, one core, no wire.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::processors::Others;
use crate::Result;

/// Passes over the capture, of which the median counts.
const PASSES: usize = 5;

/// Returns millions of frames a second of the host half, which has all states then. The first
/// `warm` frames of the capture only fill tables.
pub(super) fn speed(program: &Path, capture: &Path, warm: usize, others: Others) -> Result<f64> {
    let failed = |error: std::io::Error| format!("{} bench: {error}", program.display());
    let mut command = Command::new("taskset");
    command.args(["-c", &others.list()]).arg(program);
    command.args(["bench", "--warm", &warm.to_string(), "--in"]).arg(capture);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let (Some(mut ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("a child without standard input and output".to_owned());
    };
    let mut answers = BufReader::new(answers).lines();
    let mut line = || answers.next().unwrap_or_else(|| Ok(String::new())).map_err(failed);
    let _ready = line()?;
    let mut speeds = Vec::new();
    for _ in 0..PASSES {
        ask.write_all(b"\n").map_err(failed)?;
        let pass: Value = serde_json::from_str(&line()?)
            .map_err(|error| format!("{} bench: {error}", program.display()))?;
        let number = |name: &str| pass[name].as_f64().unwrap_or(0.0);
        speeds.push(number("packets") / number("ns").max(1.0) * 1e3);
    }
    // The program ends when its input ends.
    drop(ask);
    child.wait().map_err(failed)?;
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[PASSES / 2])
}
