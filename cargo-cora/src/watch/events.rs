//! `events`: what happened in a run, and what happens from now on.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, UNIX_EPOCH};

use cora_host::utc;
use cora_plan::number::grouped;
use serde_json::{Value, json};

use super::PATIENCE;
use super::text::{number, word};
use crate::arguments::Events;
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::tell::is_heard;

/// How often a run is asked whether there are more.
const EVERY: Duration = Duration::from_millis(200);
/// How long a run may not listen, since another build takes its place.
const AWAY: Duration = Duration::from_secs(10);
/// Begins a stream that goes on.
const LAST: u64 = 10;

pub(crate) fn run(arguments: &Events) -> Outcome {
    let Events { control, follow, last, json } = arguments;
    let mut next = page(control, 0, last.or(follow.then_some(LAST)))?;
    let (mut is_first, mut heard) = (true, Instant::now());
    loop {
        let is_empty = next["events"].as_array().is_none_or(Vec::is_empty);
        // Scripts get an object in any case.
        if (!is_empty || is_first && *json) && !shown(&next, *json, is_first)? {
            return Ok(ExitCode::SUCCESS);
        }
        is_first = false;
        if is_empty && !follow {
            return Ok(ExitCode::SUCCESS);
        }
        if is_empty {
            std::thread::sleep(EVERY);
        }
        match page(control, number(&next, "next"), None) {
            Ok(more) => (next, heard) = (more, Instant::now()),
            Err(why) if !follow || heard.elapsed() > AWAY => return Err(why),
            // Another build may be about to listen.
            Err(_) => next["events"] = json!([]),
        }
    }
}

/// The events behind the one with this number, or the newest.
pub(super) fn page(control: &Path, after: u64, last: Option<u64>) -> Result<Value, Failure> {
    let question = json!({ "command": "events", "after": after, "last": last });
    control::ask(control, &question, PATIENCE)
}

/// Prints a page. Returns whether anybody reads.
fn shown(page: &Value, json: bool, is_first: bool) -> Result<bool, Failure> {
    if json { is_heard(format_args!("{page}\n")) } else { is_heard(text(page, is_first)) }
}

fn text(page: &Value, is_first: bool) -> String {
    let missed = match (number(page, "missed"), is_first) {
        (0, _) => String::new(),
        (missed, true) => format!("({} earlier events are not kept any more)\n", grouped(missed)),
        (missed, false) => format!("({} events are missing here)\n", grouped(missed)),
    };
    let events = page["events"].as_array().into_iter().flatten();
    missed + &events.map(|event| line(event) + "\n").collect::<String>()
}

/// An event as the log has it.
fn line(event: &Value) -> String {
    // A text of many lines stays one event.
    let text = word(event, "text").replace('\n', "\n    ");
    format!("{} {}{text}", time(event), about(event))
}

/// The same for a view that has room for a line, and is of now.
pub(super) fn line_without_date(event: &Value) -> String {
    let (time, text) = (time(event), word(event, "text"));
    // Behind the date and `T`, up to the second.
    let time = time.get(11..19).unwrap_or(&time);
    format!("{time} {}{}", about(event), text.lines().next().unwrap_or_default())
}

fn time(event: &Value) -> String {
    let when = UNIX_EPOCH.checked_add(Duration::from_millis(number(event, "time")));
    utc(when.unwrap_or(UNIX_EPOCH))
}

fn about(event: &Value) -> String {
    format!("{:<5} {}: ", word(event, "level"), word(event, "part"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_as_in_the_log_and_missing_ones_are_told() {
        let mut page = json!({ "missed": 1200, "next": 2, "events": [
            { "number": 1201, "time": 1_777_593_600_123_u64, "level": "warn", "part": "nic",
                "text": "a panic\nin a handler" },
        ] });
        let line = "2026-05-01T00:00:00.123Z warn  nic: a panic\n    in a handler\n";
        let told = format!("(1,200 earlier events are not kept any more)\n{line}");
        assert_eq!(text(&page, true), told);
        assert!(text(&page, false).starts_with("(1,200 events are missing here)\n"));
        page["missed"] = 0.into();
        assert_eq!(text(&page, true), line);
    }
}
