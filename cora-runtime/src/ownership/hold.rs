//! The hold queue: packets that wait during a handover of their flow. It is a first-in-first-out
//! queue of frames in supplied memory. Packets are numbered in order of joining.

use cora_core::packet::{Meta, Port};
use cora_core::state::{Memory, OutOfMemory};
use zerocopy::IntoBytes as _;

use crate::link::message::Stamp;
use crate::link::payload::Parked;

/// Default size in bytes. A full queue holds the wire back.
const BYTES: usize = 4 << 20;
/// Bytes in front of a frame: length, stamp.
const HEAD: usize = 32;

/// The hold queue.
#[derive(Debug)]
pub(crate) struct HoldQueue {
    bytes: &'static mut [u64],
    read: usize,
    used: usize,
    joined: u64,
    left: u64,
    /// One more than the number of the last held packet that may go to the host. Later packets for
    /// the host stay behind it.
    host_waits_until: u64,
    /// Whether a flow arrived since [`Self::moves_on`] was last asked.
    moves_on: bool,
}

impl HoldQueue {
    pub(crate) const BYTES: usize = BYTES;

    /// Bytes that so many packets take, with frames of `bytes` bytes in all.
    pub(crate) const fn bytes_for(packets: usize, bytes: usize) -> usize {
        (bytes + packets * HEAD).next_multiple_of(8)
    }

    /// A queue of `bytes` bytes, rounded down to whole words.
    pub(crate) fn create(memory: &mut Memory, bytes: usize) -> Result<Self, OutOfMemory> {
        Ok(Self {
            bytes: memory.take_u64(bytes / 8)?,
            read: 0,
            used: 0,
            joined: 0,
            left: 0,
            host_waits_until: 0,
            moves_on: false,
        })
    }

    /// Size in bytes.
    const fn bytes(&self) -> usize {
        self.bytes.len() * 8
    }

    /// Wraps an offset that may be beyond the end.
    const fn around(&self, at: usize) -> usize {
        if at >= self.bytes() { at - self.bytes() } else { at }
    }

    /// Packets that have ever joined: the number of the next one.
    pub(crate) const fn joined(&self) -> u64 {
        self.joined
    }

    /// Packets that have left: the number of the first one that waits.
    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.joined == self.left
    }

    /// Bytes in use.
    pub(crate) const fn waiting(&self) -> u64 {
        self.used as u64
    }

    /// Whether there are so many free bytes.
    pub(crate) const fn has_room(&self, bytes: usize) -> bool {
        self.used + bytes <= self.bytes()
    }

    /// Packets for the host wait behind those that are held now.
    pub(crate) const fn host_waits(&mut self) {
        self.host_waits_until = self.joined;
    }

    /// One more than the number of the last held packet that may go to the host.
    pub(crate) const fn host_waits_until(&self) -> u64 {
        self.host_waits_until
    }

    /// Whether earlier packets for the host are still held.
    pub(crate) const fn holds_for_host(&self) -> bool {
        self.host_waits_until > self.left
    }

    /// A flow arrived, here or at the host: held packets may be able to go on.
    pub(crate) const fn move_on(&mut self) {
        self.moves_on = true;
    }

    /// Whether a flow arrived since the last call.
    pub(crate) const fn moves_on(&mut self) -> bool {
        core::mem::replace(&mut self.moves_on, false)
    }

    /// Appends a packet. The caller has checked for room.
    pub(crate) fn push(&mut self, stamp: &Stamp, frame: &[u8]) {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(&(frame.len() as u32).to_le_bytes());
        let (port, number) = stamp.marked();
        head[4] = port;
        head[5..7].copy_from_slice(&stamp.missing.to_le_bytes());
        head[7] = stamp.egress.0;
        head[8..16].copy_from_slice(&stamp.meta.time.to_le_bytes());
        head[16..24].copy_from_slice(&stamp.meta.now.to_le_bytes());
        head[24..32].copy_from_slice(&number.to_le_bytes());
        self.write(&head);
        self.write(frame);
        self.joined += 1;
    }

    /// Copies the first packet's frame to `buffer`, and leaves the packet in the queue. Returns its
    /// stamp and the frame's length.
    pub(crate) fn peek(&self, buffer: &mut [u8]) -> Option<(Stamp, usize)> {
        if self.is_empty() {
            return None;
        }
        self.packet_at(self.read, buffer)
    }

    fn packet_at(&self, at: usize, buffer: &mut [u8]) -> Option<(Stamp, usize)> {
        let mut head = [0; HEAD];
        self.copy_out(at, &mut head);
        let [length, port, missing, egress, time, now, number] = unpack(&head);
        let length = length as usize;
        let frame = buffer.get_mut(..length)?;
        self.copy_out(self.around(at + HEAD), frame);
        let (port, mark, number) = Stamp::unmarked(port as u8, number);
        let (meta, parked) = (Meta { time, now, port, mark }, Parked::NONE);
        let (missing, egress) = (missing as u16, Port(egress as u8));
        Some((Stamp { meta, number, horizon: now, egress, parked, missing }, length))
    }

    /// The time of the first packet. No older packet waits or will arrive.
    pub(crate) fn oldest(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let mut head = [0; HEAD];
        self.copy_out(self.read, &mut head);
        let [_, _, _, _, _, now, _] = unpack(&head);
        Some(now)
    }

    /// Visits all waiting packets in order, each copied to `buffer`.
    pub(crate) fn each(&self, buffer: &mut [u8], packet: &mut dyn FnMut(&Stamp, &[u8])) {
        let (mut read, mut used) = (self.read, self.used);
        while used > 0 {
            let Some((stamp, length)) = self.packet_at(read, buffer) else { return };
            packet(&stamp, buffer.get(..length).unwrap_or_default());
            let bytes = HEAD + length;
            read = self.around(read + bytes);
            used -= bytes.min(used);
        }
    }

    /// Removes the first packet.
    pub(crate) fn pop(&mut self) {
        let mut head = [0; HEAD];
        self.copy_out(self.read, &mut head);
        let [length, ..] = unpack(&head);
        let bytes = HEAD + length as usize;
        self.read = self.around(self.read + bytes);
        self.used -= bytes.min(self.used);
        self.left += 1;
    }

    fn write(&mut self, from: &[u8]) {
        let at = self.around(self.read + self.used);
        let (first, second) = from.split_at(from.len().min(self.bytes() - at));
        let bytes = self.bytes.as_mut_bytes();
        // Both ranges exist: `at` is within the queue, and `first` reaches to its end at most.
        if let Some(place) = bytes.get_mut(at..at + first.len()) {
            place.copy_from_slice(first);
        }
        if let Some(place) = bytes.get_mut(..second.len()) {
            place.copy_from_slice(second);
        }
        self.used += from.len();
    }

    fn copy_out(&self, at: usize, to: &mut [u8]) {
        let length = to.len();
        let (first, second) = to.split_at_mut(length.min(self.bytes() - at));
        let bytes = self.bytes.as_bytes();
        if let Some(from) = bytes.get(at..at + first.len()) {
            first.copy_from_slice(from);
        }
        if let Some(from) = bytes.get(..second.len()) {
            second.copy_from_slice(from);
        }
    }
}

