//! The command line of `check-plan`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::profile::Span;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).args(["input", "control"]))]
pub(crate) struct CheckPlan {
    /// Name of a package of this workspace, or the path of one
    #[arg(default_value = ".")]
    pub(crate) package: String,
    /// Build it and run it here on this capture: pcap or pcapng
    #[arg(long = "in", value_name = "CAPTURE")]
    pub(crate) input: Option<PathBuf>,
    /// Look twice at the counters of a live run of it: the `--control` path of the run
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Seconds between the two looks
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "input",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// host-only, nic-only, split, dealt, best, or a file like cora.toml [default: its cora.toml]
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// Predict for this NIC profile: bluefield2, bluefield3, or a file [default: the plan's, else
    /// bluefield2]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) nic: Option<String>,
    /// Predict for this traffic profile, or a file [default: the plan's, else zipf]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) traffic: Option<String>,
    /// The output of `cargo cora measure` [default: the package's cora.measured.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Set a read-mostly state from a file; may be given several times
    #[arg(long, value_name = "STATE=FILE", conflicts_with = "control")]
    pub(crate) config: Vec<String>,
    /// The prefixes of the inside network, separated by commas
    #[arg(long, value_name = "PREFIXES", conflicts_with = "control")]
    pub(crate) inside: Option<String>,
    /// How long a flow is there without a packet, for the profile that is drawn from the capture
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with = "control")]
    pub(crate) idle: Span,
    /// Cargo's profile: release, dev, or another of the workspace
    #[arg(long, default_value = "release", conflicts_with = "control")]
    pub(crate) profile: String,
    /// End with status 1 if a figure is off by more than so many per cent
    #[arg(long, value_name = "PERCENT")]
    pub(crate) fail_above: Option<f64>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
