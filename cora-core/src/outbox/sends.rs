//! What one run sends, in supplied memory: one behind the other, each with its port.

use crate::message::Envelope;
use crate::packet::Port;
use crate::state::{Memory, OutOfMemory, bytes_for};
use crate::verdict::Reason;

/// Words in front of the bytes of what is sent: length and port.
const HEAD: usize = 1;

/// What a run sends.
#[derive(Debug)]
pub(super) struct Sends {
    memory: &'static mut [u64],
    /// Words in use.
    filled: usize,
    count: usize,
    /// The most that a run sends.
    most: usize,
    /// What accompanies the message that is handled.
    pub(super) envelope: Envelope,
}

/// One of the things that are sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Where it leaves; [`SENT`](crate::message::SENT) if it stays inside, as a message.
    pub port: Port,
    /// The frame.
    pub frame: &'a [u8],
}

impl Sends {
    /// Bytes of [`Memory`] for so many things of so many bytes in all.
    pub(super) const fn bytes(most: usize, bytes: usize) -> usize {
        bytes_for::<u64>(Self::words(most, bytes))
    }

    const fn words(most: usize, bytes: usize) -> usize {
        bytes.div_ceil(8) + most * HEAD
    }

    pub(super) fn create(
        memory: &mut Memory,
        most: usize,
        bytes: usize,
    ) -> Result<Self, OutOfMemory> {
        let memory = memory.take_u64(Self::words(most, bytes))?;
        Ok(Self { memory, filled: 0, count: 0, most, envelope: Envelope::NOBODY })
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) const fn clear(&mut self) {
        (self.filled, self.count) = (0, 0);
    }

    /// Adds a frame that `write` makes in the room that is left, and of which it returns port and
    /// length; `full` if there are as many as there may be.
    #[inline]
    pub(super) fn add(
        &mut self,
        full: Reason,
        write: impl FnOnce(&Envelope, &mut [u8]) -> Result<(Port, usize), Reason>,
    ) -> Result<(), Reason> {
        let room = self.memory.get_mut(self.filled..).unwrap_or_default();
        let (head, rest) = room.split_at_mut_checked(HEAD).ok_or(full)?;
        if self.count >= self.most {
            return Err(full);
        }
        let (port, length) = write(&self.envelope, zerocopy::IntoBytes::as_mut_bytes(rest))?;
        if let [head] = head {
            *head = length as u64 | u64::from(port.in_seven_bits().0) << 32;
        }
        self.filled += HEAD + length.div_ceil(8);
        self.count += 1;
        Ok(())
    }

    /// Visits them in the order of the calls.
    #[inline]
    pub(super) fn each(&self, mut visit: impl FnMut(Sent<'_>)) {
        let mut rest = self.memory.get(..self.filled).unwrap_or_default();
        while let Some((head, behind)) = rest.split_first() {
            let (length, port) = (*head as u32 as usize, Port((head >> 32) as u8));
            let words = length.div_ceil(8).min(behind.len());
            let (words, others) = behind.split_at(words);
            let frame = zerocopy::IntoBytes::as_bytes(words).get(..length).unwrap_or_default();
            visit(Sent { port, frame });
            rest = others;
        }
    }
}
