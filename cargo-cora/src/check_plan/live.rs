//! Two looks at the counters of a live run.
#![expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^53")]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::counts::{Counts, is_snapshot};
use super::subject::Subject;
use super::{Run, Source};
use crate::control;
use crate::failure::Failure;
use crate::progress::Progress;

/// A run answers between two bursts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks, waits so many seconds, and looks again.
pub(super) fn run(socket: &Path, seconds: u64, subject: &Subject) -> Result<Run, Failure> {
    let before = look(socket, subject)?;
    wait(seconds);
    let now = look(socket, subject)?;
    let counts = Counts::between(&before, &now)?;
    let up = |of: &Value| of["status"]["uptime_ms"].as_u64().unwrap_or(0) as f64 / 1e3;
    let elapsed = up(&now) - up(&before);
    if counts.packets == 0 || counts.arrived(subject.placement.sides) < 1.0 || elapsed <= 0.0 {
        return Err(Failure::Failed(format!(
            "no packet came to a handler of the run at `{}` within {seconds} s: wait longer with --seconds, or see \
             `cargo cora outcomes {0}`",
            socket.display()
        )));
    }
    let name = socket.display().to_string();
    Ok(Run { source: Source::Live, name, counts, seconds: elapsed, filling: up(&now) })
}

/// The counters of the run, if it is of this program and this plan.
fn look(socket: &Path, subject: &Subject) -> Result<Value, Failure> {
    let now = control::ask(socket, &json!({ "command": "snapshot" }), PATIENCE)?;
    is_snapshot(&now)?;
    is_of(&now["status"], socket, subject)?;
    Ok(now)
}

fn is_of(status: &Value, socket: &Path, subject: &Subject) -> Result<(), Failure> {
    let word = |name: &str| status[name].as_str().unwrap_or_default();
    let (shown, app) = (socket.display(), &subject.graph.app);
    if word("program") != app {
        return Err(Failure::Failed(format!(
            "the run at `{shown}` is of `{}`, and this package is `{app}`: name the package of the run",
            word("program")
        )));
    }
    if word("plan") != subject.hash {
        return Err(Failure::Failed(format!(
            "the run at `{shown}` has the plan {} ({}), and this package has {} ({}): give the plan that the run was \
             built with by --plan, check out the source that it was built from, or put this build in its place with \
             `cargo cora upgrade`",
            word("plan_name"),
            word("plan"),
            subject.placement.sides,
            subject.hash
        )));
    }
    Ok(())
}

/// Waits, and tells how long still.
fn wait(seconds: u64) {
    let mut progress = Progress::after(Duration::from_secs(1));
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        progress.tell(|| format!("counting: {} s left", left.as_secs() + 1));
        std::thread::sleep(left.min(Duration::from_millis(200)));
    }
}