/// Decodes a head: length, port, missing, time, now, number.
fn unpack(head: &[u8; HEAD]) -> [u64; 7] {
    let word = |at: usize| {
        head.get(at..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let first = word(0);
    let (port, missing) = ((first >> 32) & 0xff, (first >> 40) & 0xffff);
    [first & 0xffff_ffff, port, missing, first >> 56, word(8), word(16), word(24)]
}

#[cfg(test)]
mod tests {
    use cora_core::packet::{MAX_FRAME, Port};
    use cora_core::state::Line;

    use super::*;

    fn memory() -> Memory {
        Memory::new(vec![Line::ZERO; HoldQueue::BYTES.div_ceil(Line::BYTES)].leak())
    }

    #[test]
    fn first_in_first_out_across_the_end() {
        let mut queue = HoldQueue::create(&mut memory(), HoldQueue::BYTES).unwrap();
        let mut buffer = vec![0; MAX_FRAME];
        let stamp = |number| Stamp {
            meta: Meta { time: number * 10, now: number * 11, port: Port(1), ..Meta::default() },
            number,
            horizon: number * 11,
            egress: Port(number as u8 % 3),
            parked: Parked::NONE,
            missing: number as u16 ^ 0x5a5a,
        };
        let (mut next, mut expected) = (0_u64, 0_u64);
        // Miri is slow; once around the queue is enough for it.
        let rounds = if cfg!(miri) { 60 } else { 400 };
        for round in 0..rounds {
            while queue.has_room(MAX_FRAME + HEAD) && next < (round + 1) * 5 {
                queue.push(&stamp(next), &vec![next as u8; 20_000 + next as usize % 977]);
                next += 1;
            }
            while queue.joined() - queue.left() > round % 7 {
                let (found, length) = queue.peek(&mut buffer).unwrap();
                let frame = &buffer[..length];
                assert_eq!(found, stamp(expected));
                // Compared as a whole, since byte by byte is slow under Miri.
                assert!(frame == vec![expected as u8; 20_000 + expected as usize % 977]);
                queue.pop();
                expected += 1;
            }
        }
        assert!(expected * 20_000 > HoldQueue::BYTES as u64);
    }
}
