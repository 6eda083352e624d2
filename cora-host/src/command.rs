//! The command line of a program.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use cora_core::app::App;
use serde_json::Value;

use crate::control_loop::{Controllers, NamedController};
use crate::nearest::read_command_line;
use crate::nic_process::NIC_COMMAND;
use crate::options::{Run, RunOptions};
use crate::report::RunReport;
use crate::run::{Request, run};
use crate::supervisor::{
    CHANGE_COMMAND, HOST_COMMAND, HostArguments, LAYOUT_COMMAND, Legacy, LiveRequest, entry_layout,
    host_half, make_change, supervise,
};
use crate::{Program, RunError, child, sandbox};

/// A network function that runs on SmartNIC and host together.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run it on a capture, or between two ports.
    Run(Box<RunArguments>),
    /// Print the state-flow graph it was built with, as JSON.
    Graph,
    /// Print the plan it was built with, as JSON.
    Plan,
    /// Be the NIC half of a run: started by `run --nic native`.
    #[command(name = NIC_COMMAND, hide = true)]
    Nic {
        /// File descriptor of the shared region.
        fd: i32,
        /// Its bytes.
        length: usize,
        /// The process that started it: it ends with that one.
        parent: Option<u32>,
    },
    /// Be the host half of a live run: started by `run --live`.
    #[command(name = HOST_COMMAND, hide = true)]
    Host(Box<HostArguments>),
    /// Print how durable entries are encoded, as JSON: for another build that is to be replaced by
    /// this one.
    #[command(name = LAYOUT_COMMAND, hide = true)]
    Layout,
    /// Print what makes another version of read-mostly states of the one in force, as JSON: for a
    /// live run.
    #[command(name = CHANGE_COMMAND, hide = true)]
    Change {
        /// File descriptor of what they are made from.
        file: i32,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    #[command(flatten)]
    options: RunOptions,
    /// What the program before this one left behind, when a live run's program was replaced.
    #[arg(long, hide = true, allow_hyphen_values = true)]
    legacy: Option<Legacy>,
}

/// The `main` of a program. Exit status: 0 when every packet is accounted for, 1 when something
/// failed, 2 for a wrong command line.
pub fn main<A: App + Send>(program: Program) -> ExitCode {
    main_with::<A>(program, std::env::args_os())
}

/// The same with arguments of the caller's, of which the first one is the program's name.
pub fn main_with<A: App + Send>(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let matches = read_command_line(command_line(A::NAME), arguments);
    perform::<A>(&program, &matches.unwrap_or_else(|error| error.exit()), &[])
}

/// The command line of the program with this name: for a `main` that knows more commands.
pub fn command_line(name: &'static str) -> clap::Command {
    Cli::command().name(name)
}

/// Does what a [command line](command_line) says; its runs may have a controller of these.
pub fn perform<A: App + Send>(
    program: &Program,
    matches: &ArgMatches,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    let cli = match Cli::from_arg_matches(matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    match cli.command {
        Command::Run(arguments) => {
            let given = matches.subcommand().map_or(matches, |(_, given)| given);
            match Run::read(given) {
                Ok(run) => run_command::<A>(program, run, arguments.legacy, known),
                Err(why) => refuse(&why),
            }
        }
        Command::Graph => print(program.graph_json),
        Command::Plan => print(program.plan_json),
        Command::Nic { fd, length, parent } => native_nic(program, fd, length, parent),
        Command::Layout => entry_layout::<A>()
            .map_or_else(|error| fail(&error.to_string()), |layout| print(&layout)),
        Command::Change { file } => make_change::<A>(file)
            .map_or_else(|error| fail(&error.to_string()), |change| print(&change)),
        Command::Host(arguments) => host_half::<A>(program, &arguments, known)
            .map_or_else(|error| fail(&error.to_string()), |account| print(&account.to_string())),
    }
}

fn native_nic(program: &Program, fd: i32, length: usize, parent: Option<u32>) -> ExitCode {
    if let Some(error) = parent.and_then(|parent| child::stay_with(parent).err()) {
        return fail(&error.to_string());
    }
    if let Err(errno) = sandbox::enter() {
        // The kernel was built without them. The run is as right as before.
        let _told = writeln!(
            std::io::stderr(),
            "the NIC half runs without a filter of system calls: {errno}"
        );
    }
    // The low byte is what a parent sees of an exit code.
    ExitCode::from((program.native_nic)(fd, length).to_le_bytes()[0])
}

fn run_command<A: App + Send>(
    program: &Program,
    run: Run,
    legacy: Option<Legacy>,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    let controllers = match Controllers::new(&run.options.moves, known) {
        Ok(controllers) => controllers,
        Err(why) => return refuse(&why),
    };
    match run.options.live.clone() {
        Some(ports) => live::<A>(program, &LiveRequest { run, ports, legacy }),
        None if legacy.is_some() => refuse("--legacy is for live runs"),
        None => on_capture::<A>(program, run.options, controllers),
    }
}

fn live<A: App>(program: &Program, request: &LiveRequest) -> ExitCode {
    let json = request.run.options.json;
    let report = match supervise::<A>(program, request) {
        Ok(report) => report,
        Err(error) => return fail(&error.to_string()),
    };
    let printed = print(&if json {
        serde_json::to_string_pretty(&report).unwrap_or_default()
    } else {
        report.to_string()
    });
    let faults = report.faults();
    if faults.is_empty() { printed } else { fail(&faults.join("; ")) }
}

fn on_capture<A: App + Send>(
    program: &Program,
    options: RunOptions,
    controllers: Controllers<A::Group>,
) -> ExitCode {
    let json = options.json;
    let to = if options.writes_standard_output() { Output::Error } else { Output::Standard };
    let finished = Request::new::<A>(options, controllers).and_then(|request| {
        let (report, state) = run::<A>(program, &request)?;
        if let Some(path) = &request.options.state_out {
            write_state(path, &state)?;
        }
        Ok(report)
    });
    match finished {
        Ok(report) => tell(&report, json, to),
        Err(error) => fail(&error.to_string()),
    }
}

fn tell(report: &RunReport, json: bool, to: Output) -> ExitCode {
    let text = if json {
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        report.to_string()
    };
    let printed = print_to(to, &text);
    let faults = report.faults();
    if faults.is_empty() { printed } else { fail(&faults.join("; ")) }
}

pub(crate) fn write_state(path: &Path, state: &Value) -> Result<(), RunError> {
    let failed = |cause| RunError::File { path: path.into(), cause };
    let mut file = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    serde_json::to_writer_pretty(&mut file, state).map_err(|error| failed(error.into()))?;
    file.write_all(b"\n").and_then(|()| file.flush()).map_err(failed)
}

/// Where what a command prints goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Standard,
    /// Packets go to standard output.
    Error,
}

fn print(text: &str) -> ExitCode {
    print_to(Output::Standard, text)
}

fn print_to(to: Output, text: &str) -> ExitCode {
    let printed = match to {
        Output::Standard => writeln!(std::io::stdout(), "{}", text.trim_end()),
        Output::Error => writeln!(std::io::stderr(), "{}", text.trim_end()),
    };
    match printed {
        // A reader that went away (`| head`) is no failure of the run; a full disk is.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(&format!("standard output: {error}"))
        }
        Ok(()) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Says on standard error why a command failed, and gives the exit status for that.
pub fn fail(what: &str) -> ExitCode {
    let _printed = writeln!(std::io::stderr(), "error: {what}");
    ExitCode::FAILURE
}

/// The same of a command line that is wrong.
fn refuse(why: &str) -> ExitCode {
    let _printed = fail(why);
    ExitCode::from(2)
}
