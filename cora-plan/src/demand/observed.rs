//! Output of a traced run (`<program> trace`): the ways of packets through the handlers, as the
//! program observed them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::graph::{Does, Exit, How};

/// Observed ways of packets, and their frequency. In a program with messages each run of a handler
/// is a way, of the packet that caused it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Name of the program.
    pub app: String,
    /// Packets of the run.
    pub packets: u64,
    /// Packets that did more than one record can hold; the ends of their ways are missing.
    pub cut_off: u64,
    /// The ways, in the order of their first packets.
    pub ways: Vec<Vec<Step>>,
    /// By type of key, then by total packets of a flow: the packets of such flows on each way.
    pub flows: BTreeMap<String, BTreeMap<u64, Vec<Count>>>,
    /// By type of key: packets without such a key on each way.
    pub keyless: BTreeMap<String, Vec<Count>>,
}

/// Index of a way in [`Observed::ways`], and its packets.
pub type Count = (usize, u64);

/// One handler of a way.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its index in the chain.
    pub handler: usize,
    /// A message that a handler sent was handled.
    #[serde(default)]
    pub inside: bool,
    /// Its operations on states, in order.
    pub did: Vec<Did>,
    /// Its exit.
    pub exit: Exit,
}

/// One operation of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Did {
    /// An operation on a table.
    Asked {
        /// The table's state.
        state: String,
        /// The operation.
        does: Does,
    },
    /// A statement that names a state that is not a table. Neither the operation nor whether it was
    /// reached is observed.
    Named {
        /// Index of the state among the handler's parameters after the packet.
        parameter: usize,
    },
    /// Messages that were sent.
    Sent {
        /// Their type.
        message: String,
        /// Where they went.
        how: How,
        /// Their number.
        count: u32,
    },
}

impl Observed {
    /// Reads the output of `<program> trace`.
    ///
    /// # Errors
    ///
    /// A sentence, if the text is something else.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map_err(|error| format!("not the output of a traced run: {error}"))
    }

    /// Packets per way.
    pub fn per_way(&self) -> Vec<u64> {
        let mut packets = vec![0; self.ways.len()];
        let by_size = self.flows.values().next().into_iter().flat_map(BTreeMap::values);
        let keyless = self.keyless.values().next().into_iter();
        for (way, count) in by_size.chain(keyless).flatten() {
            if let Some(sum) = packets.get_mut(*way) {
                *sum += count;
            }
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = r#"{"app":"nat","packets":4,"cut_off":0,
        "ways":[[{"handler":0,"did":[{"state":"Session","does":"write"},{"parameter":1},
                                     {"state":"Session","does":"insert"}],"exit":"transmit"}],
                [{"handler":0,"did":[],"exit":"drop"}]],
        "flows":{"FiveTuple":{"3":[[0,1],[1,2]]}},"keyless":{"FiveTuple":[[1,1]]}}"#;

    #[test]
    fn reads_what_a_program_tells() {
        let observed = Observed::from_json(TOLD).unwrap();
        let asked = |does| Did::Asked { state: "Session".to_owned(), does };
        let did = vec![asked(Does::Write), Did::Named { parameter: 1 }, asked(Does::Insert)];
        assert_eq!(
            observed.ways[0],
            [Step { handler: 0, inside: false, did, exit: Exit::Transmit }]
        );
        assert_eq!(observed.per_way(), [1, 3]);
        let refusal = Observed::from_json("{\"app\":1}").unwrap_err();
        assert!(refusal.starts_with("not the output of a traced run: "), "{refusal}");
    }
}
