//! `tap`: copies of packets, as a capture.
//!
//! The run writes the file. Standard output is a pipe with a name, which the run opens as a file;
//! this command passes on what comes.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::Duration;

use cora_plan::number::grouped;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::text::{each, number};
use crate::arguments::{Packets, Tap};
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

/// How long a run may take beside the seconds of the tap.
const PATIENCE: Duration = Duration::from_secs(20);

/// Taps, and waits for the end.
pub(crate) fn run(arguments: &Tap) -> Outcome {
    let Tap { control, points, out, packets, every, snap, limit, seconds, json } = arguments;
    let Packets { net, port, protocol } = packets;
    let to_stdout = out == Path::new("-");
    let pipe = if to_stdout { Some(Pipe::begin()?) } else { None };
    let file = match &pipe {
        Some(pipe) => pipe.path.clone(),
        None => std::path::absolute(out).map_err(|error| failed(out, &error))?,
    };
    let question = json!({
        "command": "tap", "file": file, "points": points, "net": net, "port": port,
        "protocol": protocol, "every": every, "snap": snap, "limit": limit, "seconds": seconds,
    });
    let answer = control::ask(control, &question, Duration::from_secs(*seconds) + PATIENCE);
    if let Some(pipe) = pipe {
        pipe.end(answer.is_ok())?;
    }
    let answer = answer?;
    if to_stdout {
        eprint!("{}", lines(&answer));
    } else if *json {
        tell_line(&answer)?;
    } else {
        tell(lines(&answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(answer: &Value) -> String {
    let mut text = format!("{} records written\n", grouped(number(answer, "written")));
    for (point, packets) in each(&answer["packets"]) {
        // Text in memory takes anything.
        let _written = writeln!(text, "  {point:<10} {}", grouped(packets.as_u64().unwrap_or(0)));
    }
    text + &not_told(answer)
}

/// What of a tap or a trace is not told, and why.
pub(super) fn not_told(answer: &Value) -> String {
    let mut text = String::new();
    for (count, what) in [
        ("missed", "records found no room on their way"),
        ("passed_by", "packets or more were passed by: the side was too busy to look at all"),
    ] {
        let number = number(answer, count);
        if number > 0 {
            // Text in memory takes anything.
            let _written = writeln!(text, "{} {what}", grouped(number));
        }
    }
    text
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// A pipe with a name, of which a thread copies all to standard output.
struct Pipe {
    path: PathBuf,
    _room: tempfile::TempDir,
    copies: JoinHandle<io::Result<u64>>,
}

impl Pipe {
    fn begin() -> Result<Self, Failure> {
        let room = tempfile::tempdir().map_err(|error| failed(Path::new("-"), &error))?;
        let path = room.path().join("tap");
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &path, FileType::Fifo, mode, 0).map_err(|error| failed(&path, &error))?;
        let from = path.clone();
        let copies = std::thread::spawn(move || {
            // Opened once the run opens it, or this command gives up.
            io::copy(&mut File::open(from)?, &mut io::stdout().lock())
        });
        Ok(Self { path, _room: room, copies })
    }

    /// Waits until all is copied.
    fn end(self, was_written: bool) -> Result<(), Failure> {
        if !was_written {
            // Nobody may have opened it: then the thread still waits for that.
            let _opened = File::options().write(true).open(&self.path);
        }
        match self.copies.join() {
            Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(failed(Path::new("standard output"), &error))
            }
            _ => Ok(()),
        }
    }
}
