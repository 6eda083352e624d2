//! The option for the controller of a run.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The controller requested by the option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// None: flows move according to the plan.
    #[default]
    Plan,
    /// The adaptive controller, with a log in this file.
    Adapt(Option<PathBuf>),
    /// A [named](crate::NamedController) one, with its argument.
    Named(String, String),
}

impl Moves {
    /// The seed, if flows or buckets are to move by chance.
    pub(crate) fn by_chance(&self) -> Option<u64> {
        match self {
            Self::Named(name, seed) if name == "random" => seed.parse().ok(),
            Self::Plan | Self::Adapt(_) | Self::Named(..) => None,
        }
    }
}

impl fmt::Display for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => write!(f, "plan"),
            Self::Adapt(None) => write!(f, "adapt"),
            Self::Adapt(Some(log)) => write!(f, "adapt:{}", log.display()),
            Self::Named(name, argument) => write!(f, "{name}:{argument}"),
        }
    }
}

impl FromStr for Moves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "plan" => Ok(Self::Plan),
            None if text == "adapt" => Ok(Self::Adapt(None)),
            Some(("adapt", log)) if !log.is_empty() => Ok(Self::Adapt(Some(log.into()))),
            Some((name, argument)) if !name.is_empty() && name != "adapt" => {
                Ok(Self::Named(name.into(), argument.into()))
            }
            _ => Err(format!(
                "there is no controller `{text}`; say plan, adapt, or adapt:FILE for a log of its decisions"
            )),
        }
    }
}
