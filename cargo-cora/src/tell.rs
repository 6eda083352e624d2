//! Results to standard output. A reader may stop reading (`| head`): the rest is then dropped
//! quietly, and the command does its work all the same.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use crate::failure::Failure;

/// Writes the result as it is.
///
/// # Errors
/// When standard output takes nothing, though somebody would read it: a full disk.
pub(crate) fn tell(what: impl Display) -> Result<(), Failure> {
    is_heard(what).map(drop)
}

/// The same, for a result without an end. Returns whether somebody reads.
pub(crate) fn is_heard(what: impl Display) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    heard(write!(out, "{what}").and_then(|()| out.flush()))
}

/// The same, with the end of a line behind it.
pub(crate) fn tell_line(what: impl Display) -> Result<(), Failure> {
    tell(format_args!("{what}\n"))
}

fn heard(written: std::io::Result<()>) -> Result<bool, Failure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("standard output: {error}")))
        }
        written => Ok(written.is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reader_that_went_away_is_no_failure() {
        let failed = |kind: ErrorKind| heard(Err(kind.into()));
        assert!(matches!(heard(Ok(())), Ok(true)));
        assert!(matches!(failed(ErrorKind::BrokenPipe), Ok(false)));
        assert!(
            failed(ErrorKind::StorageFull).is_err_and(|why| why.to_string().contains("output"))
        );
    }
}
