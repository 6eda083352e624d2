//! The command line of a program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use cora_core::app::App;
use cora_runtime::node::{Inherited, NicFiles};

use crate::Program;
use crate::attach::rooms;
use crate::attach::stub::{StubArguments, stub};
use crate::card::agent::{CardArguments, LocalArguments, card, local_card};
use crate::card::ask::ask;
use crate::card::relay::{RelayArguments, relay};
use crate::control::builds::{BUILD_COMMAND, own_build};
use crate::control::configuration::{CHANGE_COMMAND, make_change};
use crate::control::upgrade::{LAYOUT_COMMAND, LEGACY, Legacy, REHEARSE};
use crate::node::control_loop::{Controllers, NamedController};
use crate::node::host_process::{HOST_COMMAND, HostArguments, entry_layout, host_half};
use crate::observe::print::{Output, fail, print, print_to, refuse};
use crate::observe::report::RunReport;
use crate::options::nearest::read_command_line;
use crate::options::{Run, RunOptions, configuration};
use crate::process::log::{self, Part};
use crate::process::nic_half::{
    ASK_COMMAND, CONFINED_COMMAND, LOCAL_COMMAND, NIC_COMMAND, RELAY_COMMAND, ROOMS_COMMAND,
    STUB_COMMAND,
};
use crate::process::{child, sandbox, signals};
use crate::run::Request;

/// A network function that runs on SmartNIC and host together.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run it on a capture, or between ports.
    Run(Box<RunArguments>),
    /// Print the state-flow graph it was built with, as JSON.
    Graph,
    /// Print the plan it was built with, as JSON.
    Plan,
    /// Serve a host from a card: its runs with `--nic card:ethernet` have their NIC halves here.
    Card(CardArguments),
    /// Be the host's end of the link to a card: started by `run`.
    #[command(name = RELAY_COMMAND, hide = true)]
    Relay(RelayArguments),
    /// Be the agent of a local card: started by `run`.
    #[command(name = LOCAL_COMMAND, hide = true)]
    LocalCard(LocalArguments),
    /// Ask a card whether it would serve: started by `run`.
    #[command(name = ASK_COMMAND, hide = true)]
    Ask(RelayArguments),
    /// Be the NIC half of a run: started by `run`.
    #[command(name = NIC_COMMAND, hide = true)]
    Nic {
        /// File descriptor of the shared region.
        fd: i32,
        /// Its bytes.
        length: usize,
        /// File descriptor of the items that it may read.
        #[arg(requires = "items_length")]
        items: Option<i32>,
        /// Their bytes.
        items_length: Option<usize>,
        /// The process that started it: it ends with that one.
        #[arg(long)]
        parent: Option<u32>,
    },
    /// Hold the connection to an agent in the place of the NIC half: started by `run`.
    #[command(name = STUB_COMMAND, hide = true)]
    Stub(Box<StubArguments>),
    /// Be the NIC half of a run at an agent, under a filter that is in force: started by an agent.
    #[command(name = CONFINED_COMMAND, hide = true)]
    Confined {
        /// File descriptor of the shared region.
        fd: i32,
        /// Its bytes.
        length: usize,
    },
    /// Be the NIC halves of many runs at an agent, under a filter that is in force: started by an
    /// agent.
    #[command(name = ROOMS_COMMAND, hide = true)]
    Rooms {
        /// File descriptor of the page with orders.
        page: i32,
        /// The socket by which regions come.
        socket: i32,
    },
    /// Be the host half of a run: started by `run`.
    #[command(name = HOST_COMMAND, hide = true)]
    Host(Box<HostArguments>),
    /// Print how durable entries are encoded, as JSON: for another build that is to be replaced by
    /// this one.
    #[command(name = LAYOUT_COMMAND, hide = true)]
    Layout,
    /// Print what host and card must have in common, as JSON: for a host or a card that is to be
    /// this program.
    #[command(name = BUILD_COMMAND, hide = true)]
    Build,
    /// Print the next version of read-mostly states, and what makes it of the one in force, as
    /// JSON: for a live run.
    #[command(name = CHANGE_COMMAND, hide = true)]
    Change {
        /// The file of each state that has one; the version in force comes by standard input.
        #[arg(value_parser = configuration)]
        files: Vec<(String, PathBuf)>,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    options: RunOptions,
    /// What the program before this one left behind, when a live run's program was replaced.
    #[arg(long = LEGACY, hide = true, allow_hyphen_values = true)]
    legacy: Option<Legacy>,
    /// Show that a live run of this command line works, and end: asked by a program that is to be
    /// replaced by this one.
    #[arg(long = REHEARSE, hide = true)]
    rehearses: bool,
}

/// The `main` of a program. Exit status: 0 if every packet is accounted for, 1 after a failure, 2
/// for a wrong command line.
pub fn main<A: App + Send>(program: Program) -> ExitCode {
    main_with::<A>(program, std::env::args_os())
}

/// The same with explicit arguments; the first one is the program's name.
pub fn main_with<A: App + Send>(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let matches = read_command_line(command_line(A::NAME), arguments);
    perform::<A>(&program, &matches.unwrap_or_else(|error| error.exit()), &[])
}

/// The command line of the program with this name, for a `main` with additional commands.
pub fn command_line(name: &'static str) -> clap::Command {
    Cli::command().name(name)
}

