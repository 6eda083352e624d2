//! Replay of a log: the same observations must lead to the same decisions.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::adaptive::{Action, Costs, Decider, Decision, FlowId, Settings, Utilisation};
use super::log::{FORMAT, Line};

/// Cause of a failed replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It can't be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It does not begin as a log does.
    #[error("its first line is not that of a log of moves; `run --moves adapt:FILE` writes one")]
    NoLog,
    /// Another version of Cora wrote it.
    #[error("it is of the format `{0}`, and this version reads `{FORMAT}`")]
    OtherFormat(String),
    /// A line is damaged.
    #[error("line {line}: {cause}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The parser's error.
        cause: serde_json::Error,
    },
}

/// A period with a decision or a reason.
#[derive(Clone, Debug)]
pub struct Decided {
    /// Time since the run began (ns).
    pub time: u64,
    /// The decision.
    pub decision: Decision,
    /// Utilisation of the sides.
    pub utilisation: Utilisation,
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The settings in the log.
    pub settings: Settings,
    /// Periods.
    pub periods: u64,
    /// Time of the last period (ns).
    pub end: u64,
    /// All decisions.
    pub decided: Vec<Decided>,
    /// Time of the first period with another decision than in the log (ns).
    pub differs: Option<u64>,
    /// Names of flows.
    pub names: BTreeMap<FlowId, String>,
    /// Costs as learned until the end.
    pub costs: Costs,
}

impl Replayed {
    /// Returns the numbers of offers, recalls and changes of the admission.
    pub fn counts(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        for action in self.decided.iter().flat_map(|decided| &decided.decision.actions) {
            let place = match action {
                Action::Offer(_) => 0,
                Action::Recall(_) => 1,
                Action::Admit(_) => 2,
            };
            counts[place] += 1;
        }
        counts
    }
}

/// Replays a log. A last line without an end, of a run that was killed, is left out.
pub fn replay(mut log: impl BufRead) -> Result<Replayed, ReplayError> {
    let mut text = String::new();
    log.read_line(&mut text)?;
    let Ok(Line::Head { log: format, settings }) = serde_json::from_str(&text) else {
        return Err(ReplayError::NoLog);
    };
    if format != FORMAT {
        return Err(ReplayError::OtherFormat(format));
    }
    let mut decider = Decider::new(settings.clone());
    let mut replayed = Replayed {
        costs: settings.expected,
        settings,
        periods: 0,
        end: 0,
        decided: Vec::new(),
        differs: None,
        names: BTreeMap::new(),
    };
    for line in 2.. {
        text.clear();
        if log.read_line(&mut text)? == 0 || !text.ends_with('\n') {
            break;
        }
        match serde_json::from_str(&text).map_err(|cause| ReplayError::Line { line, cause })? {
            Line::Head { .. } => return Err(ReplayError::NoLog),
            Line::Name { flow, key } => drop(replayed.names.insert(flow, key)),
            Line::Period { seen, did } => {
                let decision = decider.decide(&seen);
                let time = seen.host.time;
                if decision != did && replayed.differs.is_none() {
                    replayed.differs = Some(time);
                }
                replayed.periods += 1;
                replayed.end = time;
                if !decision.is_empty() {
                    let utilisation = decider.utilisation();
                    replayed.decided.push(Decided { time, decision, utilisation });
                }
            }
        }
    }
    replayed.costs = decider.costs();
    Ok(replayed)
}
