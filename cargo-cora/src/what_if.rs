//! `what-if`: today's plan beside another one.

use std::process::ExitCode;

use cora_plan::report::what_if;

use crate::arguments::{Planning, WhatIf};
use crate::failure::{Failure, Outcome};
use crate::planning::prepare;

pub(crate) fn run(arguments: &WhatIf) -> Outcome {
    if !asks(&arguments.planning) {
        return Err(Failure::Usage(
            "what if what? say at least one of --nic, --traffic, --mpps, --host-cores, --measured, --pin, --steering"
                .to_owned(),
        ));
    }
    let today = prepare(&arguments.package, &Planning::default())?;
    let other = prepare(&arguments.package, &arguments.planning)?;
    let (today_planned, other_planned) = (today.plan()?, other.plan()?);
    let (a, b) = (today.report(&today_planned, false), other.report(&other_planned, false));
    let text = if arguments.json { what_if::as_json(&a, &b) } else { what_if::write(&a, &b) };
    print!("{text}");
    Ok(ExitCode::SUCCESS)
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
