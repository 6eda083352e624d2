//! The two ends of a datagram, as seen from here, and the frame of a datagram to the other end.

use core::fmt;

use super::is_of_messages;
use crate::key::{Address, Endpoint, protocol};
use crate::packet::{Packet, Port, Vlan, checksum};
use crate::plain::{Describe, Plain};
use crate::short::ShortWriter;
use crate::verdict::Reason;
use crate::verdict::reasons::TooLong;

/// There is nobody to send the datagram to: no datagram caused the run, or its sender is a group.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(NobodyAsked)`")]
pub const NobodyAsked: Reason = Reason::new("nobody-asked");

/// Somebody that datagrams are sent to, and whence: the addresses of both ends, and the port of the
/// run where the datagram leaves.
///
/// [`Envelope::asker`](super::Envelope::asker) tells the one who asks. It is plain data, so a state
/// may keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address, and this program's.
    theirs: Address,
    ours: Address,
    their_port: u16,
    our_port: u16,
    their_mac: [u8; 6],
    our_mac: [u8; 6],
    /// The VLAN tag's control field; [`UNTAGGED`] if there is no tag.
    vlan: u16,
    at: Port,
}

/// In place of a VLAN tag's control field: 12 bits of it would be a network that must not be used.
const UNTAGGED: u16 = 0xffff;

/// Length of a UDP header.
const UDP: usize = 8;
/// The least length of an Ethernet frame, without the check sequence (IEEE 802.3).
const LEAST: usize = 60;
/// Hop limit of a datagram.
const TTL: u8 = 64;

impl Peer {
    /// Nobody.
    pub(crate) const NOBODY: Self = Self {
        theirs: Address::v6([0; 16]),
        ours: Address::v6([0; 16]),
        their_port: 0,
        our_port: 0,
        their_mac: [0; 6],
        our_mac: [0; 6],
        vlan: UNTAGGED,
        at: Port::INSIDE,
    };

    /// The sender of a packet; nobody if it has no two ends, or one of them is a group.
    #[inline]
    pub(crate) fn of(packet: &Packet<'_>) -> Self {
        let ends = (packet.flow(), packet.mac_source(), packet.mac_destination());
        let (Ok(flow), Ok(their_mac), Ok(our_mac)) = ends else { return Self::NOBODY };
        let is_group =
            flow.source.is_group() || flow.destination.is_group() || their_mac[0] & 1 == 1;
        if is_group {
            return Self::NOBODY;
        }
        let vlan = packet.vlan().map_or(UNTAGGED, |tag| {
            tag.id | u16::from(tag.drop_eligible) << 12 | u16::from(tag.priority) << 13
        });
        Self {
            theirs: flow.source,
            ours: flow.destination,
            their_port: flow.source_port,
            our_port: flow.destination_port,
            their_mac,
            our_mac,
            vlan,
            at: packet.port(),
        }
    }

    /// Where its datagrams come from.
    #[inline]
    #[must_use]
    pub const fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.theirs, port: self.their_port, protocol: protocol::UDP }
    }

    /// Where its datagrams go to: the end that they ask.
    #[inline]
    #[must_use]
    pub const fn asked(&self) -> Endpoint {
        Endpoint { address: self.ours, port: self.our_port, protocol: protocol::UDP }
    }

    /// Whether it is nobody.
    const fn is_nobody(&self) -> bool {
        self.their_port == 0 && self.our_port == 0
    }

    /// The port of the run that it is behind: where its datagrams came in, and those to it leave.
    #[inline]
    #[must_use]
    pub const fn behind(&self) -> Port {
        self.at
    }
}

/// Whom a datagram is sent to.
pub trait Destination {
    /// The peer, for a program that `asker` asks.
    fn peer(self, asker: &Peer) -> Peer;
}

impl Destination for Peer {
    #[inline]
    fn peer(self, _: &Peer) -> Peer {
        self
    }
}

/// The way is that of an answer to whoever asks: the same network, and the same next hop.
impl Destination for Endpoint {
    #[inline]
    fn peer(self, asker: &Peer) -> Peer {
        Peer { theirs: self.address, their_port: self.port, ..*asker }
    }
}

impl Plain for Peer {
    const SIZE: usize = 2 * Address::SIZE + 2 * 2 + 2 * 6 + 2 + 1;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        if let Some(out) = out.first_chunk_mut() {
            *out = PackedPeer::of(self).0;
        }
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(PackedPeer(*bytes.first_chunk()?).peer())
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { theirs, their_port, .. } = self;
        let (open, close) = if theirs.is_v4() { ("", "") } else { ("[", "]") };
        to.text(&format_args!("{open}{theirs}{close}:{their_port}"));
    }
}

/// A [`Peer`] as it stands in a frame. Its length is known, so no field needs a test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PackedPeer(pub(super) [u8; Peer::SIZE]);

