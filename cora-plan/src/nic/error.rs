//! Faults of a NIC profile.

use std::path::PathBuf;

use thiserror::Error;

use super::NicProfile;
use crate::nearest::choose;
use crate::toml::Fault;

/// A fault of a NIC profile, or of its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// It is not TOML, or has wrong keys, types or numbers.
    #[error(transparent)]
    Document(#[from] Fault),
    /// A number without a source.
    #[error("`{key}` has no source")]
    NoSource {
        /// Key of the number.
        key: String,
        /// Line.
        line: usize,
    },
    /// A number with several sources.
    #[error("`{key}` has {count} sources")]
    ManySources {
        /// Key of the number.
        key: String,
        /// Their number.
        count: usize,
        /// Line.
        line: usize,
    },
    /// Cores without any cache.
    #[error("{tier} has no cache")]
    NoCache {
        /// The cores' table.
        tier: String,
        /// Its first line.
        line: usize,
    },
    /// A cache, or the memory behind all of them, that is not above the cache before it.
    #[error("`{key} = {found}` is not above the {before} of the cache before it")]
    NotAbove {
        /// Key of the number.
        key: String,
        /// The number.
        found: String,
        /// The number of the cache before it.
        before: String,
        /// Line.
        line: usize,
    },
    /// Neither a built-in profile's name nor a file.
    #[error("there is no NIC profile `{name}`")]
    NoProfile {
        /// The name.
        name: String,
    },
    /// A file that can't be read.
    #[error("`{}` can't be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Message of the operating system.
        cause: String,
    },
}

impl ProfileError {
    /// Line of the file, from 1, if the fault has one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Document(fault) => Some(fault.line()),
            Self::NoSource { line, .. }
            | Self::ManySources { line, .. }
            | Self::NoCache { line, .. }
            | Self::NotAbove { line, .. } => Some(*line),
            Self::NoProfile { .. } | Self::Unreadable { .. } => None,
        }
    }

    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::Document(fault) => fault.cure(),
            Self::NoSource { .. } => "say where the number is from: `{ value = …, measured = \"how\" }`, or `published`, \
                                      `derived`, `assumed`"
                .to_owned(),
            Self::ManySources { .. } => "keep the one that the number is from".to_owned(),
            Self::NoCache { tier, .. } => format!(
                "write at least one `[[{}.cache]]` with `bytes`, `latency_ns` and `shared_by`",
                tier.trim_matches(['`', '[', ']'])
            ),
            Self::NotAbove { .. } => {
                "write the caches in order, the nearest first: sizes and latencies rise".to_owned()
            }
            Self::NoProfile { name } => {
                let known: Vec<&str> = NicProfile::names().collect();
                format!("{} (a file's path has a `/`, or ends in `.toml`)", choose(name, &known))
            }
            Self::Unreadable { .. } => "name a file that is there and is yours to read".to_owned(),
        }
    }
}
