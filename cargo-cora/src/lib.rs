//! `cargo cora`: make a network function, run it, look at it.
//!
//! Results go to standard output, progress and complaints to standard error. The exit code is 0
//! when all is well, 1 when a check fails, 2 when the command itself makes no sense.
//!
//! | door | content |
//! | --- | --- |
//! | [`main`] | the command |
//! | [`command_line`] | the command line, for those who check it |
//! | [`compare`] | whether two captures carry the same packets, flow by flow |
#![forbid(unsafe_code)]
// `println!` panics when nobody reads any more: `tell` does not.
#![deny(clippy::print_stdout)]

mod agent;
mod arguments;
mod attach;
mod bundle;
mod calibrate;
mod card;
mod check_plan;
pub mod compare;
mod completions;
mod configure;
mod control;
mod doctor;
mod expand;
mod explain;
mod failure;
mod graph;
mod manual;
mod measure;
mod new;
mod package;
mod plan;
mod planning;
mod profile;
mod progress;
mod replay;
mod run;
mod savings;
mod static_linux;
mod tell;
mod upgrade;
mod watch;
mod watched;
mod what_if;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches as _;

use arguments::{Arguments, Command};

/// The command line of `cargo cora`.
pub fn command_line() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}

/// The same under the name of its file: shells and the manual know a command by one word.
fn command_of_file() -> clap::Command {
    let name = "cargo-cora";
    command_line().name(name).bin_name(name).display_name(name)
}

/// The command, with the arguments of this process.
pub fn main() -> ExitCode {
    let mut given = given();
    // The program that `calibrate` measures: it has a command line of its own.
    if given.get(1).is_some_and(|first| first == calibrate::PROGRAM) {
        return calibrate::program(&given.split_off(2));
    }
    let matches = cora_host::read_command_line(command_line(), given);
    let matches = matches.unwrap_or_else(|error| error.exit());
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let outcome = match arguments.command {
        Command::Run(run) => run::run(&run, matches.subcommand().map_or(&matches, |(_, run)| run)),
        Command::Graph(graph) => graph::run(&graph),
        Command::Expand(expand) => expand::run(&expand),
        Command::Card(card) => card::run(&card),
        Command::Agent(agent) => agent::run(&agent),
        Command::Tenants(tenants) => agent::tenants(&tenants),
        Command::Attach(attach) => {
            attach::run(&attach, matches.subcommand().map_or(&matches, |(_, given)| given))
        }
        Command::Calibrate(calibrate) => calibrate::run(&calibrate),
        Command::Compare(compare) => compare::run(&compare),
        Command::Replay(replay) => replay::run(&replay),
        Command::Plan(plan) => plan::run(&plan),
        Command::WhatIf(what_if) => what_if::run(&what_if),
        Command::CheckPlan(check) => check_plan::run(&check),
        Command::Profile(profile) => profile::run(&profile),
        Command::Measure(measure) => measure::run(&measure),
        Command::Explain(explain) => explain::run(&explain),
        Command::Savings(savings) => savings::run(&savings),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::New(new) => new::run(&new),
        Command::Status(of) => watch::status(&of),
        Command::Outcomes(of) => watch::outcomes(&of),
        Command::Tables(of) => watch::tables(&of),
        Command::Flows(of) => watch::flows(&of),
        Command::Flow(of) => watch::flow(&of),
        Command::Values(of) => watch::values(&of),
        Command::Tap(of) => watch::tap(&of),
        Command::Trace(of) => watch::trace(&of),
        Command::Top(of) => watch::top(&of),
        Command::Log(of) => watch::log(&of),
        Command::Events(of) => watch::events(&of),
        Command::Configure(configure) => configure::run(&configure),
        Command::Upgrade(upgrade) => upgrade::run(&upgrade),
        Command::Completions(completions) => completions::run(&completions),
        Command::Manual(manual) => manual::run(&manual),
    };
    outcome.unwrap_or_else(|failure| {
        let told = failure.to_string();
        // A diagnostic says itself that it is an error, with its code.
        let head = if told.starts_with("error[") { "" } else { "error: " };
        eprintln!("{head}{told}");
        failure.exit_code()
    })
}

/// The arguments; Cargo puts the subcommand's name in front, a direct call doesn't.
fn given() -> Vec<OsString> {
    let mut arguments = std::env::args_os().peekable();
    let program = arguments.next().unwrap_or_else(|| "cargo-cora".into());
    if arguments.peek().is_some_and(|first| first == "cora") {
        arguments.next();
    }
    std::iter::once(program).chain(arguments).collect()
}
