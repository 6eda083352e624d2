//! Text on standard output and standard error, and the final state in a file.

use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use crate::RunError;
use crate::process::log;

/// Writes the final state to a file, as JSON.
pub(crate) fn write_state(path: &Path, state: &Value) -> Result<(), RunError> {
    let failed = |cause| RunError::File { path: path.into(), cause };
    let mut file = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    serde_json::to_writer_pretty(&mut file, state).map_err(|error| failed(error.into()))?;
    file.write_all(b"\n").and_then(|()| file.flush()).map_err(failed)
}

/// The stream for a command's text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Standard output.
    Standard,
    /// Standard output is used for packets.
    Error,
}

/// Prints a text on standard output.
pub(crate) fn print(text: &str) -> ExitCode {
    print_to(Output::Standard, text)
}

/// Prints a text.
pub(crate) fn print_to(to: Output, text: &str) -> ExitCode {
    let printed = match to {
        Output::Standard => writeln!(std::io::stdout(), "{}", text.trim_end()),
        Output::Error => writeln!(std::io::stderr(), "{}", text.trim_end()),
    };
    match printed {
        // A reader that closed the pipe (`| head`) is not a failure of the run; a full disk is.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(&format!("standard output: {error}"))
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Prints the reason of a failed command to standard error; returns the exit status.
pub fn fail(what: &str) -> ExitCode {
    log::last_words(format_args!("error: {what}"));
    ExitCode::FAILURE
}

/// The same for a wrong command line.
pub(crate) fn refuse(why: &str) -> ExitCode {
    let _printed = fail(why);
    ExitCode::from(2)
}
