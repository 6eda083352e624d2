//! `agent`: shares a NIC's ports between programs; `tenants`: says who they are.

use std::fmt::Display;
use std::process::ExitCode;

use cora_host::{AgentArguments, AgentReport};

use crate::arguments::Tenants;
use crate::failure::{Failure, Outcome};
use crate::tell::tell;

pub(crate) fn run(arguments: &AgentArguments) -> Outcome {
    let report = cora_host::serve_tenants(arguments);
    show(&report.map_err(failed)?, arguments.json)
}

pub(crate) fn tenants(of: &Tenants) -> Outcome {
    let report = cora_host::ask_agent(&of.socket).map_err(Failure::Failed)?;
    show(&report, of.json)
}

fn show(report: &AgentReport, json: bool) -> Outcome {
    let text = if json {
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        report.to_string()
    };
    tell(format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: impl Display) -> Failure {
    Failure::Failed(error.to_string())
}
