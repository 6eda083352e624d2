//! The receive ring. The first word of a slot tells whether the kernel or this process owns it. All
//! values from the kernel are checked before use.
#![expect(unsafe_code, reason = "hands out slots that the kernel gave to this process")]

use std::sync::atomic::Ordering;

use crate::checksum;
use crate::mapping::Mapping;

/// Bytes of `struct virtio_net_hdr`, directly before the frame.
const OFFLOADS: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// Bytes of `struct tpacket2_hdr`.
const HEADER: usize = 32;
/// The kind of VLAN tag if the kernel doesn't tell it.
const TAGGED: u16 = 0x8100;

/// The slots, and the next one's number.
#[derive(Debug)]
pub(super) struct ReceiveRing {
    slots: Mapping,
    slot_bytes: usize,
    count: usize,
    next: usize,
}

/// The outcome for a slot's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was handed over; `finished`: its checksum was finished before.
    HandedOver { finished: bool },
    /// It is too long, or was cut.
    TooLong,
    /// The slot is invalid.
    Damaged,
}

/// The kernel's description of a frame: the fields of `struct tpacket2_hdr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u32,
    length: usize,
    held: usize,
    start: usize,
    tag: u16,
    tag_kind: u16,
}

impl Head {
    fn read(slot: &[u8]) -> Option<Self> {
        let long = |at: usize| slot.get(at..)?.first_chunk().map(|it| u32::from_ne_bytes(*it));
        let short = |at: usize| slot.get(at..)?.first_chunk().map(|it| u16::from_ne_bytes(*it));
        let (status, length, held) = (long(0)?, long(4)? as usize, long(8)? as usize);
        let (start, tag, tag_kind) = (usize::from(short(12)?), short(24)?, short(26)?);
        Some(Self { status, length, held, start, tag, tag_kind })
    }

    /// Returns the VLAN tag that was taken off, if any.
    const fn vlan(self) -> Option<[u8; 4]> {
        if self.status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let told = self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let [a, b] = if told { self.tag_kind } else { TAGGED }.to_be_bytes();
        let [c, d] = self.tag.to_be_bytes();
        Some([a, b, c, d])
    }
}

impl ReceiveRing {
    pub(super) const fn new(slots: Mapping, slot_bytes: usize, count: usize) -> Self {
        Self { slots, slot_bytes, count, next: 0 }
    }

    /// Hands over the next frame, at most `longest` bytes; none if no frame is there.
    pub(super) fn take(&mut self, longest: usize, each: &mut dyn FnMut(&[u8])) -> Option<Fate> {
        let at = self.next * self.slot_bytes;
        let status = self.slots.word(at)?.load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is this process's until its word is stored below.
        let slot = unsafe { self.slots.bytes(at, self.slot_bytes) }?;
        let fate = hand_over(slot, longest, each);
        self.slots.word(at)?.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.count;
        Some(fate)
    }
}

