//! A measurement as a file.

use super::{Measurement, SCHEMA};
use crate::graph::Graph;

impl Measurement {
    /// Reads one of this graph.
    ///
    /// # Errors
    /// A sentence: it is no measurement, of another schema, or of another graph.
    pub fn from_json(text: &str, graph: &Graph) -> Result<Self, String> {
        let measured: Self =
            serde_json::from_str(text).map_err(|error| format!("not a measurement: {error}"))?;
        if measured.schema != SCHEMA {
            return Err(format!("schema {} where this Cora reads {SCHEMA}", measured.schema));
        }
        if measured.graph != graph.digest() {
            return Err("the program has changed since; run `cargo cora measure` again".to_owned());
        }
        Ok(measured)
    }
}
