//! `configure`: a live run reads its configuration again; the command ends when it is in force.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::arguments::Configure;
use crate::control::ask;
use crate::failure::Outcome;
use crate::tell::tell_line;

/// A version is made and told within milliseconds, unless a half is away.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn run(arguments: &Configure) -> Outcome {
    let answer = ask(&arguments.control, &json!({ "command": "configure" }), PATIENCE)?;
    tell_line(format_args!("version {} is in force", answer["version"]))?;
    Ok(ExitCode::SUCCESS)
}
