//! The command line; that of commands that ask a live run stands in `watching`.

mod checking;
mod watching;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use cora_host::{AgentArguments, Inside, RunOptions};

pub(crate) use checking::CheckPlan;
pub(crate) use watching::{Events, Flow, Flows, Log, Packets, Tap, Top, Trace, Watch, Which};

use crate::profile::Span;

/// Write a stateful network function once; run it on SmartNIC and host together.
#[derive(Debug, Parser)]
#[command(name = "cargo cora", bin_name = "cargo cora", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build a network function and run it, on a capture or between ports
    Run(Box<Run>),
    /// Build a network function for a card, and say what to type there and here
    Card(Card),
    /// Share a NIC's ports between programs that servers attach before their sockets
    Agent(Box<AgentArguments>),
    /// Attach a program before a server's sockets: packets for them go to it first
    Attach(Box<Attach>),
    /// Say who is attached at an agent, and what each takes
    Tenants(Tenants),
    /// Show the state-flow graph of a network function
    Graph(Graph),
    /// Show the Rust that the attributes and the build script make of a network function
    Expand(Expand),
    /// Compare two captures flow by flow
    Compare(Compare),
    /// Replay a controller's decisions from its log, and give the reasons in plain words
    Replay(Replay),
    /// Measure this machine, as a NIC profile
    Calibrate(Calibrate),
    /// Find the plan that needs the fewest host cores, and predict its effect
    Plan(Plan),
    /// Compare a plan's predictions with what a run counts, on a capture or live
    CheckPlan(CheckPlan),
    /// Measure on a capture which ways packets take, and how many instructions each needs
    Measure(Measure),
    /// Draw a traffic profile from a capture, to plan with
    Profile(Profile),
    /// Explain a diagnostic code, or why a state, a handler or a class of flows is where it is
    Explain(Explain),
    /// Compare today's plan with that for another NIC, traffic or rate, or with a state pinned
    WhatIf(WhatIf),
    /// Show the savings of plans over host-only and simpler splits, for programs and traffics
    Savings(Savings),
    /// Look which of Cora's requirements this machine meets, with a command for each other one
    Doctor(Doctor),
    /// Make a new package with a small network function in it
    New(New),
    /// Say what a live run is, and whether both halves work
    Status(Watch),
    /// Say what became of a live run's packets so far
    Outcomes(Watch),
    /// Say how full a live run's tables are
    Tables(Watch),
    /// Print the values of a live run's states without keys: sums, maxima, singletons
    Values(Watch),
    /// List the entries of a live run's tables, each with its side and the reason for that
    Flows(Flows),
    /// Look up a flow of a live run; delete it, offer it to the NIC, or recall it
    Flow(Flow),
    /// Copy packets of a live run to a pcapng file, each with what became of it
    Tap(Tap),
    /// Follow packets of a live run through the handlers of both sides, or ask for the way of one
    Trace(Trace),
    /// Watch a live run at a terminal: outcomes, tables, and what both sides do
    Top(Top),
    /// Say which lines the log of a live run has, or change that
    Log(Log),
    /// Say what happened in a live run: halves that died or came back, versions, upgrades, orders
    Events(Events),
    /// Have a live run read its configuration again, and wait until that is in force
    Configure(Configure),
    /// Have another build take a live run's place, and wait until it works: connections of durable
    /// states go on
    Upgrade(Upgrade),
    /// Print a script by which a shell completes the words of this command
    Completions(Completions),
    /// Write the manual: a page for each command
    #[command(name = "man")]
    Manual(Manual),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Where to write the pages; it is made if it is not there
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Card {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// host-only, nic-only, split, dealt, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct Attach {
    /// The socket of the agent
    pub(crate) socket: PathBuf,
    /// Where the server is asked: udp:ADDRESS:PORT, tcp:ADDRESS:PORT. Its sockets are looked for
    /// among those of this machine's processes
    #[arg(required = true)]
    pub(crate) at: Vec<String>,
    /// The program: a package of this workspace, the path of one, or a static program's file
    #[arg(long, value_name = "PACKAGE|FILE")]
    pub(crate) program: String,
    /// host-only, nic-only, split, dealt, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Tenants {
    /// The socket of the agent
    pub(crate) socket: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Configure {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// The new program, which is put in the running one's file; without it, that file holds the new
    /// one already
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// Only look whether that program could take the place, or the one that is in the file now
    #[arg(long)]
    pub(crate) check: bool,
    /// Even if no state is durable, so that every connection is lost
    #[arg(long)]
    pub(crate) drop_connections: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
    /// First fetch what an emulated card needs and this machine lacks, by apt and into a directory
    /// of its own: an emulator and a kernel for Arm
    #[arg(long)]
    pub(crate) fetch_card: bool,
    /// Write one archive for somebody who helps, instead of lines: this report, versions, and as
    /// named by the options below a package, a run file and a live run
    #[arg(long, value_name = "FILE.tar.gz", conflicts_with = "json")]
    pub(crate) bundle: Option<PathBuf>,
    /// For the bundle: a package, by its name in this workspace or its path
    #[arg(long, value_name = "PACKAGE", requires = "bundle")]
    pub(crate) package: Option<String>,
    /// For the bundle: a run file
    #[arg(long, value_name = "FILE", requires = "bundle")]
    pub(crate) file: Option<PathBuf>,
    /// For the bundle: a live run, by its `--control` path
    #[arg(long, value_name = "SOCKET", requires = "bundle")]
    pub(crate) control: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// host-only, nic-only, split, dealt, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The log, of `run --moves adapt:FILE`
    pub(crate) log: PathBuf,
    /// Print the summary alone
    #[arg(long)]
    pub(crate) brief: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// The capture to run it on: pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub(crate) input: PathBuf,
    /// Where to write the measurement [default: the package's cora.measured.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Where to write the capture's traffic profile, with the classes of the measurement
    #[arg(long, value_name = "FILE")]
    pub(crate) traffic: Option<PathBuf>,
    /// How long a flow is there without a packet, for the traffic profile
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) idle: Span,
    /// Set a read-mostly state from a file; may be given several times
    #[arg(long, value_name = "STATE=FILE")]
    pub(crate) config: Vec<String>,
    /// The prefixes of the inside network, separated by commas
    #[arg(long, value_name = "PREFIXES")]
    pub(crate) inside: Option<String>,
    /// Packets of which instructions are counted, from the beginning; paths are counted of all
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) count: usize,
    /// The plugin that counts, where the package's Cora does not come with it
    #[arg(long, value_name = "FILE")]
    pub(crate) counter: Option<PathBuf>,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// The form of the drawing
    #[arg(long, value_enum)]
    pub(crate) format: Format,
    /// host-only, nic-only, split, dealt, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Expand {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// A state, a handler or a key, or `app` for the program [default: all]
    pub(crate) item: Option<String>,
    /// host-only, nic-only, split, dealt, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Words, for a terminal
    Text,
    /// The graph as data
    Json,
    /// For Graphviz
    Dot,
    /// For Markdown
    Mermaid,
    /// A picture
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A capture: pcap or pcapng
    pub(crate) a: PathBuf,
    /// Another
    pub(crate) b: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Where to write the profile, a TOML file for `--nic` [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// In a few seconds, with wider spreads
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    #[command(flatten)]
    pub(crate) planning: Planning,
    /// Also give the needs of host-only, nic-only, state-only and flow-only
    #[arg(long)]
    pub(crate) baselines: bool,
    /// The form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    /// Where to write it, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The target of a plan. Each option replaces the statement in the package's cora.toml.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Planning {
    /// A NIC profile: bluefield2, bluefield3, or a file [default: bluefield2]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) nic: Option<String>,
    /// A traffic profile: uniform, campus, zipf, kv, shift, or a file [default: zipf]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) traffic: Option<String>,
    /// The rate, in million packets a second; the plan with the fewest host cores is searched for
    #[arg(long, value_name = "N", conflicts_with = "host_cores", allow_negative_numbers = true)]
    pub(crate) mpps: Option<f64>,
    /// Host cores; the plan with the highest rate is searched for [default: 1, without a rate
    /// of the traffic's own]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) host_cores: Option<f64>,
    /// The output of `cargo cora measure` [default: the package's cora.measured.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Put a state where it is said: travels, host, replica or fetched; may be given several times
    #[arg(long, value_name = "STATE=PLACE")]
    pub(crate) pin: Vec<String>,
    /// How packets of the host's flows get there
    #[arg(long, value_enum, default_value = "cores")]
    pub(crate) steering: Steering,
}

