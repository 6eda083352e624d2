//! `cargo xtask test`: the tests, in steps, and a table of how they went.
//!
//! | command | what runs |
//! | --- | --- |
//! | `cargo xtask test` | the steps of tier `quick`: what `.ci/run` calls, in a quarter of an hour |
//! | `cargo xtask test --all` | all steps: before an issue is resolved |
//! | `cargo xtask test --only NAME` | one step |
//! | `cargo xtask test --list [--json]` | the steps: name, tier, what each checks |
//!
//! | module | concept |
//! | --- | --- |
//! | [`plan`] | which steps there are, and which run beside each other |
//! | [`steps`] | what each does |
//! | [`harness`] | what test harnesses print, counted |
//! | [`table`] | how the steps went |

mod harness;
mod plan;
mod steps;
mod table;

use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use harness::Tests;
use plan::{PHASES, Step, Tier};
use table::Taken;

/// How a step went.
enum Verdict {
    Done(Tests),
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
}

/// Runs the command, with the words behind its name.
pub(crate) fn run(words: &[String]) -> ExitCode {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => run_steps(|step| step.tier == Tier::Quick),
        ["--all"] => run_steps(|_| true),
        ["--list"] => list(table::listed),
        ["--list", "--json"] | ["--json", "--list"] => list(table::listed_as_json),
        ["--only", name] => {
            if plan::steps().any(|step| step.name == name) {
                return run_steps(|step| step.name == name);
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

/// Runs the wanted steps, phase by phase. A step that fails stops none of the others.
fn run_steps(wanted: impl Fn(&Step) -> bool + Sync) -> ExitCode {
    let begun = Instant::now();
    let mut taken = Vec::new();
    for lanes in PHASES {
        taken.extend(thread::scope(|scope| {
            let lanes: Vec<_> = lanes
                .iter()
                .map(|lane| {
                    let steps = lane.iter().filter(|step| wanted(step));
                    scope.spawn(|| steps.map(take).collect::<Vec<_>>())
                })
                .collect();
            // A step tells how it failed; one that panics takes the run with it.
            let ended = lanes.into_iter().flat_map(|lane| lane.join().expect("no step panics"));
            ended.collect::<Vec<_>>()
        }));
    }
    if table::summary(&taken, begun.elapsed()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn take(step: &Step) -> Taken {
    eprintln!("\n== {}: {}", step.name, step.checks);
    let begun = Instant::now();
    let verdict = (step.run)();
    if let Verdict::Failed(_, why) = &verdict {
        eprintln!("FAILED, {}: {why}", step.name);
    }
    Taken { name: step.name, verdict, time: begun.elapsed() }
}
