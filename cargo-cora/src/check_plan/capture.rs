//! A run of the package on a capture, here.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::counts::Counts;
use super::figures::compares_times;
use super::subject::Subject;
use super::{Run, Source};
use crate::arguments::CheckPlan;
use crate::failure::Failure;
use crate::measure::input_words;
use crate::package::{self, Package};
use crate::profile;

/// Runs of which each side's least time counts, where times are compared: all that disturbs a run
/// makes it longer.
const RUNS: usize = 3;

/// Builds the package under its plan, and runs both halves on the capture.
pub(super) fn run(
    package: &Package,
    input: &Path,
    subject: &Subject,
    arguments: &CheckPlan,
) -> Result<Run, Failure> {
    let shown = input.display();
    // Before the build, which takes its time.
    File::open(input).map_err(|error| {
        Failure::Failed(format!("the capture `{shown}` can't be read: {error}"))
    })?;
    let (stats, drawn) = profile::of_capture(input, arguments.inside.as_deref(), arguments.idle)?;
    let plan = package::plan(arguments.plan.as_deref())?;
    let program = package.build(&arguments.profile, false, plan.as_deref())?;
    let report = reported(&program, input, arguments)?;
    let hash = report["plan"].as_str().unwrap_or_default();
    if hash != subject.hash {
        return Err(Failure::Failed(format!(
            "`{}` was built with the plan {hash}, and its source says {}: is CORA_PLAN set, or was a file saved \
             meanwhile? Try again",
            program.display(),
            subject.hash
        )));
    }
    let mut counts = Counts::of_report(&report)?;
    if compares_times(&subject.profiles.nic, &arguments.profile) {
        for _ in 1..RUNS {
            counts.least_busy(&Counts::of_report(&reported(&program, input, arguments)?)?);
        }
    }
    let seconds = stats.seconds();
    Ok(Run {
        source: Source::Capture {
            drawn: Box::new(drawn.traffic),
            profile: arguments.profile.clone(),
        },
        name: shown.to_string(),
        counts,
        seconds,
        filling: seconds,
    })
}

/// The report of the program on the capture.
fn reported(program: &Path, input: &Path, arguments: &CheckPlan) -> Result<Value, Failure> {
    let output = Command::new(program)
        .args(["run", "--nic", "native", "--json"])
        .args(input_words(input, &arguments.config, arguments.inside.as_deref()))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            Failure::Failed(format!("`{}` doesn't start: {error}", program.display()))
        })?;
    let failed =
        || Failure::Failed(format!("`{}` ended with {}", program.display(), output.status));
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|_| failed())?;
    let faults: Vec<&str> =
        report["faults"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (output.status.success(), &faults[..]) {
        (true, _) => Ok(report),
        (false, []) => Err(failed()),
        (false, faults) => Err(Failure::Failed(format!(
            "the run on `{}` can't be relied on: {}",
            input.display(),
            faults.join("; ")
        ))),
    }
}
