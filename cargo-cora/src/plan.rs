//! `plan`: the best plan for a NIC and a traffic, as text, JSON or a page.

use std::process::ExitCode;

use cora_plan::report::{Outlook, html, json, text};
use cora_plan::what_if::{curve, sensitivity};

use crate::arguments::{Plan, ReportFormat};
use crate::failure::{Failure, Outcome};
use crate::planning;
use crate::tell::tell;
use crate::watched::Watched;

pub(crate) fn run(arguments: &Plan) -> Outcome {
    let prepared = planning::prepare(&arguments.package, &arguments.planning)?;
    let sealed = prepared.plan()?;
    // A page has the room for all of it.
    let baselines = arguments.baselines || arguments.format == ReportFormat::Html;
    let report = prepared.report(&sealed, baselines);
    let written = match arguments.format {
        ReportFormat::Text => text::write(&report),
        ReportFormat::Json => json::write(&report),
        ReportFormat::Html => {
            let watched = Watched::new();
            let outlook = Outlook {
                curves: curve::run(&watched, &prepared.case),
                sensitivity: sensitivity::run(&watched, &prepared.case, &sealed.planned),
            };
            drop(watched);
            html::write(&report, &outlook)
        }
    };
    match &arguments.out {
        None => tell(&written)?,
        Some(file) => std::fs::write(file, written).map_err(|error| {
            Failure::Failed(format!("`{}` can't be written: {error}", file.display()))
        })?,
    }
    Ok(ExitCode::SUCCESS)
}
