//! `what-if`: today's plan beside another one.

use std::process::ExitCode;

use cora_plan::report::what_if;
use cora_plan::statement::Ask;

use crate::arguments::{Planning, WhatIf};
use crate::failure::{Failure, Outcome};
use crate::planning::prepare;
use crate::tell::tell;

pub(crate) fn run(arguments: &WhatIf) -> Outcome {
    if !asks(&arguments.planning) {
        return Err(Failure::Usage(
            "nothing to compare: give at least one of --nic, --traffic, --mpps, --host-cores, --measured, --pin, --steering"
                .to_owned(),
        ));
    }
    let other = prepare(&arguments.package, &arguments.planning)?;
    let mut said = today(&arguments.planning, other.states_target);
    same_ask(&mut said, &arguments.planning, &other.case.ask);
    let today = prepare(&arguments.package, &said)?;
    let today_planned = today.plan().map_err(|failure| of_today(&failure))?;
    let other_planned = other.plan()?;
    let (a, b) = (today.report(&today_planned, false), other.report(&other_planned, false));
    let text = if arguments.json { what_if::as_json(&a, &b) } else { what_if::write(&a, &b) };
    tell(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The target of today's plan: the package's statement. Without one, plans for another NIC or
/// traffic are compared for one and the same ask, and plans for another NIC on the same traffic:
/// one change at a time.
fn today(said: &Planning, states_target: bool) -> Planning {
    let only_the_ask = !asks(&Planning { mpps: None, host_cores: None, ..said.clone() });
    if states_target || only_the_ask {
        return Planning::default();
    }
    let traffic = said.traffic.clone().filter(|_| said.nic.is_some());
    Planning { mpps: said.mpps, host_cores: said.host_cores, traffic, ..Planning::default() }
}

/// Without an ask on the command line both plans have one and the same, even if their traffics have
/// rates of their own.
fn same_ask(today: &mut Planning, said: &Planning, ask: &Ask) {
    if said.mpps.is_some() || said.host_cores.is_some() {
        return;
    }
    match ask {
        Ask::Rate(mpps) => today.mpps = Some(*mpps),
        Ask::HostCores(cores) => today.host_cores = Some(*cores),
    }
}

fn of_today(failure: &Failure) -> Failure {
    Failure::Failed(format!("today's plan, which the other would be compared with: {failure}"))
}

/// Whether anything differs from today.
fn asks(said: &Planning) -> bool {
    said.nic.is_some()
        || said.traffic.is_some()
        || said.mpps.is_some()
        || said.host_cores.is_some()
        || said.measured.is_some()
        || !said.pin.is_empty()
        || said.steering != crate::arguments::Steering::default()
}
