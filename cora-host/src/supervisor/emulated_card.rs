//! An emulated card behind a wire: its emulator, and the host's end of the wire. It outlives
//! sessions, as a real one does; if it ends, another one boots.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cora_card::emulated::{Boot, Joint};

use crate::RunError;
use crate::memory::pages::Pages;
use crate::process::child;

/// A card boots at most once in this time.
const AGAIN: Duration = Duration::from_secs(1);

/// A card that boots, or has booted.
#[derive(Debug)]
pub(super) struct EmulatedCard {
    boot: Boot,
    /// Bytes of memory for NIC half and agent.
    half: usize,
    emulator: Child,
    begun: Instant,
    wire: UnixDatagram,
}

impl EmulatedCard {
    /// Begins to boot a card.
    pub(super) fn begin(boot: Boot, half: usize) -> Result<Self, RunError> {
        let (emulator, wire) = start(&boot, half)?;
        Ok(Self { boot, half, emulator, begun: Instant::now(), wire })
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
        let Some(status) = self.emulator.try_wait().map_err(failed)? else { return Ok(None) };
        if !served && status.signal().is_none() {
            return Err(RunError::CardEnded(status));
        }
        if self.begun.elapsed() < AGAIN {
            return Ok(None);
        }
        self.begun = Instant::now();
        (self.emulator, self.wire) = start(&self.boot, self.half)?;
        Ok(Some(status))
    }
}

/// Starts the emulator; returns it, and this end of its wire.
fn start(boot: &Boot, half: usize) -> Result<(Child, UnixDatagram), RunError> {
    let (own, other) = UnixDatagram::pair()
        .map_err(|cause| RunError::System { what: "a socket for the emulator", cause })?;
    let mut command = boot.command(Joint::Wire(other.as_fd()), half);
    child::gets(&mut command, &[other.as_fd(), boot.archive().as_fd()]);
    // The card's console. Packets may leave by standard output.
    command.stdout(Stdio::from(std::io::stderr()));
    Ok((child::spawn(command, None, Pages::Transparent)?, own))
}

impl Drop for EmulatedCard {
    fn drop(&mut self) {
        // If it has already ended, both calls return errors, and nothing is left to do.
        let _ended = self.emulator.kill();
        let _status = self.emulator.wait();
    }
}
