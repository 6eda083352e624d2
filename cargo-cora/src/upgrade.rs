//! `upgrade`: another build takes a live run's place, and its connections go on.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arguments::Upgrade;
use crate::control::ask;
use crate::failure::{Failure, Outcome};
use crate::tell::tell_line;

/// For an answer, which may be that the new program shows first that it can.
const PATIENCE: Duration = Duration::from_secs(40);
/// Until both halves of the new program work.
const UNTIL_IT_WORKS: Duration = Duration::from_mins(1);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn run(arguments: &Upgrade) -> Outcome {
    let socket = arguments.control.as_path();
    let status = json!({ "command": "status" });
    let before = ask(socket, &status, PATIENCE)?;
    let place = before["file"].as_str().unwrap_or_default();
    if arguments.check {
        return check(socket, arguments.program.as_deref().unwrap_or(place.as_ref()));
    }
    if let Some(program) = &arguments.program {
        put_in_place(socket, program, place.as_ref(), arguments.drop_connections)?;
    }
    let start = Instant::now();
    let upgrade = json!({ "command": "upgrade", "drop_connections": arguments.drop_connections });
    ask(socket, &upgrade, PATIENCE)?;
    let after = wait_for(socket, &before)?;
    let took = start.elapsed().as_millis();
    let word = |status: &Value, name: &str| match &status[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    tell_line(format_args!(
        "{}: plan {} took the place of {} within {took} ms; {} durable entries carried over; version {} of the \
         configuration",
        word(&after, "program"),
        word(&after, "plan"),
        word(&before, "plan"),
        word(&after, "carried"),
        word(&after, "version"),
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Only says whether the program in this file could.
fn check(socket: &Path, program: &Path) -> Outcome {
    let dropped = ask_about(socket, program)?;
    let note = dropped.map(|dropped| format!("; {}", sentence(&dropped))).unwrap_or_default();
    let program = program.display();
    tell_line(format_args!("{program} could take the place of the running program{note}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the program in this file could take the running one's place; the states of which all
/// entries would be lost, if there are any.
fn ask_about(socket: &Path, program: &Path) -> Result<Option<String>, Failure> {
    let program = fs::canonicalize(program).map_err(|error| failed(program, &error))?;
    let answer = ask(socket, &json!({ "command": "check", "program": program }), PATIENCE)?;
    let dropped = answer["drops"].as_array().map(Vec::as_slice).unwrap_or_default();
    let dropped: Vec<&str> = dropped.iter().filter_map(Value::as_str).collect();
    Ok((!dropped.is_empty()).then(|| dropped.join("`, `")))
}

fn sentence(dropped: &str) -> String {
    format!("all entries of `{dropped}` would be lost, which takes --drop-connections")
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Puts the program under the name of the running one, if it can take its place.
fn put_in_place(socket: &Path, program: &Path, place: &Path, drops: bool) -> Result<(), Failure> {
    if let Some(dropped) = ask_about(socket, program)?.filter(|_| !drops) {
        return Err(Failure::Failed(sentence(&dropped)));
    }
    // Another file under the same name: that of the running program stays as it is.
    let fresh = place.with_extension(format!("new-{}", std::process::id()));
    fs::copy(program, &fresh).map_err(|error| failed(&fresh, &error))?;
    fs::rename(&fresh, place).map_err(|error| failed(place, &error))
}

/// Waits until the program works that takes the place of one with this status.
fn wait_for(socket: &Path, before: &Value) -> Result<Value, Failure> {
    let deadline = Instant::now() + UNTIL_IT_WORKS;
    let number = |status: &Value, name: &str| status[name].as_u64().unwrap_or(0);
    loop {
        // Between the two programs nobody listens.
        let status = ask(socket, &json!({ "command": "status" }), PATIENCE);
        match status {
            Ok(status) if status["works"] == true => {
                if number(&status, "upgrades") > number(before, "upgrades") {
                    return Ok(status);
                }
                if number(&status, "generation") > number(before, "generation") {
                    return Err(Failure::Failed(
                        "the new program could not go on, and the one before is back; why stands on the run's standard \
                         error"
                            .into(),
                    ));
                }
            }
            Err(error) if Instant::now() > deadline => return Err(error),
            _ => {}
        }
        if Instant::now() > deadline {
            return Err(Failure::Failed(format!(
                "the new program does not work after {} s; its messages stand on the run's standard error",
                UNTIL_IT_WORKS.as_secs()
            )));
        }
        std::thread::sleep(PAUSE);
    }
}
