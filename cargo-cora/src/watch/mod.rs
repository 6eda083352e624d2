//! What a live run does: `status`, `outcomes`, `tables`, `values`, `flows`, `flow`, `tap`, `trace`,
//! `top`, `log` and `events`, by its control socket.
//!
//! | module | contents |
//! | --- | --- |
//! | `events` | events, and the wait for more |
//! | `text` | answers as lines for people |
//! | `flows` | entries of tables, and orders for flows |
//! | `rates` | what changed between two snapshots |
//! | `tap` | copies of packets |
//! | `trace` | packets on their way |
//! | `made` | a packet as a line of text |
//! | `screen` | the live view |
//! | `top` | the loop of the live view |

mod events;
mod flows;
mod made;
mod rates;
mod screen;
mod tap;
mod text;
mod top;
mod trace;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::arguments::{Log, Watch};
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

pub(crate) use events::run as events;
pub(crate) use flows::{flow, flows};
pub(crate) use tap::run as tap;
pub(crate) use top::run as top;
pub(crate) use trace::run as trace;

/// A run answers between two bursts.
const PATIENCE: Duration = Duration::from_secs(10);

/// `status`: the program, and whether both halves work.
pub(crate) fn status(arguments: &Watch) -> Outcome {
    shown(arguments, "status", text::status)
}

/// `outcomes`: what became of the packets so far.
pub(crate) fn outcomes(arguments: &Watch) -> Outcome {
    shown(arguments, "outcomes", text::outcomes)
}

/// `tables`: how full each table is.
pub(crate) fn tables(arguments: &Watch) -> Outcome {
    shown(arguments, "tables", text::tables)
}

/// `values`: states without keys.
pub(crate) fn values(arguments: &Watch) -> Outcome {
    shown(arguments, "values", text::values)
}

/// `log`: the level of each part of the run, which this may change.
pub(crate) fn log(arguments: &Log) -> Outcome {
    let request = json!({ "command": "log", "levels": arguments.levels });
    let answer = control::ask(&arguments.control, &request, PATIENCE)?;
    told(&answer, arguments.json, text::log)
}

fn shown(arguments: &Watch, command: &str, text: impl FnOnce(&Value) -> String) -> Outcome {
    told(&asked(&arguments.control, command)?, arguments.json, text)
}

fn told(answer: &Value, json: bool, text: impl FnOnce(&Value) -> String) -> Outcome {
    if json {
        tell_line(answer)?;
    } else {
        tell(text(answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn asked(socket: &Path, command: &str) -> Result<Value, Failure> {
    control::ask(socket, &json!({ "command": command }), PATIENCE)
}
