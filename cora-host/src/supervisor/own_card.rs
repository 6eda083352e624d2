//! A card behind a wire that this machine plays: its emulator, or the agent of a local card, and
//! the host's end of the wire. It outlives sessions, as a real one does; if it ends, another one
//! boots.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cora_card::emulated::{Boot, Joint};

use crate::RunError;
use crate::memory::pages::Pages;
use crate::process::child;
use crate::process::log::{self, Source};
use crate::process::nic_half::LOCAL_COMMAND;

/// An emulated card boots at most once in this time.
const BOOTS_AGAIN: Duration = Duration::from_secs(1);
/// The same for an agent.
const STARTS_AGAIN: Duration = Duration::from_millis(20);

/// How this machine plays a card.
#[derive(Debug)]
enum Kind {
    /// As a whole, with so many bytes of memory for NIC half and agent.
    Emulated(Boot, usize),
    /// By an agent alone.
    Local,
}

/// A card that boots, or has booted.
#[derive(Debug)]
pub(super) struct OwnCard {
    kind: Kind,
    process: Child,
    begun: Instant,
    wire: UnixDatagram,
}

impl OwnCard {
    /// Begins to boot an emulated card, with so many bytes of memory for NIC half and agent.
    pub(super) fn emulated(boot: Boot, half: usize) -> Result<Self, RunError> {
        Self::begin(Kind::Emulated(boot, half))
    }

    /// Starts the agent of a local card.
    pub(super) fn local() -> Result<Self, RunError> {
        Self::begin(Kind::Local)
    }

    fn begin(kind: Kind) -> Result<Self, RunError> {
        let (process, wire) = start(&kind)?;
        Ok(Self { kind, process, begun: Instant::now(), wire })
    }

    /// The host's end of its wire: a datagram is a frame.
    pub(super) fn wire(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }

    /// If it ended, boots it again, with another wire; returns how it ended.
    ///
    /// # Errors
    /// If a card that has never `served` ended by itself: it would do so again.
    pub(super) fn look(&mut self, served: bool) -> Result<Option<ExitStatus>, RunError> {
        let failed = |cause| RunError::System { what: "waiting for a process", cause };
        let Some(status) = self.process.try_wait().map_err(failed)? else { return Ok(None) };
        if !served && status.signal().is_none() {
            return Err(RunError::CardEnded(status));
        }
        let pause = match self.kind {
            Kind::Emulated(..) => BOOTS_AGAIN,
            Kind::Local => STARTS_AGAIN,
        };
        if self.begun.elapsed() < pause {
            return Ok(None);
        }
        self.begun = Instant::now();
        (self.process, self.wire) = start(&self.kind)?;
        Ok(Some(status))
    }
}

/// Starts the emulator, or the agent; returns it, and this end of its wire.
fn start(kind: &Kind) -> Result<(Child, UnixDatagram), RunError> {
    let (own, other) = UnixDatagram::pair()
        .map_err(|cause| RunError::System { what: "a socket for the card", cause })?;
    let command = match kind {
        Kind::Emulated(boot, half) => {
            let mut command = boot.command(Joint::Wire(other.as_fd()), *half);
            child::gets(&mut command, &[other.as_fd(), boot.archive().as_fd()]);
            // The card's console. Packets may leave by standard output.
            command.stdout(Stdio::from(std::io::stderr()));
            log::read_words(&mut command, Source::CONSOLE, true);
            command
        }
        Kind::Local => {
            let mut command = child::own(LOCAL_COMMAND);
            command.arg(other.as_raw_fd().to_string()).arg(std::process::id().to_string());
            child::gets(&mut command, &[other.as_fd()]);
            log::read_words(&mut command, Source::LINK, false);
            command
        }
    };
    Ok((child::spawn(command, None, Pages::Transparent)?, own))
}

impl Drop for OwnCard {
    fn drop(&mut self) {
        // If it has already ended, both calls return errors, and nothing is left to do.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}
