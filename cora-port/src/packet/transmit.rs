//! The transmit ring: written slot by slot, and sent by the kernel on request, in order.
#![expect(unsafe_code, reason = "writes to slots that the kernel gave to this process")]

use std::sync::atomic::Ordering;

use libc::{
    TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST, TP_STATUS_SENDING, TP_STATUS_WRONG_FORMAT,
};

use crate::mapping::Mapping;

/// The frame's place in a slot: behind `struct tpacket2_hdr`.
const START: usize = libc::TPACKET2_HDRLEN - size_of::<libc::sockaddr_ll>();

/// The slots, and the next one's number.
#[derive(Debug)]
pub(super) struct TransmitRing {
    slots: Mapping,
    slot_bytes: usize,
    count: usize,
    next: usize,
    /// The first slot that may still wait. The slots from it up to `next` wait or have been sent.
    oldest: usize,
}

impl TransmitRing {
    pub(super) const fn new(slots: Mapping, slot_bytes: usize, count: usize) -> Self {
        Self { slots, slot_bytes, count, next: 0, oldest: 0 }
    }

    /// Returns the longest frame that a slot holds.
    pub(super) const fn longest(&self) -> usize {
        self.slot_bytes - START
    }

    /// Writes a frame of at most that length; returns whether there was room.
    pub(super) fn place(&mut self, frame: &[u8]) -> bool {
        let following = (self.next + 1) % self.count;
        // One slot stays free, to tell a full ring from an empty one.
        if self.status(self.next) != TP_STATUS_AVAILABLE || following == self.oldest {
            return false;
        }
        let at = self.next * self.slot_bytes;
        // SAFETY: an available slot is this process's until its word is stored below.
        let slot = unsafe { self.slots.bytes(at, self.slot_bytes) };
        let Some(place) = slot.and_then(|slot| {
            slot.get_mut(4..8)?.copy_from_slice(&(frame.len() as u32).to_ne_bytes());
            slot.get_mut(START..START + frame.len())
        }) else {
            return false;
        };
        place.copy_from_slice(frame);
        self.set(self.next, TP_STATUS_SEND_REQUEST);
        self.next = following;
        true
    }

    /// Whether a frame waits to be sent.
    pub(super) fn waits(&self) -> bool {
        self.oldest != self.next
    }

    /// Passes over the frames that the kernel took; returns how many it refused.
    pub(super) fn settle(&mut self) -> u64 {
        let mut refused = 0;
        while self.waits() {
            let status = self.status(self.oldest);
            if status & TP_STATUS_WRONG_FORMAT != 0 {
                refused += 1;
                self.set(self.oldest, TP_STATUS_AVAILABLE);
            } else if status & TP_STATUS_SEND_REQUEST != 0 {
                break;
            }
            self.oldest = (self.oldest + 1) % self.count;
        }
        refused
    }

    /// Takes back the waiting frames, as the kernel sends none of them; returns how many.
    pub(super) fn withdraw(&mut self) -> u64 {
        let mut withdrawn = 0;
        while self.waits() {
            let last = (self.next + self.count - 1) % self.count;
            let taken = self.status(last) & (TP_STATUS_SENDING | TP_STATUS_SEND_REQUEST);
            if taken != TP_STATUS_SEND_REQUEST {
                break;
            }
            self.set(last, TP_STATUS_AVAILABLE);
            // The kernel goes on where it stopped, so the next frame must be there.
            self.next = last;
            withdrawn += 1;
        }
        withdrawn
    }

    fn status(&self, slot: usize) -> u32 {
        let word = self.slots.word(slot * self.slot_bytes);
        word.map_or(TP_STATUS_SENDING, |word| word.load(Ordering::Acquire))
    }

    fn set(&self, slot: usize, status: u32) {
        if let Some(word) = self.slots.word(slot * self.slot_bytes) {
            word.store(status, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COUNT: usize = 8;

    fn ring() -> TransmitRing {
        TransmitRing::new(Mapping::anonymous(4096).unwrap(), 512, COUNT)
    }

    /// Takes the slot at `head` as the kernel would if it waits; returns the frame's first byte.
    fn kernel(ring: &mut TransmitRing, head: &mut usize, status: u32) -> Option<u8> {
        if ring.status(*head) != TP_STATUS_SEND_REQUEST {
            return None;
        }
        // SAFETY: no kernel uses it.
        let first = unsafe { ring.slots.bytes(*head * 512 + START, 1) }.unwrap()[0];
        ring.set(*head, status);
        *head = (*head + 1) % COUNT;
        Some(first)
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let mut ring = ring();
        let placed = (0..20).filter(|_| ring.place(&[1; 60])).count();
        assert_eq!(placed, COUNT - 1);
        assert_eq!(ring.withdraw(), 7);
        assert!(!ring.waits() && ring.place(&[1; 60]));
    }

    proptest! {
        /// For any order of placing, sending, refusing and taking back, each frame that is not
        /// taken back leaves once, in order.
        #[test]
        fn each_frame_leaves_once_and_in_order(steps in prop::collection::vec(0_u8..6, 1..200)) {
            let (mut ring, mut head, mut number) = (ring(), 0, 0_u8);
            let (mut placed, mut sent) = (std::collections::VecDeque::new(), Vec::new());
            let (mut left, mut refused) = (Vec::new(), (0, 0));
            for step in steps {
                match step {
                    0 | 1 => if ring.place(&[number; 60]) {
                        placed.push_back(number);
                        number = number.wrapping_add(1);
                    },
                    2 | 3 => {
                        let status = if step == 2 { TP_STATUS_AVAILABLE } else { TP_STATUS_SENDING };
                        left.extend(kernel(&mut ring, &mut head, status));
                    }
                    4 => if let Some(one) = kernel(&mut ring, &mut head, TP_STATUS_WRONG_FORMAT) {
                        left.push(one);
                        refused.0 += 1;
                    },
                    _ => for _ in 0..ring.withdraw() { placed.pop_back(); },
                }
                refused.1 += ring.settle();
                // The sending of frames ends at some time.
                if step == 0 {
                    for slot in 0..COUNT {
                        if ring.status(slot) == TP_STATUS_SENDING { ring.set(slot, TP_STATUS_AVAILABLE); }
                    }
                }
                while left.len() > sent.len() { sent.push(placed.pop_front().unwrap()); }
                prop_assert_eq!(&left, &sent);
            }
            prop_assert_eq!(refused.0, refused.1);
        }
    }
}
