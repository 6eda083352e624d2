//! `compare`: two captures, flow by flow.

mod flows;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use cora_host::ingress::pcap::Reader;
use serde_json::{Value, json};

use crate::arguments::Compare;
use crate::failure::{Failure, Outcome};
use crate::tell::tell_line;

pub use flows::{CompareError, Comparison, Difference, Finding, compare};

pub(crate) fn run(arguments: &Compare) -> Outcome {
    let open = |path: &std::path::Path| {
        Reader::open(path)
            .map_err(|error| Failure::Failed(format!("the capture `{}`: {error}", path.display())))
    };
    let comparison = compare(open(&arguments.a)?, open(&arguments.b)?)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if arguments.json {
        tell_line(format_args!("{:#}", as_json(&comparison)))?;
    } else {
        tell_line(&comparison)?;
    }
    Ok(if comparison.is_equal() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn as_json(comparison: &Comparison) -> Value {
    let differences: Vec<Value> = comparison
        .differences
        .iter()
        .map(|difference| {
            json!({
                "flow": difference.flow.map(|flow| flow.to_string()),
                "packet": difference.packet,
                "finding": word(difference.finding),
            })
        })
        .collect();
    json!({
        "schema": 1,
        "equal": comparison.is_equal(),
        "packets": comparison.packets,
        "flows": comparison.flows,
        "differing": comparison.differing,
        "differences": differences,
    })
}

fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::OtherOrder => "other-order",
        Finding::OtherBytes => "other-bytes",
        Finding::OnlyInFirst => "only-in-first",
        Finding::OnlyInSecond => "only-in-second",
    }
}