/// Executes a parsed [command line](command_line); its runs may use a controller from `known`.
pub fn perform<A: App + Send>(
    program: &Program,
    matches: &ArgMatches,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    let cli = match Cli::from_arg_matches(matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    signals::keep_on_at_file_limits();
    let code = obey::<A>(program, cli.command, matches, known);
    log::flush();
    code
}

fn obey<A: App + Send>(
    program: &Program,
    command: Command,
    matches: &ArgMatches,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    log::speak_for(part_of(&command));
    match command {
        Command::Run(arguments) => {
            let given = matches.subcommand().map_or(matches, |(_, given)| given);
            match Run::read(given) {
                Ok(run) => {
                    let RunArguments { legacy, rehearses, .. } = *arguments;
                    let legacy = legacy.filter(|_| !rehearses);
                    run_command::<A>(program, run, legacy, rehearses, known)
                }
                Err(why) => refuse(&why),
            }
        }
        Command::Graph => print(program.graph_json),
        Command::Plan => print(program.plan_json),
        Command::Card(arguments) => card::<A>(program, &arguments)
            .map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS),
        Command::Relay(arguments) => {
            relay::<A>(&arguments).map_or_else(|error| fail(&error.to_string()), ExitCode::from)
        }
        Command::LocalCard(arguments) => local_card::<A>(program, &arguments)
            .map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS),
        Command::Ask(arguments) => ask::<A>(&arguments)
            .map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS),
        Command::Stub(arguments) => {
            stub::<A>(&arguments).map_or_else(|error| fail(&error.to_string()), ExitCode::from)
        }
        Command::Confined { fd, length } => status_of((program.native_nic)(NicFiles {
            regions: Inherited { fd, length },
            items: None,
        })),
        Command::Rooms { page, socket } => rooms::serve(program, page, socket)
            .map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS),
        Command::Nic { fd, length, items, items_length, parent } => {
            let items = items.zip(items_length).map(|(fd, length)| Inherited { fd, length });
            native_nic(program, NicFiles { regions: Inherited { fd, length }, items }, parent)
        }
        Command::Layout => entry_layout::<A>()
            .map_or_else(|error| fail(&error.to_string()), |layout| print(&layout)),
        Command::Build => print(&own_build::<A>()),
        Command::Change { files } => make_change::<A>(&files)
            .map_or_else(|error| fail(&error.to_string()), |change| print(&change)),
        Command::Host(arguments) => host_half::<A>(program, &arguments, known)
            .map_or_else(|error| fail(&error.to_string()), |()| ExitCode::SUCCESS),
    }
}

/// The part of a run that this command is.
const fn part_of(command: &Command) -> Part {
    match command {
        Command::Card(_)
        | Command::Relay(_)
        | Command::LocalCard(_)
        | Command::Ask(_)
        | Command::Stub(_) => Part::Card,
        Command::Nic { .. } | Command::Confined { .. } | Command::Rooms { .. } => Part::Nic,
        Command::Host(_) => Part::Host,
        _ => Part::Run,
    }
}

fn native_nic(program: &Program, files: NicFiles, parent: Option<u32>) -> ExitCode {
    if let Some(error) = parent.and_then(|parent| child::stay_with(parent).err()) {
        return fail(&error.to_string());
    }
    if let Err(errno) = sandbox::enter() {
        // The kernel lacks filters of system calls. The run is still correct.
        log::warn(
            Part::Nic,
            format_args!("the NIC half runs without a filter of system calls: {errno}"),
        );
        log::flush();
    }
    status_of((program.native_nic)(files))
}

/// A parent sees only the low byte of an exit code.
fn status_of(code: i32) -> ExitCode {
    ExitCode::from(code.to_le_bytes()[0])
}

fn run_command<A: App>(
    program: &Program,
    run: Run,
    legacy: Option<Legacy>,
    rehearses: bool,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    // Its host halves make the controllers.
    if let Err(why) = Controllers::new(&run.options.moves, known) {
        return refuse(&why);
    }
    if run.options.decides_in_vain() {
        return refuse("--moves is for two sides: with --nic off no flow moves");
    }
    let run = if rehearses { run.rehearsal() } else { Ok(run) };
    let run = match run {
        Ok(run) => run,
        Err(why) => return refuse(&why),
    };
    if legacy.is_some() && run.options.live.is_none() {
        return refuse("--legacy is for live runs");
    }
    if run.options.live.is_some()
        && let Err(error) = log::begin(&run.options.log)
    {
        return fail(&error.to_string());
    }
    match crate::run::run::<A>(program, &Request { run: run.clone(), legacy, rehearses }) {
        Ok(report) => tell(&report, &run.options),
        Err(error) => fail(&error.to_string()),
    }
}

fn tell(report: &RunReport, options: &RunOptions) -> ExitCode {
    let text = if options.json {
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        report.to_string()
    };
    let to = if options.writes_standard_output() { Output::Error } else { Output::Standard };
    end(to, &text, &report.faults)
}

/// Prints the report, then the faults.
fn end(to: Output, report: &str, faults: &[String]) -> ExitCode {
    let printed = print_to(to, report);
    log::flush();
    if faults.is_empty() { printed } else { fail(&faults.join("; ")) }
}
