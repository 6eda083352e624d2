//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Write a stateful network function once; run it on SmartNIC and host together.
#[derive(Debug, Parser)]
#[command(name = "cargo cora", bin_name = "cargo cora", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Build a network function and run it on a capture
    Run(Run),
    /// Show the state-flow graph of a network function
    Graph(Graph),
    /// Compare two captures flow by flow
    Compare(Compare),
    /// Explain a diagnostic code
    Explain(Explain),
    /// Make a new package with a small network function in it
    New(New),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Name of a package of this workspace, or the path of one
    pub(crate) package: String,
    /// Where the NIC half runs
    #[arg(long, value_enum)]
    pub(crate) nic: Nic,
    /// Pairs of NIC core and host worker that flows are steered to [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) pairs: Option<u16>,
    /// The capture to feed in at the NIC's wire: pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub(crate) input: PathBuf,
    /// Where to write what leaves: pcap
    #[arg(long = "out", value_name = "CAPTURE")]
    pub(crate) output: Option<PathBuf>,
    /// host-only, nic-only, split, or a file like cora.toml [default: the package's cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the final state of every table, in canonical order
    #[arg(long, value_name = "FILE")]
    pub(crate) state_out: Option<PathBuf>,
    /// Set a read-mostly state from a file; may be given several times
    #[arg(long, value_name = "STATE=FILE")]
    pub(crate) config: Vec<String>,
    /// The prefixes of the inside network, separated by commas
    #[arg(long, value_name = "PREFIXES")]
    pub(crate) inside: Option<String>,
    /// Which pages the host's states are on [default: thp]
    #[arg(long, value_enum)]
    pub(crate) pages: Option<Pages>,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release")]
    pub(crate) profile: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Nic {
    /// The aarch64 program, under qemu
    Emulated,
    /// A process of this machine
    Native,
    /// No NIC: the host half alone
    Off,
}

impl Nic {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::Native => "native",
            Self::Off => "off",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pages {
    /// Small ones
    #[value(name = "4k")]
    Small,
    /// Transparent huge pages
    Thp,
    /// Huge pages that were set aside before
    Hugetlb,
}

impl Pages {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Small => "4k",
            Self::Thp => "thp",
            Self::Hugetlb => "hugetlb",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// Name of a package of this workspace, or the path of one
    pub(crate) package: String,
    /// What to draw it as
    #[arg(long, value_enum)]
    pub(crate) format: Format,
    /// host-only, nic-only, split, or a file like cora.toml [default: the package's cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
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
pub(crate) struct Explain {
    /// A code such as CORA0007; without one, all are listed
    pub(crate) code: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Directory to make; its last part is the package's name
    pub(crate) path: PathBuf,
    /// A checkout of Cora to depend on, instead of the published version
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) cora: Option<PathBuf>,
}
