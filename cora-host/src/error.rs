//! Why a run ends early, and what to do about it.

use std::path::PathBuf;

use cora_core::state::OutOfMemory;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::region::AttachError;
use cora_runtime::link::ring::RingError;

use crate::capture::CaptureError;

/// Why a run ends early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file can't be opened, read or written.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A capture is not one, or is damaged.
    #[error("{}: {cause}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        cause: CaptureError,
    },
    /// What leaves would overwrite what comes in.
    #[error("{}: the same file for --in and --out", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// A capture would come from a keyboard, or go to a screen.
    #[error("{option} -: that is a terminal; join it to another program by a pipe, or name a file")]
    Terminal {
        /// The option.
        option: &'static str,
    },
    /// The states don't fit.
    #[error("{0}: lower a `capacity`, or give the machine more memory")]
    Memory(OutOfMemory),
    /// There is less memory than a live run needs.
    #[error(
        "a live run of this program needs {needed_mib} MiB of memory ({half_mib} MiB in each half), and {} leaves \
         {room_mib} MiB: allow it more, or lower a `capacity`",
        said_by.display()
    )]
    NoRoom {
        /// MiB that are needed.
        needed_mib: u64,
        /// Of them, the states of a half.
        half_mib: u64,
        /// MiB that there are.
        room_mib: u64,
        /// The file that says so.
        said_by: PathBuf,
    },
    /// Too few huge pages are set aside.
    #[error(
        "--pages hugetlb: the states of the host need {needed} huge pages of {page_kib} KiB, and \
         {available} are free. Type `sysctl vm.nr_hugepages={setting}` as root, or run with `--pages thp`"
    )]
    NoHugePages {
        /// Pages that are needed.
        needed: usize,
        /// The size of one.
        page_kib: usize,
        /// Pages that there are.
        available: usize,
        /// As many in all, with those of others, as would do.
        setting: usize,
    },
    /// None can be set aside.
    #[error("--pages hugetlb: this kernel has no such pages; run with `--pages thp`")]
    NoHugePagesAtAll,
    /// Several pairs were asked for, and the program has states that allow one only.
    #[error("{}", one_pair(*.pairs, .states))]
    OnePair {
        /// How many were asked for.
        pairs: u16,
        /// The states, and what is to be said of each.
        states: &'static [(&'static str, &'static str)],
    },
    /// Another pair failed, and says why.
    #[error("ended because another pair failed")]
    Abandoned,
    /// The kernel won't.
    #[error("{what}: {cause}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it says.
        cause: std::io::Error,
    },
    /// The program has no NIC half for the emulator.
    #[error(
        "this program was built without its NIC half: build it with `--features nic`, or run it with \
         `--nic native`"
    )]
    NoNicImage,
    /// There is no emulator.
    #[error(
        "no qemu-aarch64 in PATH: install it (Debian: `apt-get install qemu-user`), set CORA_QEMU to its \
         path, or run with `--nic native`"
    )]
    NoEmulator,
    /// The NIC process could not be started.
    #[error("can't start the NIC process ({program}): {cause}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The NIC process ended by itself.
    #[error("the NIC process ended early ({status}); {packets} packets were on their way")]
    NicDied {
        /// How it ended.
        status: String,
        /// Packets fed in that have no outcome.
        packets: u64,
    },
    /// A port can't be had, or is no more.
    #[error("{0}")]
    Port(#[from] cora_port::PortError),
    /// Another build's entries can't be taken over.
    #[error("durable entries of the program before can't be taken over: {0}")]
    OtherEntries(String),
    /// The copy of a singleton is none.
    #[error("the copy of `{0}` is damaged: it is lost, and so is every flow that rests on it")]
    Damaged(String),
    /// A half says that it can't begin.
    #[error("the {name} process can't begin: its message stands above")]
    RefusedToBegin {
        /// Which half.
        name: &'static str,
    },
    /// A half ends again and again before it works.
    #[error("the {name} process ended {times} times in a row before it worked (last: {status})")]
    KeepsDying {
        /// Which half.
        name: &'static str,
        /// How it ended last.
        status: String,
        /// How often.
        times: u32,
    },
    /// The NIC process lives, but does nothing.
    #[error("the NIC process has not moved for {seconds} s; it was ended")]
    NicSilent {
        /// How long.
        seconds: u64,
    },
    /// A run on a capture ended in this packet.
    #[error("{error}; it was in {packet}")]
    InPacket {
        /// Why.
        error: Box<Self>,
        /// The packet, with its number and flow.
        packet: String,
    },
    /// The region can't be made.
    #[error("the shared region: {0}")]
    Region(AttachError),
    /// A ring is broken.
    #[error("a ring from the NIC is broken: {0}")]
    Ring(#[from] RingError),
    /// A ring to the NIC is broken.
    #[error("a ring to the NIC is broken")]
    RingToNic,
    /// The NIC said something impossible.
    #[error("the NIC broke the protocol: {0}")]
    Protocol(#[from] ProtocolError),
    /// The NIC sends packets to the host, and takes none of those that come back.
    #[error("the NIC took nothing from the host for {seconds} s, and {mib} MiB wait for it")]
    NicTakesNothing {
        /// How long.
        seconds: u64,
        /// What waits.
        mib: usize,
    },
    /// Records were asked for, and the program makes none.
    #[error("--ipfix: no state of {program} is `recorded`, so that there are no records to export")]
    NothingRecorded {
        /// The program.
        program: &'static str,
    },
    /// The collector of records is not to be found.
    #[error("--ipfix udp:{collector}: {cause}")]
    Collector {
        /// Host and port.
        collector: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// There is no controller as the run should have.
    #[error("{0}")]
    Controller(String),
    /// A `--config` names no read-mostly state.
    #[error(
        "--config {name}: the program has no read-mostly state of that name; it has {}",
        listed(known)
    )]
    NoSuchState {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A configuration is refused by its state.
    #[error("{}: {reason}", path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// What the state says.
        reason: &'static str,
    },
}

impl RunError {
    /// Whether the NIC half did something that no sound one does. Then that half is to be ended and
    /// replaced; the side that noticed goes on.
    pub(crate) const fn is_nics_fault(&self) -> bool {
        matches!(
            self,
            Self::Ring(_) | Self::RingToNic | Self::Protocol(_) | Self::NicTakesNothing { .. }
        )
    }
}

fn one_pair(pairs: u16, states: &[(&str, &str)]) -> String {
    let reasons: Vec<String> =
        states.iter().map(|(name, why)| format!("\n  `{name}`: {why}")).collect();
    format!(
        "--pairs {pairs}: under this plan the program runs on one pair of NIC core and host worker \
         only:{}\nrun it without --pairs",
        reasons.concat()
    )
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
}
