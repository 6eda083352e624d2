//! Rewriting of payloads: bytes of any transport, or a whole UDP datagram.
//!
//! Checksums are updated incrementally (RFC 1624), so that damage stays recognisable.

use super::checksum::{self, Change};
use super::crc32c;
use super::layers::Layers;
use super::resize::NoRoom;
use super::transport::UDP_HEADER;
use super::{MAX_FRAME, Packet};
use crate::key::protocol;
use crate::verdict::Reason;
use crate::verdict::reasons::{NoFlow, TooLong, Truncated};

impl Packet<'_> {
    /// Replaces bytes of the [`payload`](Self::payload) from `at` on by as many others, and updates
    /// the checksum.
    ///
    /// Refused with the reason that [`flow`](super::Headers::flow) gives, and with `truncated` if
    /// the payload has fewer bytes. The packet is then unchanged.
    #[inline(never)]
    pub fn write_payload(&mut self, at: usize, bytes: &[u8]) -> Result<(), Reason> {
        self.flow()?;
        let Layers { outer, end, .. } = self.layers();
        let payload = self.payload_range();
        let from = payload.start + at.min(self.length);
        let to = from.saturating_add(bytes.len());
        let covered = self.frame.get_mut(from..to).filter(|_| to <= payload.end);
        let place = covered.ok_or(Truncated)?;
        let transport = usize::from(outer.transport);
        let mut change = Change::NONE;
        let mut crc = 0;
        let behind = (end as usize).saturating_sub(from);
        for (number, (old, new)) in place.iter_mut().zip(bytes).enumerate() {
            // The upper half of a 16-bit word, or the lower.
            let shift = if (from - transport + number).is_multiple_of(2) { 8 } else { 0 };
            let of = |byte: u8| u16::from(byte) << shift;
            change = change.and(Change::of_number(of(*old), of(*new)));
            if outer.protocol == protocol::SCTP && old != new {
                crc ^= crc32c::change(&[*old ^ *new], behind.saturating_sub(number));
            }
            *old = *new;
        }
        if outer.protocol == protocol::SCTP {
            let sum = transport + crc32c::PLACE;
            let old = u32::from_le_bytes(self.read(sum));
            self.replace(sum, &(old ^ crc).to_le_bytes());
        } else {
            self.apply_transport(&outer, change);
        }
        // The payload of an ICMP error is the quoted packet.
        if self.is_icmp_error() {
            self.parse_again();
        }
        Ok(())
    }

    /// Replaces the payload of a UDP datagram. All lengths are updated, and the frame ends with the
    /// datagram. A datagram without a checksum stays without one.
    ///
    /// Refused with the reason that [`flow`](super::Headers::flow) gives, with `no-flow` if it is
    /// no UDP datagram, [`NoRoom`] or `too-long` if the frame would exceed its tailroom or the
    /// longest frame. The packet is then unchanged.
    #[inline(never)]
    pub fn set_udp(&mut self, data: &[u8]) -> Result<(), Reason> {
        let flow = self.flow()?;
        if flow.protocol != protocol::UDP || self.is_icmp_error() {
            return Err(NoFlow);
        }
        let Layers { outer, .. } = self.layers();
        let at = usize::from(outer.transport);
        let (payload, old_end) = (at + UDP_HEADER, self.payload_range().end);
        let length = payload + data.len();
        if length > MAX_FRAME || UDP_HEADER + data.len() > usize::from(u16::MAX) {
            return Err(TooLong);
        }
        if length > self.frame.len() {
            return Err(NoRoom);
        }
        let sum = |bytes: Option<&[u8]>| !checksum::internet(bytes.unwrap_or_default());
        let old = sum(self.frame.get(payload..old_end));
        let old_length = self.read_u16(at + 4);
        let new_length = (UDP_HEADER + data.len()) as u16;
        self.put_in_place(payload, self.length, data);
        self.replace(at + 4, &new_length.to_be_bytes());
        // The length is summed twice: in the header, and in the pseudo-header.
        let lengths = Change::of_number(old_length, new_length);
        let change = Change::of_number(old, sum(Some(data))).and(lengths).and(lengths);
        self.apply_transport(&outer, change);
        self.set_transport_length(&outer, usize::from(new_length));
        self.parse_again();
        Ok(())
    }
}
