//! `cargo xtask test`: the tests, in steps, and a table of how they went.
//!
//! | command | steps that run |
//! | --- | --- |
//! | `cargo xtask test` | tier `quick`; a step that passed on the same inputs is left out |
//! | `cargo xtask test --all` | all steps: before an issue is resolved |
//! | `cargo xtask test --only NAME` | one step |
//! | `cargo xtask test --list [--json]` | the steps: name, tier, the property that each checks |
//!
//! | module | concept |
//! | --- | --- |
//! | [`plan`] | which steps there are, and which run beside each other |
//! | [`steps`] | the commands of each |
//! | [`unchanged`] | which of them passed on the same inputs |
//! | [`harness`] | the output of test harnesses, counted |
//! | [`table`] | how the steps went |

mod harness;
mod plan;
mod steps;
mod table;
mod unchanged;

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use harness::Tests;
use plan::{PHASES, Step, Tier};
use table::Taken;

/// How a step went.
enum Verdict {
    Done(Tests),
    /// It passed on the same inputs before.
    Unchanged,
    Failed(Tests, String),
}

impl Verdict {
    /// A step without a test harness is one test itself.
    fn of(outcome: Result<(), String>) -> Self {
        match outcome {
            Ok(()) => Self::Done(Tests { passed: 1, ..Tests::default() }),
            Err(why) => Self::Failed(Tests { failed: 1, ..Tests::default() }, why),
        }
    }

    /// Of two commands of one step: both must end well.
    fn and(self, next: impl FnOnce() -> Self) -> Self {
        match (self, next()) {
            (Self::Unchanged, other) | (other, Self::Unchanged) => other,
            (Self::Done(first), Self::Done(second)) => Self::Done(first.plus(second)),
            (Self::Done(first), Self::Failed(second, why))
            | (Self::Failed(first, why), Self::Done(second)) => {
                Self::Failed(first.plus(second), why)
            }
            (Self::Failed(first, one), Self::Failed(second, other)) => {
                Self::Failed(first.plus(second), format!("{one}; {other}"))
            }
        }
    }
}

/// Runs the command, with the words behind its name.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => run_steps(Again::IfChanged, |step| step.tier == Tier::Quick),
        ["--all"] => run_steps(Again::Always, |_| true),
        ["--list"] => list(table::listed),
        ["--list", "--json"] | ["--json", "--list"] => list(table::listed_as_json),
        ["--only", name] => {
            if plan::steps().any(|step| step.name == name) {
                return run_steps(Again::Always, |step| step.name == name);
            }
            let names: Vec<&str> = plan::steps().map(|step| step.name).collect();
            eprintln!("error: there is no step `{name}`: say one of {}", names.join(", "));
            ExitCode::from(2)
        }
        _ => {
            eprintln!("usage: cargo xtask test [--all | --only STEP | --list [--json]]");
            ExitCode::from(2)
        }
    }
}

fn list(shown: fn() -> String) -> ExitCode {
    print!("{}", shown());
    ExitCode::SUCCESS
}

/// Whether a step runs that passed on the same inputs.
#[derive(Clone, Copy)]
enum Again {
    Always,
    IfChanged,
}

/// Runs the wanted steps, phase by phase. A step that fails stops none of the others.
fn run_steps(again: Again, wanted: impl Fn(&Step) -> bool + Sync) -> ExitCode {
    let begun = Instant::now();
    let mut taken = Vec::new();
    for lanes in PHASES {
        taken.extend(thread::scope(|scope| {
            let lanes: Vec<_> = lanes
                .iter()
                .map(|lane| {
                    let steps = lane.iter().filter(|step| wanted(step));
                    scope.spawn(move || steps.map(|step| take(step, again)).collect::<Vec<_>>())
                })
                .collect();
            // A step tells how it failed; one that panics takes the run with it.
            let ended = lanes.into_iter().flat_map(|lane| lane.join().expect("no step panics"));
            ended.collect::<Vec<_>>()
        }));
    }
    if table::summary(&taken, begun.elapsed()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn take(step: &Step, again: Again) -> Taken {
    eprintln!("\n== {}: {}", step.name, step.checks);
    let begun = Instant::now();
    let verdict = outcome(step, again);
    if let Verdict::Failed(_, why) = &verdict {
        eprintln!("FAILED, {}: {why}", step.name);
    }
    Taken { name: step.name, verdict, time: begun.elapsed() }
}

/// Runs the step, unless it passed on the same inputs. They are read before it runs: a file that is
/// edited meanwhile counts as changed.
fn outcome(step: &Step, again: Again) -> Verdict {
    let inputs = unchanged::fingerprint(step.inputs);
    if let (Again::IfChanged, Some(inputs)) = (again, &inputs)
        && unchanged::passed(step.name, inputs)
    {
        return Verdict::Unchanged;
    }
    let verdict = (step.run)();
    let passed = matches!(verdict, Verdict::Done(_));
    unchanged::keep(step.name, inputs.as_deref().filter(|_| passed));
    verdict
}
