//! The run loops of both sides. The processes of a run, everything that measures, and everything
//! that explores schedules run these loops, each with its own ends.
//!
//! | module | concept |
//! | --- | --- |
//! | `ends` | the ends of a NIC core |
//! | `nic` | the loop of a NIC core |
//! | `host` | the bursts of a host worker |

mod ends;
mod host;
mod nic;

pub use ends::{Clock, Egress, Ends, Filled, Ingress};
pub use host::serve_punts;
pub use nic::NicLoop;

use crate::channel::ProtocolError;
use crate::link::ring::{Consumer, Popped, RingError, RingMemory};

/// The end of the channel at which the other side's messages come in.
pub trait Inbox {
    /// Whether nothing is there.
    ///
    /// # Errors
    /// If the ring is broken.
    fn is_empty(&mut self) -> Result<bool, RingError>;

    /// Takes the next message into `buffer`.
    ///
    /// # Errors
    /// If the ring is broken.
    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError>;

    /// The messages taken so far will not come again.
    fn release(&mut self);
}

/// A file that this process inherited, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    /// The file's descriptor.
    pub fd: i32,
    /// Bytes to map.
    pub length: usize,
}

/// What a NIC half shares with its host.
#[derive(Clone, Copy, Debug)]
pub struct NicFiles {
    /// The regions with the rings.
    pub regions: Inherited,
    /// The items of the host's [regions](cora_core::state::Region), to be read; without them,
    /// messages go to the items.
    pub items: Option<Inherited>,
}

/// What a process with many NIC halves is told: each is in a room with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// A half begins.
    Begin {
        /// Its room.
        room: u16,
        /// The file of its regions, which may be closed behind that.
        fd: i32,
        /// Bytes of the file.
        length: usize,
    },
    /// A half works until it has nothing to do.
    Turn {
        /// Its room.
        room: u16,
    },
    /// The room becomes free, with all that the half had.
    Leave {
        /// The room.
        room: u16,
    },
    /// The process ends.
    End,
}

/// Why the loop ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeError {
    /// A ring has impossible indices or records.
    Ring(RingError),
    /// A message has no place here.
    Protocol(ProtocolError),
    /// Something could not be sent.
    Broken,
}

impl From<RingError> for NodeError {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl From<ProtocolError> for NodeError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl<M: RingMemory> Inbox for Consumer<M> {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        Self::is_empty(self)
    }

    #[inline]
    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        Self::pop(self, buffer)
    }

    fn release(&mut self) {
        Self::release(self);
    }
}