#[derive(Debug, Args)]
pub(crate) struct Savings {
    /// Names of packages of this workspace, or paths of them
    #[arg(required = true)]
    pub(crate) packages: Vec<String>,
    /// A NIC profile: bluefield2, bluefield3, or a file
    #[arg(long, value_name = "PROFILE", default_value = "bluefield2")]
    pub(crate) nic: String,
    /// A traffic profile, or a file; may be given several times [default: five built-in ones, or
    /// the protocol's four]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) traffic: Vec<String>,
    /// At which part of the highest rate that host-only carries cores are compared
    #[arg(long, default_value_t = 0.75, conflicts_with = "protocol")]
    pub(crate) part: f64,
    /// Compare at twenty rates up to the wire, with strong baselines and large enough tables
    #[arg(long)]
    pub(crate) protocol: bool,
    /// Print the protocol's results as JSON
    #[arg(long, requires = "protocol")]
    pub(crate) json: bool,
    /// Draw the protocol's curves here, a file for each program
    #[arg(long, value_name = "DIRECTORY", requires = "protocol")]
    pub(crate) curves: Option<PathBuf>,
    /// How packets of the host's flows get there
    #[arg(long, value_enum, default_value = "cores")]
    pub(crate) steering: Steering,
    /// The form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: TableFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For the terminal
    Text,
    /// For a document
    Markdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Steering {
    /// The NIC's cores receive every packet, as Cora's runtime does
    #[default]
    Cores,
    /// The NIC's flow table steers by itself: a prediction only, no runtime does it yet
    Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For the terminal
    Text,
    /// For scripts
    Json,
    /// One page that needs nothing else
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct Profile {
    /// A capture: pcap or pcapng
    pub(crate) capture: PathBuf,
    /// Where to write the profile: TOML [default: the capture's name with .toml, here]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Its name [default: the capture's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// How long a flow without packets is remembered: after it, the next packet opens it again
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) idle: Span,
    /// The prefixes of the inside network, separated by commas [default: private and link-local
    /// ones]
    #[arg(long, value_name = "PREFIXES")]
    pub(crate) inside: Option<Inside>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A code such as CORA0007, or a state, a handler or a class of flows; without it, all codes
    /// are listed
    pub(crate) what: Option<String>,
    /// The package whose plan it is about [default: that of this directory, if it has a cora.toml]
    #[arg(long)]
    pub(crate) package: Option<String>,
    #[command(flatten)]
    pub(crate) planning: Planning,
}

#[derive(Debug, Args)]
pub(crate) struct WhatIf {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    #[command(flatten)]
    pub(crate) planning: Planning,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Directory to make; its last part is the package's name
    pub(crate) path: PathBuf,
    /// A checkout of Cora to depend on [default: the one that this command was built from, or the
    /// published version]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cora: Option<PathBuf>,
}
