//! Log of the controller's observations and decisions, a line of JSON each:
//!
//! ```text
//! {"log":"cora-moves/2","settings":{…}}        the first line
//! {"flow":123,"key":"udp 10.0.0.1:1 > …"}      before a flow is ordered for the first time
//! {"seen":{…},"did":{…}}                       a period
//! ```

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use serde::{Deserialize, Serialize};

use super::adaptive::{Action, Decision, Digest, FlowId, Settings};

/// The format, as the first line states it.
pub(super) const FORMAT: &str = "cora-moves/2";
/// Most flows with a name; later ones stay numbers.
const NAMES: usize = 65_536;

/// A line of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// The first line.
    Head { log: String, settings: Settings },
    /// The name of a flow.
    Name { flow: FlowId, key: String },
    /// A period.
    Period {
        seen: Digest,
        #[serde(default, skip_serializing_if = "Decision::is_empty")]
        did: Decision,
    },
}

/// The log of a run.
pub(super) struct Log {
    to: BufWriter<Box<dyn Write + Send>>,
    named: BTreeSet<FlowId>,
    /// The first error. Nothing is written after it.
    failed: Option<io::Error>,
}

impl Log {
    pub(super) fn begin(to: Box<dyn Write + Send>, settings: &Settings) -> Self {
        let to = BufWriter::with_capacity(1 << 18, to);
        let mut log = Self { to, named: BTreeSet::new(), failed: None };
        log.line(&Line::Head { log: FORMAT.to_owned(), settings: settings.clone() });
        log
    }

    /// Writes a period. `name` returns the key of a flow.
    pub(super) fn period(
        &mut self,
        seen: &Digest,
        did: &Decision,
        name: impl Fn(FlowId) -> Option<String>,
    ) {
        for action in &did.actions {
            let (Action::Offer(flow) | Action::Recall(flow)) = *action else { continue };
            if self.named.len() < NAMES
                && !self.named.contains(&flow)
                && let Some(key) = name(flow)
            {
                self.named.insert(flow);
                self.line(&Line::Name { flow, key });
            }
        }
        self.line(&Line::Period { seen: seen.clone(), did: did.clone() });
    }

    fn line(&mut self, line: &Line) {
        if self.failed.is_some() {
            return;
        }
        let written = serde_json::to_writer(&mut self.to, line).map_err(io::Error::from);
        self.failed = written.and_then(|()| self.to.write_all(b"\n")).err();
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.failed.take().map_or_else(|| self.to.flush(), Err)
    }
}
