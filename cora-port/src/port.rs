//! The trait, and what a port counts and says of itself.

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use crate::PortError;

/// Where frames come from and go to. A frame is Ethernet without its check sequence; VLAN tags are
/// within.
///
/// Every frame that came is either handed over or counted under one name of [`Counters::outcomes`],
/// and so is every frame that was to leave. What a port without an interface has nothing to do for
/// is provided.
pub trait Port: Debug + Send {
    /// Hands over frames that came, in their order, `most` at most; how many. None: nothing is
    /// there now.
    ///
    /// # Errors
    /// When nothing will come any more, because the interface is gone or its ring is broken. A link
    /// that is down is no error.
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError>;

    /// Takes frames that are to leave, in their order; how many it took. The others are counted,
    /// each under the name of its reason. They leave at the latest when [`flush`](Self::flush) is
    /// called.
    fn transmit(&mut self, frames: &[&[u8]]) -> usize;

    /// Sends what was taken.
    ///
    /// # Errors
    /// When nothing can leave any more, because the interface is gone.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Asks the system what changed: the link, the MTU, what the kernel dropped. To be called now
    /// and then, say every millisecond; a port asks as often as is good for it.
    ///
    /// # Errors
    /// When the interface is gone.
    fn look(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Files that become readable when a frame comes: what to wait for. None: there is nothing to
    /// wait for.
    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Whether nothing will come any more, in good order.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Longest frame that it takes: bytes behind the Ethernet header and VLAN tags.
    fn mtu(&self) -> usize;

    /// Whether frames can leave and come, when last looked.
    fn link(&self) -> Link {
        Link::Up
    }

    /// What becomes of checksums.
    fn checksums(&self) -> Checksums;

    /// What was counted so far.
    fn counters(&self) -> Counters;

    /// What it found and chose when it was opened, a sentence each; may be none.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// How another program takes this port over.
    fn upgrade(&self) -> Upgrade<'_>;
}

/// Whether frames can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// They can.
    Up,
    /// They can't: the interface is down, or nothing is at its other end.
    Down,
}

/// How a program that takes the place of this one gets a port.
#[derive(Debug)]
pub enum Upgrade<'a> {
    /// It inherits this file: no frame is lost.
    Inherit(BorrowedFd<'a>),
    /// It opens the port anew, and what comes in between is lost (or goes to the kernel's own
    /// network stack).
    Reopen,
    /// It can't: the port would begin anew.
    Refuse,
}

/// What a port does about transport checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Of frames that come.
    pub on_receive: OnReceive,
    /// Of frames that leave.
    pub on_transmit: OnTransmit,
}

/// What is true of the checksums of frames that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnReceive {
    /// They are as they came. A sender on this machine may have left them unfinished, and the port
    /// can't tell it from what the kernel says.
    AsTheyCame,
    /// Those that the kernel says a local sender left unfinished are finished; all others are as
    /// they came.
    Finished,
    /// Those that hold exactly what a local sender leaves behind are finished, and counted as
    /// `checksums-finished`; all others are as they came.
    FinishedByLook,
}

/// What a port does to the checksums of frames that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTransmit {
    /// Nothing: they have to be right.
    AsGiven,
}

/// What a port counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames handed over.
    pub received: u64,
    /// Frames that left: they were handed to the kernel or written.
    pub transmitted: u64,
    /// Of those received, frames whose checksum a local sender left unfinished: finished here.
    pub checksums_finished: u64,
    /// Of those received, frames whose checksum a local sender left unfinished: handed over so.
    pub checksums_unfinished: u64,
    /// Frames that came longer than the MTU allows, as offloads put them together: dropped.
    pub receive_too_long: u64,
    /// Frames that the kernel dropped before the port saw them, because its ring was full.
    pub receive_ring_full: u64,
    /// Frames of a capture that a snap length cut: dropped.
    pub cut_when_captured: u64,
    /// Entries of a receiving ring that make no sense: dropped.
    pub damaged_entry: u64,
    /// Frames that were to leave while the link was down: dropped.
    pub link_down: u64,
    /// Frames that were to leave and found no room: dropped.
    pub transmit_ring_full: u64,
    /// Frames that were to leave and are longer than the MTU allows: dropped.
    pub too_long: u64,
    /// Frames that the kernel refused, or that are too short for Ethernet: dropped.
    pub not_taken: u64,
}

impl Counters {
    /// Frames that were dropped, by name; those of the direction towards the program first.
    pub const fn outcomes(&self) -> [(&'static str, u64); 8] {
        [
            ("receive-too-long", self.receive_too_long),
            ("receive-ring-full", self.receive_ring_full),
            ("cut-when-captured", self.cut_when_captured),
            ("damaged-entry", self.damaged_entry),
            ("link-down", self.link_down),
            ("transmit-ring-full", self.transmit_ring_full),
            ("too-long", self.too_long),
            ("not-taken", self.not_taken),
        ]
    }

    /// What is worth to be known beyond that, by name.
    pub const fn remarks(&self) -> [(&'static str, u64); 2] {
        [
            ("checksums-finished", self.checksums_finished),
            ("checksums-unfinished", self.checksums_unfinished),
        ]
    }
}
