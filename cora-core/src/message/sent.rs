//! The frame of a message that a handler sends.
//!
//! ```text
//! 0      4     5        12      14      14 + Peer::SIZE
//! id     hops  delay    0x88b5  peer    message, in the short form
//! ```
//!
//! The delay (ns) is zero if the message is sent at once.
//!
//! The Ethernet type is one for local experiments (IEEE 802), so that whoever parses the frame
//! finds no headers. What makes it a message is its port: frames from outside never have that.

use super::peer::PackedPeer;
use super::{Envelope, Message, Peer, read_short};
use crate::packet::{Packet, Port};
use crate::plain::Plain as _;
use crate::short::ShortWriter;
use crate::verdict::Reason;
use crate::verdict::reasons::TooLong;

/// The port of messages that handlers sent. A run has no such port, and no packet comes in there.
pub const SENT: Port = Port(0x7e);

/// Where messages leave for a flow of another shard: the wire's end of this one passes them on. No
/// run has this port either.
pub const ELSEWHERE: Port = Port(0x7d);

/// Whether a port is one of messages: no packet leaves there.
#[inline(always)]
#[must_use]
pub const fn is_of_messages(port: Port) -> bool {
    port.0 == SENT.0 || port.0 == ELSEWHERE.0
}

/// Most messages in a row of which each was sent because of the one before.
pub const MOST_HOPS: u8 = 64;

/// The message would be the 65th of a row in which each was sent because of the one before.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(TooManyHops)`")]
pub const TooManyHops: Reason = Reason::new("too-many-hops");

/// Longest delay of a message, in nanoseconds: some 834 days.
pub(crate) const MOST_DELAY: u64 = (1 << 56) - 1;

const HOPS: usize = 4;
const DELAY: usize = HOPS + 1;
const TYPE: usize = 12;
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
const PEER: usize = 14;
const BODY: usize = PEER + Peer::SIZE;

/// Writes the frame of a message that is sent with this envelope, and is due after a delay (ns, at
/// most [`MOST_DELAY`]). Returns its length.
///
/// A delayed message is the first of a row: time passes between it and the one before.
#[inline]
pub(crate) fn frame<M: Message>(
    message: &M,
    envelope: &Envelope,
    delay: u64,
    out: &mut [u8],
) -> Result<usize, Reason> {
    let before = if delay == 0 { envelope.hops } else { 0 };
    if before >= MOST_HOPS {
        return Err(TooManyHops);
    }
    let (head, body) = out.split_at_mut_checked(BODY).ok_or(TooLong)?;
    head.fill(0);
    M::ID.put(head);
    if let Some(hops) = head.get_mut(HOPS) {
        *hops = before + 1;
    }
    if let Some(place) = head.get_mut(DELAY..TYPE) {
        place.copy_from_slice(delay.to_le_bytes().first_chunk::<7>().unwrap_or(&[0; 7]));
    }
    ETHER_TYPE.put(head.get_mut(TYPE..).unwrap_or_default());
    if let Some(peer) = head.last_chunk_mut() {
        *peer = envelope.peer.0;
    }
    let mut body = ShortWriter::new(body);
    message.put_short(&mut body);
    Ok(BODY + body.finish().ok_or(TooLong)?)
}

/// The message in such a frame.
#[inline]
pub(super) fn body<M: Message>(frame: &[u8]) -> Result<M, Reason> {
    read_short(frame.get(BODY..).unwrap_or_default())
}

/// The [id](Message::ID) of the message that a packet is; `None` if it came in at a wire.
#[inline]
#[must_use]
pub fn sent_id(packet: &Packet<'_>) -> Option<u32> {
    (packet.port() == SENT).then(|| u32::get(packet.frame()))?
}

/// How long after its run the message is due that this frame is (ns): 0 if at once.
#[inline]
#[must_use]
pub fn delay_of(frame: &[u8]) -> u64 {
    // The byte in front of it is read along.
    frame.get(HOPS..).and_then(u64::get).unwrap_or(0) >> 8
}

/// Hops and peer of the message that a packet is.
#[inline]
pub(super) fn hops_and_peer(frame: &[u8]) -> Option<(u8, PackedPeer)> {
    let head = frame.first_chunk::<BODY>()?;
    Some((head[HOPS], PackedPeer(*head.last_chunk()?)))
}
