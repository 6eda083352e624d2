//! Classes of flows, drawn from the capture that is measured on.

use std::collections::BTreeMap;

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
    let inside = arguments.inside.as_deref();
    let (_, drawn) = profile::of_capture(&arguments.input, inside, arguments.idle)?;
    Ok(Classes { traffic: drawn.traffic, borders: drawn.borders })
}
