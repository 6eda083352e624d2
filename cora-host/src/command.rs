//! The command line of a program.

use std::ffi::OsString;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use cora_core::app::App;
use serde_json::Value;

use crate::control_loop::{Controllers, Moves, NamedController};
use crate::inside::{DEFAULT_INSIDE, Inside};
use crate::ipfix::{Exporter, TargetName};
use crate::nic_process::{NIC_COMMAND, NicMode, PATIENCE};
use crate::pages::Pages;
use crate::pairs::MOST_PAIRS;
use crate::report::RunReport;
use crate::run::{Request, run};
use crate::supervisor::{
    CHANGE_COMMAND, HOST_COMMAND, HostArguments, LAYOUT_COMMAND, Legacy, LiveRequest, Ports,
    entry_layout, host_half, make_change, supervise,
};
use crate::{Program, RunError};

/// A network function that runs on SmartNIC and host together.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run it on a capture.
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
    },
    /// Be the host half of a live run: started by `run --live`.
    #[command(name = HOST_COMMAND, hide = true)]
    Host(HostArguments),
    /// Print how durable entries are encoded, as JSON: for another build that is to be replaced by this one.
    #[command(name = LAYOUT_COMMAND, hide = true)]
    Layout,
    /// Print what makes another version of read-mostly states of the one in force, as JSON: for a live run.
    #[command(name = CHANGE_COMMAND, hide = true)]
    Change {
        /// File descriptor of what they are made from.
        file: i32,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// How the NIC half runs.
    #[arg(long, value_enum, default_value = "native")]
    nic: NicMode,
    /// Pairs of NIC core and host worker: flows are steered to them, and they share nothing.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = pair_count())]
    pairs: u16,
    /// The capture that comes in at the NIC's wire: pcap or pcapng, Ethernet.
    #[arg(long = "in", value_name = "FILE", required_unless_present = "live")]
    input: Option<PathBuf>,
    /// Two ports in place of a capture, as inside=PORT,outside=PORT, each tap:NAME, packet:IFACE, xdp:IFACE,
    /// pcap:IN+OUT or mem:flows=N;size=BYTES: until SIGINT. Either half may die meanwhile, and is started again.
    #[arg(long, value_name = "PORTS", conflicts_with_all = ["input", "output", "pairs"])]
    live: Option<Ports>,
    /// A socket to be made there, open to its owner alone, by which `cargo cora configure` and `cargo cora upgrade`
    /// reach a live run.
    #[arg(long, value_name = "PATH", requires = "live")]
    control: Option<PathBuf>,
    /// When a live run ends by itself.
    #[arg(long, value_name = "N", requires = "live")]
    seconds: Option<u64>,
    /// What the program before this one left behind, when a live run's program was replaced.
    #[arg(long, hide = true, requires = "live", allow_hyphen_values = true)]
    legacy: Option<Legacy>,
    /// Where to write what leaves, as pcap.
    #[arg(long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
    /// Where to write the final state of every table, as JSON in canonical order.
    #[arg(long, value_name = "FILE")]
    state_out: Option<PathBuf>,
    /// A configuration for a read-mostly state, as State=file.
    #[arg(long = "config", value_name = "STATE=FILE", value_parser = configuration)]
    configurations: Vec<(String, PathBuf)>,
    /// Another version of a read-mostly state, as N:State=file: it takes force before the packet with number N, counted
    /// from 0. Where a capture is shorter, at its end.
    #[arg(long = "change", value_name = "N:STATE=FILE", value_parser = change)]
    #[arg(conflicts_with_all = ["live", "pairs"])]
    changes: Vec<(u64, String, PathBuf)>,
    /// Source prefixes that come in at the inside port, unless the capture has several interfaces.
    #[arg(long, value_name = "PREFIX,…", default_value = DEFAULT_INSIDE)]
    inside: Inside,
    /// Which pages the host's states are on.
    #[arg(long, value_enum, default_value_t)]
    pages: Pages,
    /// Who decides which flows move: `plan`; `adapt`, a controller that learns; or `adapt:FILE`, with a log of its
    /// decisions.
    #[arg(long, value_name = "WHO", default_value = "plan")]
    moves: Moves,
    /// Where records of entries that ended go, as IPFIX (RFC 7011): a file, or udp:HOST:PORT for a collector. For programs
    /// with a `recorded` state.
    #[arg(long, value_name = "WHERE")]
    ipfix: Option<TargetName>,
    /// How often in a row, without a packet in between, a NIC that was killed is started anew: 3 unless stated for
    /// programs with durable states, never for others.
    #[arg(long, value_name = "NUMBER")]
    restarts: Option<u16>,
    /// How many seconds the NIC may stand still before it is given up: for tests.
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE, hide = true)]
    patience: u16,
}

