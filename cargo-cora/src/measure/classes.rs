//! Classes of flows, drawn from the capture that is measured on.

use std::collections::BTreeMap;

use crate::profile::FlowStats;
use cora_host::Inside;
use cora_plan::traffic::{Borders, Traffic};

use crate::arguments::Measure;
use crate::failure::Failure;
use crate::profile;

/// The traffic of the capture, and which class a flow of it is in, by type of key.
pub(super) struct Classes {
    pub(super) traffic: Traffic,
    pub(super) borders: BTreeMap<String, Borders>,
}

/// Draws them.
pub(super) fn draw(arguments: &Measure) -> Result<Classes, Failure> {
    let capture = &arguments.input;
    let inside = match &arguments.inside {
        Some(inside) => inside.parse().map_err(Failure::Usage)?,
        None => Inside::default(),
    };
    let stats = FlowStats::of(capture, &inside, arguments.idle.0, |_, _| {})
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let stem = capture.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let drawn = profile::drawn(&stem, capture, &stats, arguments.idle)?;
    Ok(Classes { traffic: drawn.traffic, borders: drawn.borders })
}
