//! What a live run is asked at its control socket.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// An answer comes well before this.
const LIMIT: Duration = Duration::from_secs(25);

/// What the run at this socket answers; `None` while nobody does.
pub fn ask(socket: &Path, request: &str) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(LIMIT)).ok()?;
    stream.write_all(format!("{request}\n").as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}
