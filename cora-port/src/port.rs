//! The trait of ports, their counters and properties.

use std::fmt::Debug;
use std::os::fd::BorrowedFd;

use crate::PortError;

/// A source and sink of frames. A frame is Ethernet with its VLAN tags, without its check sequence.
///
/// Every received frame is handed over, or counted under one name of [`Counters::outcomes`]. Every
/// frame to be sent leaves, or is counted so. Provided methods suit a port without an interface.
pub trait Port: Debug + Send {
    /// Hands over received frames, in order and at most `most`; returns their number. 0: none is
    /// there now.
    ///
    /// # Errors
    /// When no frame can come any more, because the interface is gone or its ring is broken. A link
    /// that is down is no error.
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError>;

    /// Takes frames to be sent, in order; returns how many it took. Each other frame is counted
    /// under the name of its reason. Taken frames leave at the latest on [`flush`](Self::flush).
    fn transmit(&mut self, frames: &[&[u8]]) -> usize;

    /// Sends the frames that were taken.
    ///
    /// # Errors
    /// When no frame can leave any more, because the interface is gone.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Asks the system for changes of the link, the MTU and the kernel's drops. Call it often, say
    /// every millisecond; a port limits its queries itself.
    ///
    /// # Errors
    /// When the interface is gone.
    fn look(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Returns the files that become readable when a frame comes. Empty: there is nothing to wait
    /// for.
    fn handles(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    /// Whether the frames have ended, without an error.
    fn is_exhausted(&self) -> bool {
        false
    }

    /// Returns the longest payload of a frame: bytes behind the Ethernet header and VLAN tags.
    fn mtu(&self) -> usize;

    /// Returns whether frames can pass, as last observed.
    fn link(&self) -> Link {
        Link::Up
    }

    /// Returns the treatment of checksums.
    fn checksums(&self) -> Checksums;

    /// Returns the counters so far.
    fn counters(&self) -> Counters;

    /// Returns findings and choices at opening, a sentence each; may be none.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns how another program takes this port over.
    fn upgrade(&self) -> Upgrade<'_>;
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Frames can pass.
    Up,
    /// Frames can't pass: the interface is down, or nothing is at its other end.
    Down,
}

/// The way in which a successor of this program gets a port.
#[derive(Debug)]
pub enum Upgrade<'a> {
    /// It inherits this file; no frame is lost.
    Inherit(BorrowedFd<'a>),
    /// It opens the port anew. Frames in between are lost, or go to the kernel's network stack.
    Reopen,
    /// It can't, since the port would begin anew.
    Refuse,
}

/// The treatment of transport checksums by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// Treatment of received frames.
    pub on_receive: OnReceive,
    /// Treatment of sent frames.
    pub on_transmit: OnTransmit,
}

/// The state of checksums in received frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnReceive {
    /// Unchanged. A sender on this machine may have left them unfinished; the kernel doesn't tell
    /// the port.
    AsTheyCame,
    /// Finished if the kernel marks them as left unfinished by a local sender; others are
    /// unchanged.
    Finished,
    /// Finished, and counted as `checksums-finished`, if they match the value that a local sender
    /// leaves; others are unchanged.
    FinishedByLook,
    /// Right: the port makes the headers of what came, which the kernel had checked.
    Made,
}

/// The treatment of checksums in sent frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTransmit {
    /// Unchanged: they must be right.
    AsGiven,
}

/// The counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames handed over.
    pub received: u64,
    /// Frames that left: they were handed to the kernel or written.
    pub transmitted: u64,
    /// Received frames with a checksum that a local sender left unfinished: finished here.
    pub checksums_finished: u64,
    /// Received frames with a checksum that a local sender left unfinished: handed over so.
    pub checksums_unfinished: u64,
    /// Received frames beyond the MTU, merged by offloads: dropped.
    pub receive_too_long: u64,
    /// Frames that the kernel dropped before the port saw them, because its ring was full.
    pub receive_ring_full: u64,
    /// Frames of a capture that a snap length cut: dropped.
    pub cut_when_captured: u64,
    /// Invalid entries of a receive ring: dropped.
    pub damaged_entry: u64,
    /// Frames to be sent while the link was down: dropped.
    pub link_down: u64,
    /// Frames to be sent that found no room: dropped.
    pub transmit_ring_full: u64,
    /// Frames to be sent that are longer than the MTU allows: dropped.
    pub too_long: u64,
    /// Frames that the kernel refused, or that are too short for Ethernet: dropped.
    pub not_taken: u64,
    /// Frames to be sent by a socket that are no datagrams from its address: dropped.
    pub not_a_datagram: u64,
}

impl Counters {
    /// Returns the counts of dropped frames by name, those of the receive direction first.
    pub const fn outcomes(&self) -> [(&'static str, u64); 9] {
        [
            ("receive-too-long", self.receive_too_long),
            ("receive-ring-full", self.receive_ring_full),
            ("cut-when-captured", self.cut_when_captured),
            ("damaged-entry", self.damaged_entry),
            ("link-down", self.link_down),
            ("transmit-ring-full", self.transmit_ring_full),
            ("too-long", self.too_long),
            ("not-taken", self.not_taken),
            ("not-a-datagram", self.not_a_datagram),
        ]
    }

    /// Returns the counts since these.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            received: self.received.saturating_sub(before.received),
            transmitted: self.transmitted.saturating_sub(before.transmitted),
            checksums_finished: self.checksums_finished.saturating_sub(before.checksums_finished),
            checksums_unfinished: self
                .checksums_unfinished
                .saturating_sub(before.checksums_unfinished),
            receive_too_long: self.receive_too_long.saturating_sub(before.receive_too_long),
            receive_ring_full: self.receive_ring_full.saturating_sub(before.receive_ring_full),
            cut_when_captured: self.cut_when_captured.saturating_sub(before.cut_when_captured),
            damaged_entry: self.damaged_entry.saturating_sub(before.damaged_entry),
            link_down: self.link_down.saturating_sub(before.link_down),
            transmit_ring_full: self.transmit_ring_full.saturating_sub(before.transmit_ring_full),
            too_long: self.too_long.saturating_sub(before.too_long),
            not_taken: self.not_taken.saturating_sub(before.not_taken),
            not_a_datagram: self.not_a_datagram.saturating_sub(before.not_a_datagram),
        }
    }

    /// Returns further counts, of frames that were not dropped, by name.
    pub const fn remarks(&self) -> [(&'static str, u64); 2] {
        [
            ("checksums-finished", self.checksums_finished),
            ("checksums-unfinished", self.checksums_unfinished),
        ]
    }
}
