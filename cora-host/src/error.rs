//! Why a run ends early, and the remedy.

use std::path::PathBuf;

use cora_core::state::OutOfMemory;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::region::AttachError;
use cora_runtime::link::ring::RingError;
use cora_runtime::node::NodeError;

use crate::ingress::pcap::CaptureError;

/// Why a run ends early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file can't be opened, read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A file is not a capture, or is damaged.
    #[error("{}: {cause}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// The fault, and its place.
        cause: CaptureError,
    },
    /// The output would overwrite the input.
    #[error("{}: the same file for --in and --out", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// Messages are to come, and no handler takes any.
    #[error(
        "--messages is for programs that take messages in datagrams, and no handler of `{program}` does: say --in \
         or --live for packets"
    )]
    TakesNoMessages {
        /// The program's name.
        program: &'static str,
    },
    /// A capture would be read from a keyboard, or written to a screen.
    #[error("{option} -: that is a terminal; join it to another program by a pipe, or name a file")]
    Terminal {
        /// The option.
        option: &'static str,
    },
    /// The states don't fit the memory.
    #[error("{0}: lower a `capacity`, or give the machine more memory")]
    Memory(OutOfMemory),
    /// There is less memory than a live run needs.
    #[error(
        "a live run of this program needs {needed_mib} MiB of memory ({half_mib} MiB in each half), and {} leaves \
         {room_mib} MiB: allow it more, or lower a `capacity`",
        said_by.display()
    )]
    NoRoom {
        /// MiB required.
        needed_mib: u64,
        /// MiB required for the states of a half.
        half_mib: u64,
        /// MiB available.
        room_mib: u64,
        /// The file with the limit.
        said_by: PathBuf,
    },
    /// Too few huge pages are reserved.
    #[error(
        "--pages hugetlb: the states of the host need {needed} huge pages of {page_kib} KiB, and \
         {available} are free. Type `sysctl vm.nr_hugepages={setting}` as root, or run with `--pages thp`"
    )]
    NoHugePages {
        /// Pages required.
        needed: usize,
        /// The size of a page.
        page_kib: usize,
        /// Pages available.
        available: usize,
        /// The setting that would suffice, including pages in use by others.
        setting: usize,
    },
    /// The kernel has no reserved huge pages.
    #[error("--pages hugetlb: this kernel has no such pages; run with `--pages thp`")]
    NoHugePagesAtAll,
    /// The plan deals buckets to a shard that the run does not have.
    #[error("the plan's deal: {0}")]
    Dealer(cora_switch::NoSuchShard),
    /// A log of flows that move was requested, but under the plan only buckets do.
    #[error(
        "--moves adapt:FILE: no flow moves under the plan `dealt`, so there is no log; with `--moves adapt` \
         buckets move, and the report says why"
    )]
    NothingToLog,
    /// Several shards were requested, but the program has states that allow only one.
    #[error("{}", one_shard(*.shards, .states))]
    OneShard {
        /// The number of requested shards.
        shards: u16,
        /// The states, each with its reason.
        states: &'static [(&'static str, &'static str)],
    },
    /// Several shards were to be measured of a program whose messages go from shard to shard.
    #[error(
        "{shards} shards are measured each by itself, and messages go from one to another: measure one, or \
         `run --shards {shards}`"
    )]
    Apart {
        /// The number of requested shards.
        shards: u16,
    },
    /// A thread of a measurement failed, and reports the cause.
    #[error("ended because another thread failed")]
    Abandoned,
    /// The kernel refused a request.
    #[error("{what}: {cause}")]
    System {
        /// The request.
        what: &'static str,
        /// The kernel's error.
        cause: std::io::Error,
    },
    /// The program has no NIC half for the emulator.
    #[error(
        "this program was built without its NIC half: build it with `--features nic`, or run it with \
         `--nic native`"
    )]
    NoNicImage,
    /// The emulator was not found.
    #[error(
        "no qemu-aarch64 in PATH: install it (Debian: `apt-get install qemu-user`), set CORA_QEMU to its \
         path, or run with `--nic native`"
    )]
    NoEmulator,
    /// There is no emulated card.
    #[error("--nic card: {0}")]
    Card(#[from] cora_card::emulated::CardError),
    /// The program for the card was not named.
    #[error(
        "--nic card: the card needs a program of its own; `cargo cora run` builds it, or name it with \
         --card-program FILE"
    )]
    NoCardProgram,
    /// The card refuses the session.
    #[error("{0}")]
    Refused(cora_link::mirror::hello::Refusal),
    /// The agent does not run this program, or the server's socket was not found.
    #[error("not attached: {0}")]
    NotAttached(String),
    /// Packets come from an agent without marks, and handlers of this program read them.
    #[error(
        "--agent: packets of `{program}` get marks, for a state that is `per = Bucket` or a port that it \
         takes from a bucket, and an agent makes none: run it with ports of its own"
    )]
    NeedsMarks {
        /// The program's name.
        program: &'static str,
    },
    /// The build has not checked that the program may share a process.
    #[error(
        "--share-process: the build has not checked that this program may share a process: write \
         `share-process = true` in `[package.metadata.cora]` of its manifest, and build it again"
    )]
    SharesNoProcess,
    /// The card does not answer any more.
    #[error("the card has been silent for too long: its link is cut, or it has ended")]
    CardSilent,
    /// An interface is too narrow for the frames of the link.
    #[error(
        "the interface `{interface}` has an MTU of {mtu}, and the link's frames need {least}: \
         `ip link set dev {interface} mtu 1500`",
        least = cora_link::Settings::LEAST_MTU
    )]
    NarrowLink {
        /// Its name.
        interface: String,
        /// Bytes.
        mtu: usize,
    },
    /// The emulator of a card ended before its NIC half did.
    #[error("the card ended ({0})")]
    CardEnded(std::process::ExitStatus),
    /// The link to a card can't go on.
    #[error("{0}")]
    Mirror(cora_link::mirror::Broken),
    /// The NIC process could not be started.
    #[error("can't start the NIC process ({program}): {cause}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A half ended unexpectedly, and the run with it.
    #[error("the {name} process ended early ({status}); {packets} packets were on their way")]
    Died {
        /// Which half.
        name: &'static str,
        /// Its exit status.
        status: String,
        /// Packets that were fed in and have no outcome yet.
        packets: u64,
    },
    /// A port is unavailable, or was lost.
    #[error("{0}")]
    Port(#[from] cora_port::PortError),
    /// Entries of another build can't be taken over.
    #[error("durable entries of the program before can't be taken over: {0}")]
    OtherEntries(String),
    /// The replica of a singleton is invalid.
    #[error("the copy of `{0}` is damaged: it is lost, and so is every flow that rests on it")]
    Damaged(String),
    /// A half reports that it can't begin.
    #[error("the {name} process can't begin: its message stands above")]
    RefusedToBegin {
        /// Which half.
        name: &'static str,
    },
    /// A half ends repeatedly before it works.
    #[error("the {name} process ended {times} times in a row before it worked (last: {status})")]
    KeepsDying {
        /// Which half.
        name: &'static str,
        /// Its last exit status.
        status: String,
        /// How often it ended.
        times: u32,
    },
    /// A half lives, but makes no progress.
    #[error("the {name} process has not moved for {seconds} s; it was ended")]
    Silent {
        /// Which half.
        name: &'static str,
        /// The duration.
        seconds: u64,
    },
    /// A run on a capture ended in this packet.
    #[error("{error}; it was in {packet}")]
    InPacket {
        /// The cause.
        error: Box<Self>,
        /// The packet, with its number and flow.
        packet: String,
    },
    /// The region can't be created.
    #[error("the shared region: {0}")]
    Region(AttachError),
    /// A ring is broken.
    #[error("a ring from the NIC is broken: {0}")]
    Ring(#[from] RingError),
    /// A ring to the NIC is broken.
    #[error("a ring to the NIC is broken")]
    RingToNic,
    /// The NIC violated the protocol.
    #[error("the NIC broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The NIC sends packets to the host, but reads no messages from it.
    #[error("the NIC took nothing from the host for {seconds} s, and {mib} MiB wait for it")]
    NicTakesNothing {
        /// The duration.
        seconds: u64,
        /// MiB that wait.
        mib: usize,
    },
    /// Records were requested, but the program makes none.
    #[error("--ipfix: no state of {program} is `recorded`, so that there are no records to export")]
    NothingRecorded {
        /// The program.
        program: &'static str,
    },
    /// The collector of records can't be reached.
    #[error("--ipfix udp:{collector}: {cause}")]
    Collector {
        /// Host and port.
        collector: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The requested controller does not exist.
    #[error("{0}")]
    Controller(String),
    /// A `--config` option names no read-mostly state.
    #[error(
        "--config {name}: the program has no read-mostly state of that name; it has {}",
        listed(known)
    )]
    NoSuchState {
        /// The name.
        name: String,
        /// The existing names.
        known: Vec<&'static str>,
    },
    /// States refused their configuration: all faults, each with its file and place.
    #[error("{}", .0.join("\n"))]
    Configuration(Vec<String>),
}

/// A NIC half that runs in this process stopped.
impl From<NodeError> for RunError {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Ring(error) => Self::Ring(error),
            NodeError::Protocol(error) => Self::Protocol(error),
            NodeError::Broken => Self::RingToNic,
        }
    }
}

impl RunError {
    /// Whether the NIC half did something that no sound one does. That half must then be ended and
    /// replaced; the side that noticed continues.
    pub(crate) const fn is_nics_fault(&self) -> bool {
        matches!(
            self,
            Self::Ring(_) | Self::RingToNic | Self::Protocol(_) | Self::NicTakesNothing { .. }
        )
    }
}

fn one_shard(shards: u16, states: &[(&str, &str)]) -> String {
    let reasons: Vec<String> =
        states.iter().map(|(name, why)| format!("\n  `{name}`: {why}")).collect();
    format!(
        "--shards {shards}: under this plan the program runs on one shard of NIC core and host worker \
         only:{}\nrun it without --shards",
        reasons.concat()
    )
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}
