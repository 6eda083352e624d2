//! The command of an agent: its options, and its life until it is told to end.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use crate::RunError;
use crate::attach::proof::Namespace;
use crate::control::stop::Stop;
use crate::ingress::clock::Clock;
use crate::ingress::port_names::Ports;
use crate::ingress::ports::LiveWire;
use crate::process::log::{self, LogOptions, Part};
use crate::process::{cores, signals};
use crate::tenants::agent::{Agent, LOOK_EVERY, MIB, own_namespace};
use crate::tenants::listener::Rules;
use crate::tenants::status::AgentReport;

/// Rounds without work before the agent sleeps.
const ROUNDS: u32 = 20;

/// The orders of an agent.
#[derive(Args, Clone, Debug)]
pub struct AgentArguments {
    /// The socket at which programs are attached.
    socket: PathBuf,
    /// The ports, as inside=PORT,outside=PORT: servers are at the inside.
    #[arg(long, value_name = "PORTS", value_parser = two_ports)]
    live: Ports,
    /// The network namespace of servers behind the ports, as /run/netns/NAME; may be given several
    /// times [default: the agent's own].
    #[arg(long, value_name = "FILE")]
    behind: Vec<PathBuf>,
    /// Most tenants.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    tenants: u16,
    /// Most memory for the states of a tenant, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    memory: u64,
    /// The processor of the agent and of its tenants [default: as the kernel sees fit].
    #[arg(long, value_name = "N")]
    core: Option<usize>,
    /// After how many seconds it ends by itself [default: never].
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print one JSON object instead of a table at the end.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    log: LogOptions,
}

/// Two ports, between which packets pass.
pub(super) fn two_ports(text: &str) -> Result<Ports, String> {
    let text =
        if text.contains("pass=") { text.to_owned() } else { format!("{text},pass=opposite") };
    let ports: Ports = text.parse()?;
    if ports.are_of_card() || ports.all().len() != 2 {
        return Err("an agent has two ports: say inside=PORT,outside=PORT".to_owned());
    }
    Ok(ports)
}

/// Serves programs until it is told to end; returns its counts.
///
/// # Errors
/// If a port or the socket can't be opened, or a port is lost.
pub fn serve(arguments: &AgentArguments) -> Result<AgentReport, RunError> {
    signals::keep_on_at_file_limits();
    log::speak_for(Part::Card);
    let mut stop = Stop::new(arguments.seconds.map(Duration::from_secs));
    log::begin(&arguments.log)?;
    if let Some(core) = arguments.core {
        cores::stay_on(core);
    }
    let mut agent = open(arguments)?;
    let served = run(&mut agent, &mut stop);
    agent.end();
    let report = agent.report();
    log::flush();
    served.map(|()| report)
}

fn open(arguments: &AgentArguments) -> Result<Agent, RunError> {
    let mut behind = Vec::new();
    for path in &arguments.behind {
        let there = Namespace::at(path);
        behind.push(there.map_err(|cause| RunError::File { path: path.clone(), cause })?);
    }
    if behind.is_empty() {
        behind.push(own_namespace()?);
    }
    let ports = LiveWire::open(&arguments.live, &[], Clock::begin())?;
    let memory = arguments.memory.saturating_mul(MIB);
    Agent::at(ports, &arguments.socket, Rules { behind, memory }, arguments.tenants.into())
}

/// Serves until it is told to end.
fn run(agent: &mut Agent, stop: &mut Stop) -> Result<(), RunError> {
    let mut quiet = 0;
    let mut looked = Instant::now();
    while !stop.is_now() {
        let busy = agent.step()?;
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            stop.look(false);
        }
        quiet = if busy { 0 } else { quiet + 1 };
        if quiet >= ROUNDS {
            agent.rest();
        }
    }
    Ok(())
}