fn hand_over(slot: &mut [u8], longest: usize, each: &mut dyn FnMut(&[u8])) -> Fate {
    let Some(head) = Head::read(slot) else { return Fate::Damaged };
    let end = head.start + head.held;
    if head.start < HEADER + OFFLOADS || end > slot.len() || head.held > head.length {
        return Fate::Damaged;
    }
    let (flags, places) = (slot[head.start - OFFLOADS], head.start - OFFLOADS + 6);
    let vlan = head.vlan();
    if head.held < head.length || head.length + vlan.map_or(0, |_| 4) > longest {
        return Fate::TooLong;
    }
    if head.held < 14 {
        return Fate::Damaged;
    }
    let short = |at: usize| u16::from_ne_bytes([slot[at], slot[at + 1]]);
    let (from, offset) = (usize::from(short(places)), usize::from(short(places + 2)));
    let finished = flags & NEEDS_CHECKSUM != 0;
    if finished && !checksum::finish(&mut slot[head.start..end], from, offset) {
        return Fate::Damaged;
    }
    let Some(tag) = vlan else {
        each(&slot[head.start..end]);
        return Fate::HandedOver { finished };
    };
    // Both addresses move forward to make room for it; the bytes there were read above.
    let start = head.start - 4;
    slot.copy_within(head.start..head.start + 12, start);
    slot[start + 12..start + 16].copy_from_slice(&tag);
    each(&slot[start..end]);
    Fate::HandedOver { finished }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOT: usize = 256;

    fn ring(slots: &[Vec<u8>]) -> ReceiveRing {
        let mut memory = Mapping::anonymous(4096).unwrap();
        for (number, slot) in slots.iter().enumerate() {
            // SAFETY: no kernel uses it.
            let place = unsafe { memory.bytes(number * SLOT, slot.len()) };
            place.unwrap().copy_from_slice(slot);
        }
        ReceiveRing::new(memory, SLOT, 4)
    }

    fn slot(status: u32, length: u32, held: u32, start: u16, frame: &[u8]) -> Vec<u8> {
        let mut slot = vec![0; SLOT];
        slot[..4].copy_from_slice(&status.to_ne_bytes());
        slot[4..8].copy_from_slice(&length.to_ne_bytes());
        slot[8..12].copy_from_slice(&held.to_ne_bytes());
        slot[12..14].copy_from_slice(&start.to_ne_bytes());
        let start = usize::from(start);
        if start + frame.len() <= SLOT {
            slot[start..start + frame.len()].copy_from_slice(frame);
        }
        slot
    }

    #[test]
    fn frames_come_in_order_and_slots_go_back() {
        let frames = [[1_u8; 60], [2; 60]];
        let slots = frames.map(|frame| slot(libc::TP_STATUS_USER, 60, 60, 80, &frame));
        let mut ring = ring(&slots);
        let mut came = Vec::new();
        while ring.take(1514, &mut |frame| came.push(frame.to_vec())).is_some() {}
        assert_eq!(came, frames.map(Vec::from));
        assert_eq!(ring.next, 2);
        assert_eq!(ring.slots.word(0).unwrap().load(Ordering::Relaxed), libc::TP_STATUS_KERNEL);
    }

    #[test]
    fn a_tag_that_was_taken_off_is_put_back() {
        let mut frame: Vec<u8> = (0..60).collect();
        let status =
            libc::TP_STATUS_USER | libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let mut slot = slot(status, 60, 60, 80, &frame);
        slot[24..26].copy_from_slice(&0x2005_u16.to_ne_bytes());
        slot[26..28].copy_from_slice(&0x88a8_u16.to_ne_bytes());
        let mut came = Vec::new();
        let fate = ring(&[slot]).take(1514, &mut |frame| came = frame.to_vec());
        frame.splice(12..12, [0x88, 0xa8, 0x20, 0x05]);
        assert_eq!((fate, came), (Some(Fate::HandedOver { finished: false }), frame));
    }

    #[test]
    fn a_checksum_that_was_left_is_finished() {
        let mut frame = vec![0; 60];
        frame[50..52].copy_from_slice(&[0xff, 0x00]);
        let mut slot = slot(libc::TP_STATUS_USER, 60, 60, 80, &frame);
        slot[70] = NEEDS_CHECKSUM;
        slot[76..78].copy_from_slice(&34_u16.to_ne_bytes());
        slot[78..80].copy_from_slice(&16_u16.to_ne_bytes());
        let mut came = Vec::new();
        let fate = ring(&[slot]).take(1514, &mut |frame| came = frame.to_vec());
        assert_eq!(fate, Some(Fate::HandedOver { finished: true }));
        assert_eq!(came[50..52], [0x00, 0xff]);
    }

    #[test]
    fn what_was_cut_or_put_together_is_too_long() {
        let cut = slot(libc::TP_STATUS_USER, 3000, 150, 80, &[]);
        let long = slot(libc::TP_STATUS_USER, 150, 150, 80, &[]);
        let mut ring = ring(&[cut, long]);
        for _ in 0..2 {
            let fate = ring.take(100, &mut |_| panic!("not to be handed over"));
            assert_eq!(fate, Some(Fate::TooLong));
        }
    }

    proptest! {
        /// For any content of a slot, no frame is too long, and the ring goes on.
        #[test]
        fn any_slot_is_handed_over_or_counted(
            words in prop::collection::vec(any::<u32>(), 8), offloads in any::<[u8; 10]>(),
            start in any::<u16>(), near: bool, longest in 14_usize..2000,
        ) {
            let mut slot: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            slot.resize(SLOT, 7);
            slot[0] |= 1;
            if near {
                // Values near valid ones reach more than the first check.
                slot[12..14].copy_from_slice(&(42 + start % 300).to_ne_bytes());
                slot[4..12].copy_from_slice(&[start.to_ne_bytes()[1], 0, 0, 0].repeat(2));
                slot[42..52].copy_from_slice(&offloads);
            }
            let mut ring = ring(&[slot]);
            let mut came = None;
            let fate = ring.take(longest, &mut |frame| came = Some(frame.len()));
            prop_assert_eq!(matches!(fate, Some(Fate::HandedOver { .. })), came.is_some());
            prop_assert!(came.is_none_or(|length| (14..=longest.min(SLOT)).contains(&length)));
            prop_assert_eq!(ring.next, 1);
            prop_assert!(ring.take(longest, &mut |_| ()).is_none());
        }
    }
}
