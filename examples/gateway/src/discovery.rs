//! Who has which Ethernet address: ARP (RFC 826) and neighbour discovery (RFC 4861).

use cora::prelude::*;

use crate::Interface;
use crate::neighbours::Neighbours;

const BROADCAST: [u8; 6] = [0xff; 6];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// How ARP for IPv4 over Ethernet begins.
const ARP_HEAD: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ARP: [u8; 2] = [8, 6];
/// Bytes of Ethernet's header, and of an ARP message.
const ETHERNET: usize = 14;
const ARP_LENGTH: usize = 28;
/// Bytes of a solicitation or an advertisement with one Ethernet address.
const MESSAGE: usize = 32;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// Options of the source's and the target's Ethernet address.
const OF_SOURCE: u8 = 1;
const OF_TARGET: u8 = 2;
/// From a router, an answer, and it replaces what was known (RFC 4861, 4.4).
const ANSWER_FLAGS: u8 = 0xe0;

/// Learns from a message of the link, and answers it if it asks for the router.
pub(crate) fn answer(
    packet: &mut Packet,
    here: &Interface,
    neighbours: &mut Merged<Neighbours>,
    now: u64,
) -> Verdict {
    if packet.is_ip() {
        of_v6(packet, here, neighbours, now)
    } else {
        arp(packet, here, neighbours, now)
    }
}

/// Sends a question for a neighbour's address out at its port.
pub(crate) fn ask(
    neighbour: Address,
    there: &Interface,
    port: Port,
    out: &mut Outbox,
) -> Result<(), Reason> {
    let Some(target) = neighbour.as_v4() else {
        // The group of all neighbours with these last three bytes (RFC 4291, 2.7.1).
        let octets = neighbour.octets();
        let mut group = [0; 16];
        group[..2].copy_from_slice(&[0xff, 2]);
        group[11..].copy_from_slice(&[1, 0xff, octets[13], octets[14], octets[15]]);
        let mac = [0x33, 0x33, 0xff, octets[13], octets[14], octets[15]];
        let ends = (there.v6, Address::v6(group));
        let frame = message(SOLICITATION, 0, ends, neighbour, OF_SOURCE, there.mac.0, mac);
        return out.send_frame(&frame, port);
    };
    let own = there.v4.as_v4().unwrap_or_default();
    let mut frame = [0; 60];
    ethernet(&mut frame, BROADCAST, there.mac.0, ARP);
    put(&mut frame, ETHERNET, &arp_message(1, (there.mac.0, own), ([0; 6], target)));
    out.send_frame(&frame, port)
}

fn arp(
    packet: &mut Packet,
    here: &Interface,
    neighbours: &mut Merged<Neighbours>,
    now: u64,
) -> Verdict {
    let at = ETHERNET + 4 * packet.vlans().count();
    let message: Option<[u8; ARP_LENGTH]> =
        packet.frame().get(at..).and_then(|from| from.first_chunk()).copied();
    let Some(message) = message else { return Drop(Truncated) };
    if message[..6] != ARP_HEAD {
        return Drop(Malformed);
    }
    let [_, _, _, _, _, _, _, operation, rest @ ..] = message;
    let (mac, address) = (six(&rest, 0), four(&rest, 6));
    let target = Address::v4(four(&rest, 16));
    if mac[0] & 1 == 1 || target != here.v4 {
        return Pass;
    }
    if address != [0; 4] {
        neighbours.update().learn(Address::v4(address), mac, now);
    }
    if operation != 1 {
        return Pass;
    }
    let own = here.v4.as_v4().unwrap_or_default();
    packet.splice(at, ARP_LENGTH, &arp_message(2, (here.mac.0, own), (mac, address)))?;
    packet.set_mac_destination(mac)?;
    packet.set_mac_source(here.mac.0)?;
    Redirect(packet.port())
}

