//! `savings`: savings of plans over host-only and simpler splits, for many programs and traffics in
//! one table.
//!
//! Per row, host cores are compared at a part of the highest rate that host-only carries on this
//! NIC and host. Only measured programs are compared. The speed-up is at equal resources: with the
//! host cores that the better of state-only and flow-only needs at that rate.
//!
//! With `--protocol` all rates up to the wire are compared (`protocol`).

mod protocol;

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
    if arguments.protocol {
        return protocol::run(arguments);
    }
    let mut rows = Vec::new();
    for prepared in measured(arguments, &TRAFFICS)? {
        let name = &prepared.case.graph.app;
        eprintln!("planning {name} for {}", prepared.case.traffic.name);
        rows.push(row(name, &prepared, arguments.part)?);
    }
    tell(match arguments.format {
        TableFormat::Text => text(&rows),
        TableFormat::Markdown => as_markdown(&rows),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The traffics of the table, if none is stated.
const TRAFFICS: [&str; 5] = ["uniform", "campus", "zipf", "kv", "shift"];

/// Every program under every traffic; a refusal, if some were never measured.
fn measured(arguments: &Savings, usual: &[&str]) -> Result<Vec<Prepared>, Failure> {
    let mut traffics = arguments.traffic.clone();
    if traffics.is_empty() {
        traffics.extend(usual.iter().map(|name| (*name).to_owned()));
    }
    let (mut prepared, mut estimated) = (Vec::new(), Vec::new());
    for package in &arguments.packages {
        for traffic in &traffics {
            let said = Planning {
                nic: Some(arguments.nic.clone()),
                traffic: Some(traffic.clone()),
                steering: arguments.steering,
                ..Planning::default()
            };
            let one = planning::prepare(package, &said)?;
            // Its own name, however it was said which one is meant.
            let name = &one.case.graph.app;
            if is_measured(&one) {
                prepared.push(one);
            } else if !estimated.contains(name) {
                estimated.push(name.clone());
            }
        }
    }
    if estimated.is_empty() { Ok(prepared) } else { Err(Failure::Failed(unmeasured(&estimated))) }
}

/// Whether a run of the program counted its paths and instructions. Estimates count accesses to
/// states alone: a program that reads whole payloads seems as light as a firewall.
fn is_measured(prepared: &Prepared) -> bool {
    let measurement = prepared.case.measurement.as_ref();
    measurement.is_some_and(|measurement| measurement.packets > 0 && measurement.host_counted)
}

/// The refusal of programs that were never measured.
fn unmeasured(packages: &[String]) -> String {
    let commands: Vec<String> =
        packages.iter().map(|name| format!("  cargo cora measure {name} --in CAPTURE")).collect();
    format!(
        "`savings` compares measured programs, and of these there are only estimates from the source; run\n{}",
        commands.join("\n")
    )
}

fn row(package: &str, prepared: &Prepared, part: f64) -> Result<ClaimRow, Failure> {
    let case = &prepared.case;
    let cores = case.nic.host.cores.value;
    let host_only = Engine.highest(case, Baseline::HostOnly, cores);
    if host_only <= 0.0 {
        let traffic = &case.traffic.name;
        return Err(Failure::Failed(format!(
            "`{package}` under `{traffic}`: host-only carries no rate without dropping, so there is nothing to \
             compare; raise `capacity` of its states"
        )));
    }
    let mpps = host_only * part;
    // A rate that today's runtime does not reach behind the NIC is a row with a dash.
    let at_rate = Engine.curve(case, &[mpps]);
    let traffic = &case.traffic.name;
    let Some(at_rate) = at_rate.first() else {
        return Err(Failure::Failed(format!("`{package}` has no plan under `{traffic}`")));
    };
    let row = ClaimRow::of(package, traffic, at_rate, None);
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
