//! The command line of a program that can be measured: the instruments, beside the commands of
//! every program.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, FromArgMatches as _, Subcommand};
use cora_core::app::App;
use cora_host::parts::Pages;
use cora_host::{Inside, Program, RunError, configuration, fail, shard_count};

use crate::instructions::{self, Counted, count};
use crate::nodes::{self, NodesError};
use crate::paths::{TraceError, trace};
use crate::random_moves::random_moves;
use crate::replay::{Half, replay};
use crate::scaling::scale;

#[derive(Debug, Subcommand)]
enum Instrument {
    /// Measure it in memory: a pass over a capture per line of standard input.
    Bench {
        #[command(flatten)]
        traffic: TrafficArguments,
        /// Packets at its beginning that only fill the tables.
        #[arg(long, default_value_t = 0)]
        warm: usize,
        /// Which half runs.
        #[arg(long, value_enum, default_value = "host")]
        half: Half,
        /// So many host halves at once, each on a thread of its own, with the time of all together.
        #[arg(long, value_name = "N", value_parser = shard_count(), conflicts_with = "half")]
        shards: Option<u16>,
        /// Which pages the host's states are on.
        #[arg(long, value_enum, default_value_t)]
        pages: Pages,
    },
    /// Print which ways packets take through the handlers, as JSON: of a build that traces.
    #[command(hide = true)]
    Trace {
        #[command(flatten)]
        traffic: TrafficArguments,
        /// Where to write the ways of each packet: their number, and each, as little-endian `u32`.
        #[arg(long, value_name = "FILE")]
        each: Option<PathBuf>,
    },
    /// Run it in memory with a mark between bursts, for an emulator that counts instructions.
    #[command(hide = true)]
    Count {
        #[command(flatten)]
        traffic: TrafficArguments,
        /// Which half runs.
        #[arg(long, value_enum)]
        half: Counted,
        /// Packets between two marks, at most.
        #[arg(long, default_value_t = 1)]
        burst: usize,
        /// Packets in all, at most.
        #[arg(long, default_value_t = usize::MAX)]
        packets: usize,
    },
    /// Run several nodes of it in memory, and a client of theirs: a pass per line of standard
    /// input, which says how many questions are outstanding, and how many are asked.
    #[command(hide = true)]
    Nodes {
        /// The capture of the client's questions.
        #[arg(long = "in", value_name = "FILE")]
        input: PathBuf,
        /// Questions at its beginning that make the nodes ready, 10 ms apart.
        #[arg(long, default_value_t = 0)]
        warm: usize,
        /// Where a node takes datagrams.
        #[arg(long = "node", value_name = "ADDRESS:PORT", required = true)]
        nodes: Vec<SocketAddrV4>,
        /// The configuration of each node, in their order, as State=file.
        #[arg(long = "config", value_name = "STATE=FILE", value_parser = configuration)]
        configurations: Vec<(String, PathBuf)>,
    },
}

/// The packets that a measurement is made with.
#[derive(Debug, Args)]
struct TrafficArguments {
    /// The capture.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// A configuration for a read-mostly state, as State=file.
    #[arg(long = "config", value_name = "STATE=FILE", value_parser = configuration)]
    configurations: Vec<(String, PathBuf)>,
    /// Source prefixes that come in at the inside port, whatever interfaces the capture has.
    #[arg(long, value_name = "PREFIX,…")]
    inside: Option<Inside>,
}

/// Cause of a failed measurement.
#[derive(Debug, thiserror::Error)]
enum MeasureError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Nodes(#[from] NodesError),
}

/// The `main` of a program that can be measured. Exit status: as that of [`cora_host::main`].
pub fn main<A: App + Send>(program: Program) -> ExitCode {
    main_with::<A>(program, std::env::args_os())
}

/// Runs [`main`] with the caller's arguments; the first one is the program's name.
pub fn main_with<A: App + Send>(
    program: Program,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let command = Instrument::augment_subcommands(cora_host::command_line(A::NAME));
    let matches = cora_host::read_command_line(command, arguments);
    let matches = matches.unwrap_or_else(|error| error.exit());
    if !matches.subcommand_name().is_some_and(Instrument::has_subcommand) {
        return cora_host::perform::<A>(&program, &matches, &[random_moves()]);
    }
    let instrument = match Instrument::from_arg_matches(&matches) {
        Ok(instrument) => instrument,
        Err(error) => error.exit(),
    };
    match measure::<A>(instrument, program.graph_json) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn measure<A: App + Send>(instrument: Instrument, graph: &str) -> Result<(), MeasureError> {
    match instrument {
        Instrument::Bench { traffic, warm, half, shards, pages } => {
            let TrafficArguments { input, configurations, inside } = traffic;
            let inside = inside.unwrap_or_default();
            match shards {
                Some(shards) => scale::<A>(&input, inside, &configurations, warm, shards, pages)?,
                None => replay::<A>(&input, inside, &configurations, half, warm, pages)?,
            }
        }
        Instrument::Trace { traffic, each } => {
            let TrafficArguments { input, configurations, inside } = traffic;
            let inside = inside.unwrap_or_default();
            trace::<A>(&input, inside, &configurations, each.as_deref(), graph)?;
        }
        Instrument::Count { traffic, half, burst, packets } => {
            let TrafficArguments { input, configurations, inside } = traffic;
            let inside = inside.unwrap_or_default();
            let (input, configurations) = (&input, &configurations);
            let request =
                instructions::Request { input, inside, configurations, half, burst, packets };
            count::<A>(&request)?;
        }
        Instrument::Nodes { input, warm, nodes, configurations } => {
            nodes::run::<A>(nodes::Request { input: &input, warm, nodes, configurations })?;
        }
    }
    Ok(())
}
