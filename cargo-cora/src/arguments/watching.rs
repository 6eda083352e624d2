//! The command line of commands that ask a live run.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which entries are meant: all conditions hold.
#[derive(Debug, Default, Args)]
pub(crate) struct Which {
    /// An address of the key lies in this prefix, such as 10.0.0.0/8, or is this one
    #[arg(long, value_name = "PREFIX")]
    pub(crate) net: Option<String>,
    /// A port of the key
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The protocol of the key: tcp, udp, …
    #[arg(long)]
    pub(crate) protocol: Option<String>,
    /// The side that has it
    #[arg(long, value_parser = ["nic", "host"])]
    pub(crate) side: Option<String>,
    /// The shard that has it
    #[arg(long)]
    pub(crate) shard: Option<u16>,
    /// The state's name
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// Unused for more than so many milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) idle_over: Option<u64>,
    /// Used within so many milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) idle_under: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Flows {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Most entries
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: u64,
    /// Print JSON instead of lines: an object for each 10,000 entries or fewer
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Flow {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Words of the key as `flows` prints it, in any order: 10.0.0.1:4711 192.0.2.7:443
    pub(crate) key: Vec<String>,
    #[command(flatten)]
    pub(crate) which: Which,
    /// Remove its entries, as a handler does
    #[arg(long, group = "order")]
    pub(crate) delete: bool,
    /// Offer it to the NIC
    #[arg(long, group = "order")]
    pub(crate) offer: bool,
    /// Bring it back to the host
    #[arg(long, group = "order")]
    pub(crate) recall: bool,
    /// Follow the order also for more than one flow
    #[arg(long, requires = "order")]
    pub(crate) all: bool,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Levels that change: one for all parts, and others for some, as in info,ports=debug
    pub(crate) levels: Option<String>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Go on with events as they come, until this is interrupted or the run ends
    #[arg(long)]
    pub(crate) follow: bool,
    /// Begin with the newest N [default: all that are kept; 10 with --follow]
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<u64>,
    /// Print JSON instead of lines: an object for each 128 events or fewer
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Print one look at the run, and leave
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one JSON object, and leave
    #[arg(long)]
    pub(crate) json: bool,
    /// Milliseconds between two looks
    #[arg(long, value_name = "MS", default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(100..=60_000))]
    pub(crate) every: u64,
}

/// Which packets are meant: all conditions hold.
#[derive(Debug, Args)]
pub(crate) struct Packets {
    /// Either address lies in this prefix, such as 10.0.0.0/8, or is this one
    #[arg(long, value_name = "PREFIX")]
    pub(crate) net: Option<String>,
    /// Either port
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The protocol: tcp, udp, icmp, icmpv6, sctp, or a number
    #[arg(long)]
    pub(crate) protocol: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Tap {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// Where: wire-in, wire-out, punt, drop, separated by commas
    #[arg(value_delimiter = ',', value_parser = ["wire-in", "wire-out", "punt", "drop"], required = true)]
    pub(crate) points: Vec<String>,
    /// The capture, a pcapng; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) packets: Packets,
    /// One of so many packets that are meant
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) every: u32,
    /// Most bytes of a frame
    #[arg(long, value_name = "BYTES", default_value_t = 1536,
        value_parser = clap::value_parser!(u16).range(14..=1536))]
    pub(crate) snap: u16,
    /// Most records
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Ends after so many seconds
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The `--control` path of the run
    pub(crate) control: PathBuf,
    /// A packet that does not come: tcp 10.0.0.1:4711 > 192.0.2.7:443 syn
    #[arg(conflicts_with_all = ["net", "port", "protocol"])]
    pub(crate) packet: Vec<String>,
    /// The port where that packet comes in: inside, outside or a number
    #[arg(long, value_name = "PORT", default_value = "inside", requires = "packet")]
    pub(crate) at: String,
    /// Bytes of its payload
    #[arg(long, value_name = "BYTES", default_value_t = 0, requires = "packet",
        value_parser = clap::value_parser!(u16).range(0..=1400))]
    pub(crate) payload: u16,
    #[command(flatten)]
    pub(crate) packets: Packets,
    /// Most packets
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    /// Ends after so many seconds
    #[arg(long, value_name = "N", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}