impl PackedPeer {
    /// Nobody.
    pub(super) const NOBODY: Self = {
        let mut bytes = [0; Peer::SIZE];
        [bytes[48], bytes[49]] = UNTAGGED.to_le_bytes();
        bytes[50] = Peer::NOBODY.at.0;
        Self(bytes)
    };

    #[inline]
    pub(super) fn of(peer: &Peer) -> Self {
        let mut bytes = [0; Peer::SIZE];
        bytes[..16].copy_from_slice(&peer.theirs.octets());
        bytes[16..32].copy_from_slice(&peer.ours.octets());
        bytes[32..34].copy_from_slice(&peer.their_port.to_le_bytes());
        bytes[34..36].copy_from_slice(&peer.our_port.to_le_bytes());
        bytes[36..42].copy_from_slice(&peer.their_mac);
        bytes[42..48].copy_from_slice(&peer.our_mac);
        bytes[48..50].copy_from_slice(&peer.vlan.to_le_bytes());
        bytes[50] = peer.at.0;
        Self(bytes)
    }

    #[inline]
    pub(super) fn peer(&self) -> Peer {
        Peer {
            theirs: Address::v6(self.part(0)),
            ours: Address::v6(self.part(16)),
            their_port: u16::from_le_bytes(self.part(32)),
            our_port: u16::from_le_bytes(self.part(34)),
            their_mac: self.part(36),
            our_mac: self.part(42),
            vlan: u16::from_le_bytes(self.part(48)),
            at: Some(Port(self.0[50]).in_seven_bits())
                // No datagram becomes a message.
                .filter(|at| !is_of_messages(*at))
                .unwrap_or(Port(0x7f)),
        }
    }

    /// The bytes from this place on.
    #[inline(always)]
    fn part<const LENGTH: usize>(&self, from: usize) -> [u8; LENGTH] {
        self.0.get(from..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; LENGTH])
    }
}

impl fmt::Debug for PackedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.peer().fmt(f)
    }
}

/// Writes the frame of a datagram to this peer, with the contents that `write` writes. Returns its
/// length. Checksums are right.
#[inline]
pub(crate) fn datagram(
    peer: &Peer,
    write: impl FnOnce(&mut ShortWriter<'_>),
    frame: &mut [u8],
) -> Result<usize, Reason> {
    if peer.is_nobody() {
        return Err(NobodyAsked);
    }
    let tag = if peer.vlan == UNTAGGED { 0 } else { 4 };
    let v4 = peer.theirs.as_v4().zip(peer.ours.as_v4());
    let ip = 14 + tag;
    let udp = ip + if v4.is_some() { 20 } else { 40 };
    let mut contents = ShortWriter::new(frame.get_mut(udp + UDP..).ok_or(TooLong)?);
    write(&mut contents);
    let length = contents.finish().ok_or(TooLong)?;
    let datagram = u16::try_from(UDP + length).map_err(|_| TooLong)?;
    if v4.is_some() && datagram > u16::MAX - 20 {
        return Err(TooLong);
    }
    head(peer, v4.is_some(), datagram, frame.get_mut(..udp).unwrap_or_default());
    let all = frame.get_mut(udp..udp + UDP + length).unwrap_or_default();
    udp_header(peer, datagram, all);
    let (end, least) = (udp + UDP + length, LEAST.min(frame.len()));
    if let Some(padding) = frame.get_mut(end..least) {
        padding.fill(0);
    }
    Ok(end.max(least))
}

/// Writes Ethernet header, VLAN tag and IP header.
fn head(peer: &Peer, v4: bool, datagram: u16, out: &mut [u8]) {
    let mut out = ShortWriter::new(out);
    out.put(&peer.their_mac);
    out.put(&peer.our_mac);
    if peer.vlan != UNTAGGED {
        out.put(&Vlan::CUSTOMER.to_be_bytes());
        out.put(&peer.vlan.to_be_bytes());
    }
    let (Some(ours), Some(theirs), true) = (peer.ours.as_v4(), peer.theirs.as_v4(), v4) else {
        out.put(&[0x86, 0xdd, 0x60, 0, 0, 0]);
        out.put(&datagram.to_be_bytes());
        out.put(&[protocol::UDP, TTL]);
        out.put(&peer.ours.octets());
        return out.put(&peer.theirs.octets());
    };
    out.put(&[0x08, 0x00]);
    // Not to be fragmented, so the identification may be any (RFC 6864, 4.1).
    let [high, low] = (datagram + 20).to_be_bytes();
    let mut ip = [0; 20];
    ip[..10].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0x40, 0, TTL, protocol::UDP]);
    ip[12..16].copy_from_slice(&ours);
    ip[16..].copy_from_slice(&theirs);
    let sum = checksum::internet(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    out.put(&ip);
}

