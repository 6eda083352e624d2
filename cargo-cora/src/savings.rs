//! `savings`: what plans save over host-only and over simpler splits, for many programs and traffics in one table.
//!
//! Per row, host cores are compared at the highest rate that host-only carries on this NIC and host, less a twentieth.
//! The speed-up is at equal resources: with the host cores that the better of state-only and flow-only needs at that rate.

use std::process::ExitCode;

use cora_plan::advice::{Case, Engine, Planner as _, curve};
use cora_plan::planning::{Ask, Baseline, Planned};
use cora_plan::report::claim::{ClaimRow, as_markdown, text};

use crate::arguments::{Planning, Savings, TableFormat};
use crate::failure::{Failure, Outcome};
use crate::planning::{self, Prepared};

/// The share of host-only's highest rate at which cores are compared: at the very end everything is full.
const BELOW_THE_CEILING: f64 = 0.95;

pub(crate) fn run(arguments: &Savings) -> Outcome {
    let mut rows = Vec::new();
    for package in &arguments.packages {
        for traffic in &arguments.traffic {
            eprintln!("planning {package} for {traffic}");
            let said = Planning {
                nic: Some(arguments.nic.clone()),
                traffic: Some(traffic.clone()),
                steering: arguments.steering,
                ..Planning::default()
            };
            rows.push(row(package, &planning::prepare(package, &said)?)?);
        }
    }
    print!(
        "{}",
        match arguments.format {
            TableFormat::Text => text(&rows),
            TableFormat::Markdown => as_markdown(&rows),
        }
    );
    Ok(ExitCode::SUCCESS)
}

fn row(package: &str, prepared: &Prepared) -> Result<ClaimRow, Failure> {
    let case = &prepared.case;
    let cores = case.nic.host.cores.value;
    let host_only = Engine.highest(case, Baseline::HostOnly, cores);
    let mpps = host_only * BELOW_THE_CEILING;
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