/// How many pairs there may be, as an option says it.
pub fn pair_count() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=i64::from(MOST_PAIRS))
}

/// A configuration for a read-mostly state, as an option says it: `State=file`.
///
/// # Errors
/// What is expected.
pub fn configuration(text: &str) -> Result<(String, PathBuf), String> {
    let (state, file) =
        text.split_once('=').ok_or("write it as State=file, for example Backends=backends.txt")?;
    Ok((state.into(), file.into()))
}

fn change(text: &str) -> Result<(u64, String, PathBuf), String> {
    let (packet, change) = text
        .split_once(':')
        .ok_or("write it as N:State=file, for example 1000:Backends=backends.txt")?;
    let packet = packet.parse().map_err(|_| format!("`{packet}` is no packet's number"))?;
    let (state, file) = configuration(change)?;
    Ok((packet, state, file))
}

/// The `main` of a program. Exit status: 0 when every packet is accounted for, 1 when something failed,
/// 2 for a wrong command line.
pub fn main<A: App + Send>(program: Program) -> ExitCode {
    main_with::<A>(program, std::env::args_os())
}

/// The same with arguments of the caller's, of which the first one is the program's name.
pub fn main_with<A: App + Send>(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    perform::<A>(&program, &command_line(A::NAME).get_matches_from(arguments), &[])
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
        Command::Run(arguments) => run_command::<A>(program, *arguments, known),
        Command::Graph => print(program.graph_json),
        Command::Plan => print(program.plan_json),
        Command::Nic { fd, length } => {
            // The low byte is what a parent sees of an exit code.
            ExitCode::from((program.native_nic)(fd, length).to_le_bytes()[0])
        }
        Command::Layout => entry_layout::<A>()
            .map_or_else(|error| fail(&error.to_string()), |layout| print(&layout)),
        Command::Change { file } => make_change::<A>(file)
            .map_or_else(|error| fail(&error.to_string()), |change| print(&change)),
        Command::Host(arguments) => host_half::<A>(program, arguments, known)
            .map_or_else(|error| fail(&error.to_string()), |account| print(&account.to_string())),
    }
}

fn run_command<A: App + Send>(
    program: &Program,
    arguments: RunArguments,
    known: &[NamedController<A::Group>],
) -> ExitCode {
    let RunArguments {
        nic,
        pairs,
        input,
        live,
        control,
        seconds,
        legacy,
        output,
        json,
        state_out,
        configurations,
        changes,
        inside,
        pages,
        moves,
        ipfix,
        patience,
        restarts,
    } = arguments;
    let controllers = match Controllers::new(&moves, known) {
        Ok(controllers) => controllers,
        Err(why) => {
            let _printed = fail(&why);
            return ExitCode::from(2);
        }
    };
    let patience = Duration::from_secs(patience.into());
    if let Some(ports) = live {
        let request = LiveRequest {
            nic,
            ports,
            seconds,
            patience,
            configurations,
            pages,
            legacy,
            moves,
            state_out,
            ipfix,
            control,
        };
        return match supervise::<A>(program, &request) {
            Ok(report) if json => print(&serde_json::to_string_pretty(&report).unwrap_or_default()),
            Ok(report) => print(&report.to_string()),
            Err(error) => fail(&error.to_string()),
        };
    }
    let input = input.unwrap_or_default();
    let exporter = ipfix.map(|name| Exporter::open::<A>(&name, false)).transpose();
    let exporter = match exporter {
        Ok(exporter) => exporter,
        Err(error) => return fail(&error.to_string()),
    };
    let request = Request {
        nic,
        pairs,
        patience,
        input,
        output,
        configurations,
        changes,
        inside,
        pages,
        controllers,
        restarts,
        exporter,
    };
    let finished = run::<A>(program, &request).and_then(|(report, state)| {
        if let Some(path) = &state_out {
            write_state(path, &state)?;
        }
        Ok(report)
    });
    match finished {
        Ok(report) => tell(&report, json),
        Err(error) => fail(&error.to_string()),
    }
}

fn tell(report: &RunReport, json: bool) -> ExitCode {
    let text = if json {
        serde_json::to_string_pretty(report).unwrap_or_default()
    } else {
        report.to_string()
    };
    let printed = print(&text);
    let faults = report.faults();
    if faults.is_empty() { printed } else { fail(&faults.join("; ")) }
}

pub(crate) fn write_state(path: &Path, state: &Value) -> Result<(), RunError> {
    let failed = |cause| RunError::File { path: path.into(), cause };
    let mut file = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    serde_json::to_writer_pretty(&mut file, state).map_err(|error| failed(error.into()))?;
    file.write_all(b"\n").and_then(|()| file.flush()).map_err(failed)
}

fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{}", text.trim_end()) {
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