/// Writes the UDP header in front of the contents.
fn udp_header(peer: &Peer, datagram: u16, all: &mut [u8]) {
    let mut head = [0; UDP];
    head[..2].copy_from_slice(&peer.our_port.to_be_bytes());
    head[2..4].copy_from_slice(&peer.their_port.to_be_bytes());
    head[4..6].copy_from_slice(&datagram.to_be_bytes());
    if let Some(place) = all.first_chunk_mut() {
        *place = head;
    }
    // A sum of zero would mean that there is none (RFC 768).
    let sum = match checksum::transport(peer.ours, peer.theirs, protocol::UDP, all) {
        0 => 0xffff,
        sum => sum,
    };
    if let Some(place) = all.get_mut(6..8) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::message::{ELSEWHERE, SENT};
    use crate::packet::Meta;

    fn answer(question: &[u8], contents: &[u8]) -> Result<Vec<u8>, Reason> {
        let mut question = question.to_vec();
        let peer = Peer::of(&Packet::new(&mut question, Meta { port: Port(1), ..Meta::default() }));
        let mut bytes = vec![0; Peer::SIZE];
        peer.put(&mut bytes);
        let peer = Peer::get(&bytes).ok_or(TooLong)?;
        let mut frame = vec![0xee; 2048];
        let length = datagram(&peer, |out| out.put(contents), &mut frame)?;
        frame.truncate(length);
        Ok(frame)
    }

    /// A datagram with 4 bytes from port 4000 to port 7, in this version of IP.
    pub(crate) fn question(v4: bool, tag: bool) -> Vec<u8> {
        let at = |last: u8| {
            if v4 {
                Address::v4([10, 0, 0, last])
            } else {
                Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
            }
        };
        let peer = Peer {
            theirs: at(2),
            ours: at(1),
            their_port: 7,
            our_port: 4000,
            their_mac: [2, 0, 0, 0, 0, 2],
            our_mac: [2, 0, 0, 0, 0, 1],
            vlan: if tag { 0x6064 } else { UNTAGGED },
            at: Port(0),
        };
        let mut frame = vec![0; 100];
        let length = datagram(&peer, |out| out.put(b"ping"), &mut frame).unwrap();
        frame.truncate(length);
        frame
    }

    #[test]
    fn no_peer_is_at_the_port_of_messages() {
        let mut bytes = vec![0; Peer::SIZE];
        Peer::NOBODY.put(&mut bytes);
        let of_messages = [SENT.0, SENT.0 | 0x80, ELSEWHERE.0, ELSEWHERE.0 | 0x80, 0xff];
        for (port, at) in of_messages.map(|port| (port, 0x7f)).into_iter().chain([(3, 3)]) {
            bytes[Peer::SIZE - 1] = port;
            assert_eq!(Peer::get(&bytes).unwrap().behind(), Port(at), "{port}");
        }
    }

    #[test]
    fn nobody_is_nobody_in_a_frame() {
        let packed = PackedPeer::of(&Peer::NOBODY);
        assert_eq!(packed.0, PackedPeer::NOBODY.0);
        assert_eq!(packed.peer(), Peer::NOBODY);
    }

    #[test]
    fn an_answer_goes_back_the_way_that_the_question_came() {
        for (v4, tag) in [(true, false), (false, false), (true, true), (false, true)] {
            let question = question(v4, tag);
            let mut answer = answer(&question, b"pong!").unwrap();
            let mut question = question;
            let asked = Packet::new(&mut question, Meta::default());
            let answered = Packet::new(&mut answer, Meta::default());
            assert!(checksum::verify(&asked) && checksum::verify(&answered));
            assert_eq!(answered.payload(), b"pong!");
            assert_eq!(answered.flow(), Ok(asked.flow().unwrap().reversed()));
            assert_eq!(answered.mac_destination(), asked.mac_source());
            assert_eq!(answered.vlan(), asked.vlan());
            assert!(answered.frame().len() >= LEAST);
            assert_eq!(answered.is_ipv4(), v4);
        }
    }

    #[test]
    fn nobody_answers_a_group_or_what_is_no_datagram() {
        let mut group = question(true, false);
        group[30] = 224;
        assert_eq!(answer(&group, b""), Err(NobodyAsked));
        assert_eq!(answer(&[0; 60], b""), Err(NobodyAsked));
    }

    #[test]
    fn lengths_are_bounded() {
        let question = question(true, false);
        assert_eq!(answer(&question, &[1; 2048]), Err(TooLong));
        assert_eq!(answer(&question, &[1; 2048 - 42]).unwrap().len(), 2048);
        let empty = answer(&question, b"").unwrap();
        assert_eq!((empty.len(), &empty[42..]), (60, &[0; 18][..]));
    }
}
