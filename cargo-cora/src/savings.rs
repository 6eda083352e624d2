//! `savings`: savings of plans over host-only and simpler splits, for many programs and traffics in
//! one table.
//!
//! Per row, host cores are compared at a part of the highest rate that host-only carries on this
//! NIC and host. The speed-up is at equal resources: with the host cores that the better of
//! state-only and flow-only needs at that rate.

use std::process::ExitCode;

use cora_plan::optimise::{Baseline, Planned};
use cora_plan::report::claim::{ClaimRow, as_markdown, text};
use cora_plan::statement::Ask;
use cora_plan::what_if::{Case, Engine, Planner as _, curve};

use crate::arguments::{Planning, Savings, TableFormat};
use crate::failure::{Failure, Outcome};
use crate::planning::{self, Prepared};
use crate::tell::tell;

pub(crate) fn run(arguments: &Savings) -> Outcome {
    if !(arguments.part > 0.0 && arguments.part <= 1.0) {
        let part = arguments.part;
        return Err(Failure::Usage(format!("`--part {part}`: write a number above 0, at most 1")));
    }
    let mut rows = Vec::new();
    for package in &arguments.packages {
        for traffic in &arguments.traffic {
            let said = Planning {
                nic: Some(arguments.nic.clone()),
                traffic: Some(traffic.clone()),
                steering: arguments.steering,
                ..Planning::default()
            };
            let prepared = planning::prepare(package, &said)?;
            // Its own name, however it was said which one is meant.
            let name = &prepared.case.graph.app;
            eprintln!("planning {name} for {traffic}");
            rows.push(row(name, &prepared, arguments.part)?);
        }
    }
    tell(match arguments.format {
        TableFormat::Text => text(&rows),
        TableFormat::Markdown => as_markdown(&rows),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn row(package: &str, prepared: &Prepared, part: f64) -> Result<ClaimRow, Failure> {
    let case = &prepared.case;
    let cores = case.nic.host.cores.value;
    let host_only = Engine.highest(case, Baseline::HostOnly, cores);
    let mpps = host_only * part;
    let planned = plan(case, Ask::Rate(mpps))?;
    let row = ClaimRow::of(package, &planned, None);
    let speed_up = match row.better_split() {
        Some(cores) if cores > 0.0 => {
            let equal = Case { ask: Ask::HostCores(cores), ..case.clone() };
            curve::speed_up(&Engine, &equal, &plan(&equal, Ask::HostCores(cores))?)
        }
        _ => None,
    };
    Ok(ClaimRow { speed_up, ..row })
}

fn plan(case: &Case, ask: Ask) -> Result<Planned, Failure> {
    Engine
        .plan(&Case { ask, ..case.clone() })
        .map_err(|refusal| Failure::Failed(refusal.to_string()))
}
