//! The socket of a live run: a question is a line of JSON, and so is the answer.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;

/// Asks the run that listens there, and waits so long for its answer. An error is the run's own, or
/// that nobody answers.
pub(crate) fn ask(socket: &Path, question: &Value, patience: Duration) -> Result<Value, Failure> {
    let shown = socket.display();
    let failed = |error: std::io::Error| {
        Failure::Failed(format!(
            "{shown}: {error}; is it the `--control` path of a run with `--live`?"
        ))
    };
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(failed)?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|_| Failure::Failed(format!("{shown}: the run ended before it answered")))?;
    match answer["error"].as_str() {
        Some(why) => Err(Failure::Failed(why.to_owned())),
        None => Ok(answer),
    }
}
