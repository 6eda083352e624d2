//! `upgrade`: another build takes a live run's place, and its connections go on.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arguments::Upgrade;
use crate::control::ask;
use crate::failure::{Failure, Outcome};
use crate::tell::tell_line;

/// For an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Until both halves of the new program work.
const UNTIL_IT_WORKS: Duration = Duration::from_mins(1);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn run(arguments: &Upgrade) -> Outcome {
    let socket = arguments.control.as_path();
    let before = ask(socket, "status", PATIENCE)?;
    if let Some(program) = &arguments.program {
        put_in_place(socket, program, before["file"].as_str().unwrap_or_default().as_ref())?;
    }
    if arguments.check {
        let file = before["file"].as_str().unwrap_or_default();
        ask(socket, &format!("check {file}"), PATIENCE)?;
        tell_line(format_args!("{file} could take the place of the running program"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let start = Instant::now();
    ask(socket, "upgrade", PATIENCE)?;
    let after = wait_for(socket, before["upgrades"].as_u64().unwrap_or(0) + 1)?;
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

/// Puts the program under the name of the running one, if it can take its place.
fn put_in_place(socket: &Path, program: &Path, place: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::Failed(format!("{}: {error}", path.display()))
    };
    let program = fs::canonicalize(program).map_err(|error| failed(program, error))?;
    ask(socket, &format!("check {}", program.display()), PATIENCE)?;
    // Another file under the same name: that of the running program stays as it is.
    let fresh = place.with_extension(format!("new-{}", std::process::id()));
    fs::copy(&program, &fresh).map_err(|error| failed(&fresh, error))?;
    fs::rename(&fresh, place).map_err(|error| failed(place, error))
}

/// Waits until the program that was replaced for the `upgrades`th time works.
fn wait_for(socket: &Path, upgrades: u64) -> Result<Value, Failure> {
    let deadline = Instant::now() + UNTIL_IT_WORKS;
    loop {
        // Between the two programs nobody listens.
        let status = ask(socket, "status", PATIENCE);
        match status {
            Ok(status)
                if status["upgrades"].as_u64() >= Some(upgrades) && status["works"] == true =>
            {
                return Ok(status);
            }
            Err(error) if Instant::now() > deadline => return Err(error),
            _ if Instant::now() > deadline => {
                return Err(Failure::Failed(format!(
                    "the new program does not work after {} s; its messages stand on the run's standard error",
                    UNTIL_IT_WORKS.as_secs()
                )));
            }
            _ => std::thread::sleep(PAUSE),
        }
    }
}
