//! Faults of a traffic profile, or of its name.

use thiserror::Error;

use super::builtin::BUILTIN;
use crate::nearest::{choose, nearest};
use crate::toml::Fault;

/// A fault in a profile's file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileFault {
    /// A wrong key, type or range.
    #[error(transparent)]
    Written(#[from] Fault),
    /// Parts with a wrong sum.
    #[error("{what} make {sum}")]
    Sum {
        /// The summands.
        what: String,
        /// Their sum.
        sum: String,
        /// The expected sum.
        wanted: String,
        /// Line.
        line: usize,
    },
    /// Two classes with one name.
    #[error("there are two classes `{name}` under `{key}`")]
    Twice {
        /// The name.
        name: String,
        /// The key of their table.
        key: String,
        /// Line of the second.
        line: usize,
    },
    /// A key that can't be the name of a type.
    #[error("`{key}` is not the name of a type")]
    Key {
        /// The key.
        key: String,
        /// Line.
        line: usize,
    },
    /// A duration of flows in a profile with a fixed number of them.
    #[error("`seconds` says how long flows last, but nothing says at which rate there are so many")]
    Untimed {
        /// Line.
        line: usize,
    },
    /// A bin that is not a pair.
    #[error("a bin has {found} numbers")]
    Pair {
        /// Its length.
        found: usize,
        /// Line.
        line: usize,
    },
}

impl ProfileFault {
    /// Line of the file, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Written(fault) => fault.line(),
            Self::Sum { line, .. }
            | Self::Twice { line, .. }
            | Self::Key { line, .. }
            | Self::Untimed { line }
            | Self::Pair { line, .. } => *line,
        }
    }

    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::Written(fault) => fault.cure(),
            Self::Sum { wanted, .. } => format!("make them {wanted}, to a millionth"),
            Self::Twice { .. } => "give each class a name of its own".to_owned(),
            Self::Key { .. } => "write one such as `FiveTuple` or `SourceAddress`".to_owned(),
            Self::Untimed { .. } => {
                "write `mpps = …` below `mean-bytes`, the rate at which flows at a time were \
                                     counted, in million packets a second, or take `seconds` away"
                    .to_owned()
            }
            Self::Pair { .. } => "write two: `[flows, share]`".to_owned(),
        }
    }
}

/// The reason that there is no profile of a name, or in a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// There is neither a built-in profile nor a file.
    #[error("there is no traffic profile `{name}`, nor a file of that name; {}", among(name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// Faults in the parameters after the colon of a built-in profile's name.
    #[error("traffic profile `{name}`: {}", .why.join("; "))]
    Parameters {
        /// The whole name.
        name: String,
        /// All faults with their remedies.
        why: Vec<String>,
    },
    /// A file that can't be read.
    #[error("the traffic profile `{path}` can't be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// Message of the operating system.
        why: String,
    },
    /// A file with faults.
    #[error("{}", listed(path, faults))]
    Faulty {
        /// The file.
        path: String,
        /// The faults.
        faults: Vec<ProfileFault>,
    },
}

fn among(name: &str) -> String {
    let word = name.split(':').next().unwrap_or(name);
    match nearest(word, BUILTIN) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{}, or the path of a TOML file", choose(word, &BUILTIN)),
    }
}

/// One fault a line: `campus.toml:12: shares make 1.2; make them 1, to a millionth`.
fn listed(path: &str, faults: &[ProfileFault]) -> String {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("{path}:{}: {fault}; {}", fault.line(), fault.cure()))
        .collect();
    lines.join("\n")
}
