//! Why a command ends with another exit code than 0.

use std::fmt;
use std::process::ExitCode;

/// The failure of a command, and its kind.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command makes no sense as typed: exit code 2.
    Usage(String),
    /// It makes sense, and doesn't work out: exit code 1.
    Failed(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

/// The result of a command.
pub(crate) type Outcome = Result<ExitCode, Failure>;
