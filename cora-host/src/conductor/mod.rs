//! Who decides which flows move while traffic runs, beside the plan.
//!
//! ```text
//! worker ── Observation ──→ conductor ── Order… ──→ worker
//! ```
//!
//! | module | who |
//! | --- | --- |
//! | [`adaptive`] | a controller that learns what packets and moves cost |
//! | `random` | chance, to test that results depend on no schedule |
//!
//! | module | what stands beside them |
//! | --- | --- |
//! | `conducted` | when a conductor is asked, and that it is obeyed |
//! | `ledger` | which flows changed sides, by the messages that say so |
//! | [`Drift`] | what things cost, against what was expected |
//! | `log` | what the controller saw and decided |
//! | [`replay()`] | a log, decided anew |

pub mod adaptive;
mod conducted;
mod drift;
mod ledger;
mod log;
mod random;
mod replay;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use cora_core::app::{App, Sides};
use cora_core::migration::Order;
use cora_core::monitor::{Load, Talker};

pub use adaptive::Adaptive;
pub use drift::Drift;
pub use replay::{Decided, ReplayError, Replayed, replay};

use crate::RunError;
use adaptive::{Gauge, Settings};
pub(crate) use conducted::Conducted;
pub use ledger::Ledger;
use random::RandomMoves;

/// What is known of one side's load.
#[derive(Clone, Debug)]
pub struct Seen<K> {
    /// Counts since the beginning, and how full it is; `None` when it told nothing yet.
    pub load: Option<Load>,
    /// The flows with most packets of late, sampled one in [`SAMPLED`](cora_core::monitor::SAMPLED), in no order.
    pub talkers: Vec<Talker<K>>,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Self { load: None, talkers: Vec::new() }
    }
}

/// What is known of both sides' load.
#[derive(Clone, Debug)]
pub struct Observation<K> {
    /// The host, now.
    pub host: Seen<K>,
    /// The NIC, as it told last.
    pub nic: Seen<K>,
    /// Flows that changed sides since the last observation, in order, as far as that is known.
    pub moved: Vec<Move<K>>,
}

/// A flow changed sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move<K> {
    /// Its group key.
    pub flow: K,
    /// To the NIC, or back.
    pub to_nic: bool,
}

/// Decides which flows move.
pub trait Conductor<K> {
    /// After which time it wants to be asked next, and how often loads are told from now on.
    fn period(&self) -> Duration;

    /// What should be done, by what is seen.
    fn conduct(&mut self, seen: &Observation<K>) -> Vec<Order<K>>;

    /// How much the sides have to do, for somebody who watches; `None` if it doesn't know.
    fn gauge(&self) -> Option<Gauge> {
        None
    }

    /// What things cost, against what was expected; `None` if it learns nothing.
    fn drift(&self) -> Option<Drift> {
        None
    }

    /// The run ends. An error when a log could not be written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Which conductor a run has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// None: flows move as the plan says.
    #[default]
    Plan,
    /// Chance, from this seed.
    Random(u64),
    /// The controller, with a log in this file.
    Adapt(Option<PathBuf>),
}

impl Moves {
    /// The conductor of a pair; `plan` is the plan's JSON. A plan under which nothing moves needs none.
    ///
    /// # Errors
    /// When the log can't be written.
    pub fn conductor<A: App>(
        &self,
        plan: &str,
        pair: usize,
    ) -> Result<Option<Box<dyn Conductor<A::Group> + Send>>, RunError> {
        Ok(match self {
            Self::Plan => None,
            Self::Random(seed) => Some(Box::new(RandomMoves::new(*seed))),
            Self::Adapt(_) if A::PLAN.sides != Sides::Split => None,
            Self::Adapt(log) => {
                let controller = Adaptive::new(Settings::of_plan(&A::PLAN).predicted_by(plan));
                Some(Box::new(match log {
                    None => controller,
                    Some(path) => controller.with_log(create(&log_of(path, pair))?),
                }))
            }
        })
    }

    /// Where the log of a pair is, if there is one.
    pub(crate) fn log(&self, pair: usize) -> Option<PathBuf> {
        match self {
            Self::Adapt(Some(path)) => Some(log_of(path, pair)),
            _ => None,
        }
    }
}

/// The first pair's log has the name that was asked for; the others' have their number behind it.
fn log_of(path: &Path, pair: usize) -> PathBuf {
    if pair == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{pair}"));
    name.into()
}

fn create(path: &Path) -> Result<File, RunError> {
    File::create(path).map_err(|cause| RunError::File { path: path.to_owned(), cause })
}

/// As the command line says it.
impl fmt::Display for Moves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => write!(f, "plan"),
            Self::Random(seed) => write!(f, "random:{seed}"),
            Self::Adapt(None) => write!(f, "adapt"),
            Self::Adapt(Some(log)) => write!(f, "adapt:{}", log.display()),
        }
    }
}

impl FromStr for Moves {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            format!(
                "`{text}` moves nothing: say plan, adapt, adapt:FILE for a log of what it does, or \
                 random:SEED with a number"
            )
        };
        match text.split_once(':') {
            None if text == "plan" => Ok(Self::Plan),
            None if text == "adapt" => Ok(Self::Adapt(None)),
            Some(("adapt", log)) if !log.is_empty() => Ok(Self::Adapt(Some(log.into()))),
            Some(("random", seed)) => seed.parse().map(Self::Random).map_err(|_| wanted()),
            _ => Err(wanted()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Moves;

    #[test]
    fn another_process_reads_what_this_one_says() {
        for said in ["plan", "adapt", "adapt:a log", "random:7"] {
            let moves: Moves = said.parse().unwrap();
            assert_eq!(moves.to_string(), said);
        }
    }
}
