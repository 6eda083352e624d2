//! Packets of a tenant that wait for its turn. Those that do not fit are the tenant's loss.

use std::collections::VecDeque;

use cora_core::packet::MAX_FRAME;
use cora_runtime::link::message::Stamp;

/// Bytes of packets, and number of packets, that may wait.
const BYTES: usize = 256 << 10;
const PACKETS: usize = 2048;

/// The packets, in order. Its memory is made once.
#[derive(Debug)]
pub(super) struct Queue {
    bytes: Box<[u8]>,
    /// Where the next packet begins.
    next: usize,
    /// Stamp, place and length of each.
    waiting: VecDeque<(Stamp, usize, usize)>,
}

impl Queue {
    pub(super) fn new() -> Self {
        let bytes = vec![0; BYTES].into_boxed_slice();
        Self { bytes, next: 0, waiting: VecDeque::with_capacity(PACKETS) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a packet, if there is room for it. Each lies in one piece: at the end of the memory a
    /// rest may be left.
    pub(super) fn push(&mut self, stamp: Stamp, frame: &[u8]) -> bool {
        debug_assert!(frame.len() <= MAX_FRAME, "longer ones are no packets of a wire");
        let Some(begin) = self.room_for(frame.len()) else { return false };
        let Some(place) = self.bytes.get_mut(begin..begin + frame.len()) else { return false };
        place.copy_from_slice(frame);
        self.next = begin + frame.len();
        self.waiting.push_back((stamp, begin, frame.len()));
        true
    }

    /// Where a packet of this length begins.
    fn room_for(&self, length: usize) -> Option<usize> {
        if self.waiting.len() == PACKETS {
            return None;
        }
        let Some((_, first, _)) = self.waiting.front() else {
            return (length <= BYTES).then_some(0);
        };
        let (first, next) = (*first, self.next);
        if next <= first {
            // The memory is used around its end.
            return (next + length <= first).then_some(next);
        }
        if next + length <= BYTES { Some(next) } else { (length <= first).then_some(0) }
    }

    /// The oldest packet.
    pub(super) fn front(&self) -> Option<(Stamp, &[u8])> {
        let (stamp, begin, length) = self.waiting.front()?;
        Some((*stamp, self.bytes.get(*begin..begin + length)?))
    }

    pub(super) fn pop(&mut self) {
        self.waiting.pop_front();
    }

    /// Drops all; returns their number.
    pub(super) fn clear(&mut self) -> u64 {
        let dropped = self.waiting.len();
        self.waiting.clear();
        dropped as u64
    }
}

#[cfg(test)]
mod tests {
    use cora_core::packet::{Meta, Port};
    use cora_runtime::link::payload::Parked;

    use super::*;

    fn stamp(number: u64) -> Stamp {
        let (meta, egress) = (Meta::default(), Port(1));
        Stamp { meta, number, horizon: 0, egress, parked: Parked::NONE, missing: 0 }
    }

    #[test]
    fn packets_come_out_as_they_went_in_or_were_refused() {
        let (mut queue, mut model) = (Queue::new(), VecDeque::new());
        let (mut number, mut refused, mut random) = (0_u64, 0, 1_u64);
        for round in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Lengths and rates change, so that it is full, empty, and both around the end.
            let fills = (round / 20_000) % 2 == 0;
            if (random >> 33) % 8 < if fills { 6 } else { 2 } {
                let length = ((random >> 40) % 1514) as usize;
                let frame = vec![number as u8; length];
                if queue.push(stamp(number), &frame) {
                    model.push_back((number, frame));
                } else {
                    refused += 1;
                }
                number += 1;
            } else {
                let front = queue.front().map(|(stamp, frame)| (stamp.number, frame.to_vec()));
                assert_eq!(front, model.pop_front());
                queue.pop();
            }
            assert_eq!(queue.len(), model.len());
        }
        assert!(refused > 100, "it was full: {refused}");
        let left = model.len() as u64;
        assert_eq!((queue.clear(), queue.is_empty()), (left, true));
    }

    #[test]
    fn a_frame_of_no_bytes_does_not_confuse_it() {
        let mut queue = Queue::new();
        for number in 0..PACKETS as u64 {
            assert!(queue.push(stamp(number), &[]));
        }
        assert!(!queue.push(stamp(9), &[]));
    }
}
