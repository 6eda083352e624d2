//! What can be wrong with a traffic profile, or with the name that asks for one.

use thiserror::Error;

use super::builtin::BUILTIN;
use crate::document::Fault;
use crate::nearest::{choose, nearest};

/// What a profile's file says wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileFault {
    /// Wrong in itself: a key, a type, a range.
    #[error(transparent)]
    Written(#[from] Fault),
    /// Parts that don't make their whole.
    #[error("{what} make {sum}")]
    Sum {
        /// What was added up.
        what: String,
        /// What they make.
        sum: String,
        /// What they should make.
        wanted: String,
        /// Line.
        line: usize,
    },
    /// Two classes of one name.
    #[error("there are two classes `{name}` under `{key}`")]
    Twice {
        /// The name.
        name: String,
        /// The key whose classes they are.
        key: String,
        /// Line of the second.
        line: usize,
    },
    /// A key that no type can be called.
    #[error("`{key}` is not the name of a type")]
    Key {
        /// The key.
        key: String,
        /// Line.
        line: usize,
    },
    /// A bin that is no pair.
    #[error("a bin has {found} numbers")]
    Pair {
        /// How many there are.
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
            | Self::Pair { line, .. } => *line,
        }
    }

    /// What would be right.
    pub fn cure(&self) -> String {
        match self {
            Self::Written(fault) => fault.cure(),
            Self::Sum { wanted, .. } => format!("make them {wanted}, to a millionth"),
            Self::Twice { .. } => "give each class a name of its own".to_owned(),
            Self::Key { .. } => "write one such as `FiveTuple` or `SourceAddress`".to_owned(),
            Self::Pair { .. } => "write two: `[flows, share]`".to_owned(),
        }
    }
}

/// Why there is no profile of a name, or in a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// No built-in profile and no file.
    #[error("there is no traffic profile `{name}`, nor a file of that name; {}", among(name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// What stands behind the colon of a built-in profile's name.
    #[error("traffic profile `{name}`: {}", .why.join("; "))]
    Parameters {
        /// The whole name.
        name: String,
        /// Everything that is wrong, and what would be right.
        why: Vec<String>,
    },
    /// A file that can't be read.
    #[error("the traffic profile `{path}` can't be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        why: String,
    },
    /// A file that says something wrong.
    #[error("{}", listed(path, faults))]
    Faulty {
        /// The file.
        path: String,
        /// What is wrong.
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

/// A fault a line: `campus.toml:12: shares make 1.2; make them 1, to a millionth`.
fn listed(path: &str, faults: &[ProfileFault]) -> String {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("{path}:{}: {fault}; {}", fault.line(), fault.cure()))
        .collect();
    lines.join("\n")
}
