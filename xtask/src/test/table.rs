//! How the steps went, and which there are.

use std::fmt::Write as _;
use std::time::Duration;

use super::Verdict;
use super::harness::Tests;
use super::plan::steps;

/// A step that ran.
pub(super) struct Taken {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) time: Duration,
}

/// Prints the table, and below it the one line for whoever reads no tables; whether all went well.
pub(super) fn summary(taken: &[Taken], whole: Duration) -> bool {
    let mut all = Tests::default();
    println!();
    for Taken { name, verdict, time } in taken {
        let (tests, word) = match verdict {
            Verdict::Done(tests) => (*tests, "passed".to_owned()),
            Verdict::Unchanged => {
                (Tests::default(), "passed before, on the same inputs".to_owned())
            }
            Verdict::Failed(tests, why) => (*tests, format!("FAILED: {why}")),
        };
        println!("{name:<16} {:>7.1} s {:>5}  {word}", time.as_secs_f32(), tests.passed);
        all = all.plus(tests);
    }
    println!("{:<16} {:>7.1} s", "in all", whole.as_secs_f32());
    println!("{} passed, {} failed, {} skipped", all.passed, all.failed, all.skipped);
    let unchanged = taken.iter().any(|step| matches!(step.verdict, Verdict::Unchanged));
    all.failed == 0 && (all.passed > 0 || unchanged)
}

/// The steps, one a line.
pub(super) fn listed() -> String {
    let mut text = String::new();
    for step in steps() {
        let _infallible =
            writeln!(text, "{:<16} {:<6} {}", step.name, step.tier.name(), step.checks);
    }
    text
}

/// The steps as JSON: an array of objects.
pub(super) fn listed_as_json() -> String {
    let rows: Vec<String> = steps()
        .map(|step| {
            // Strings of plain ASCII are written in JSON as in Rust; a test holds that they are.
            let (name, tier, checks) = (step.name, step.tier.name(), step.checks);
            format!("  {{\"name\": {name:?}, \"tier\": {tier:?}, \"checks\": {checks:?}}}")
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

#[test]
fn names_differ_and_all_is_plain_text() {
    let mut names: Vec<&str> = steps().map(|step| step.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    let plain = |text: &str| text.chars().all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\');
    assert!(steps().all(|step| plain(step.name) && plain(step.checks)));
}
