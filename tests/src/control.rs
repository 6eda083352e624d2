//! Requests to the control socket of a live run.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// Upper bound on the time of an answer.
const LIMIT: Duration = Duration::from_secs(25);

/// Returns the answer of the run at this socket; `None` if nothing listens there. A request is a
/// command, with `drop-connections`, a program's file or the log's levels behind it.
pub fn ask(socket: &Path, request: &str) -> Option<Value> {
    let (command, rest) = request.split_once(' ').unwrap_or((request, ""));
    let request = match (command, rest) {
        ("upgrade", "drop-connections") => json!({ "command": command, "drop_connections": true }),
        ("log", levels) if !levels.is_empty() => json!({ "command": command, "levels": levels }),
        ("check", program) => json!({ "command": command, "program": program }),
        _ => json!({ "command": command }),
    };
    ask_for(socket, &request)
}

/// Returns the answer to this request; `None` if nothing listens there.
pub fn ask_for(socket: &Path, request: &Value) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    stream.write_all(format!("{request}\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