fn of_v6(
    packet: &mut Packet,
    here: &Interface,
    neighbours: &mut Merged<Neighbours>,
    now: u64,
) -> Verdict {
    let kind = packet.icmp_type_and_code().map(u16::to_be_bytes);
    let Some([kind @ (SOLICITATION | ADVERTISEMENT), 0]) = kind else { return Pass };
    if !checksum::verify(packet) {
        return Drop(BadChecksum);
    }
    let Some(Offsets { transport, end, .. }) = packet.offsets() else { return Drop(Truncated) };
    let message = packet.frame().get(transport..end).unwrap_or_default();
    let target = message.get(8..).and_then(|from| from.first_chunk());
    let Some(target) = target.map(|octets| Address::v6(*octets)) else { return Drop(Truncated) };
    let wanted = if kind == SOLICITATION { OF_SOURCE } else { OF_TARGET };
    let mac = option(message.get(24..).unwrap_or_default(), wanted);
    let source = packet.source()?;
    let is_probe = source == Address::v6([0; 16]);
    if kind == ADVERTISEMENT {
        if let Some(mac) = mac {
            neighbours.update().learn(target, mac, now);
        }
        return Pass;
    }
    if target != here.v6 {
        return Pass;
    }
    if let (Some(mac), false) = (mac, is_probe) {
        neighbours.update().learn(source, mac, now);
    }
    // Who has no address yet hears it with all others (RFC 4861, 7.2.4).
    let (to, to_mac) = if is_probe {
        let mut all = [0; 16];
        (all[0], all[1], all[15]) = (0xff, 2, 1);
        (Address::v6(all), [0x33, 0x33, 0, 0, 0, 1])
    } else {
        (source, packet.mac_source()?)
    };
    let ends = (here.v6, to);
    let frame =
        self::message(ADVERTISEMENT, ANSWER_FLAGS, ends, target, OF_TARGET, here.mac.0, to_mac);
    let length = packet.len();
    packet.splice(0, length, &frame)?;
    Redirect(packet.port())
}

/// The Ethernet address in the first option of this kind.
fn option(mut options: &[u8], wanted: u8) -> Option<[u8; 6]> {
    // An option has at least eight bytes, and a frame is short.
    while let [kind, units, rest @ ..] = options {
        if *kind == wanted && *units == 1 {
            return rest.first_chunk().copied();
        }
        let length = 8 * usize::from(*units);
        options = options.get(length.max(8)..)?;
    }
    None
}

/// A frame with a solicitation or an advertisement for `target`.
fn message(
    kind: u8,
    flags: u8,
    (source, destination): (Address, Address),
    target: Address,
    option: u8,
    own: [u8; 6],
    to: [u8; 6],
) -> [u8; ETHERNET + 40 + MESSAGE] {
    let mut frame = [0; ETHERNET + 40 + MESSAGE];
    ethernet(&mut frame, to, own, IPV6);
    let (length, hops) = (MESSAGE as u8, 255);
    put(&mut frame, 14, &[0x60, 0, 0, 0, 0, length, protocol::ICMPV6, hops]);
    put(&mut frame, 22, &source.octets());
    put(&mut frame, 38, &destination.octets());
    let mut message = [0; MESSAGE];
    put(&mut message, 0, &[kind, 0, 0, 0, flags]);
    put(&mut message, 8, &target.octets());
    put(&mut message, 24, &[option, 1]);
    put(&mut message, 26, &own);
    let sum = checksum::transport(source, destination, protocol::ICMPV6, &message);
    put(&mut message, 2, &sum.to_be_bytes());
    put(&mut frame, 54, &message);
    frame
}

fn arp_message(
    operation: u8,
    (own_mac, own): ([u8; 6], [u8; 4]),
    (mac, address): ([u8; 6], [u8; 4]),
) -> [u8; ARP_LENGTH] {
    let mut message = [0; ARP_LENGTH];
    put(&mut message, 0, &ARP_HEAD);
    put(&mut message, 6, &[0, operation]);
    put(&mut message, 8, &own_mac);
    put(&mut message, 14, &own);
    put(&mut message, 18, &mac);
    put(&mut message, 24, &address);
    message
}

fn ethernet(frame: &mut [u8], to: [u8; 6], from: [u8; 6], kind: [u8; 2]) {
    put(frame, 0, &to);
    put(frame, 6, &from);
    put(frame, 12, &kind);
}

/// Writes bytes that fit there.
fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = frame.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn six(bytes: &[u8], at: usize) -> [u8; 6] {
    bytes.get(at..).and_then(|from| from.first_chunk()).copied().unwrap_or_default()
}

fn four(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes.get(at..).and_then(|from| from.first_chunk()).copied().unwrap_or_default()
}
