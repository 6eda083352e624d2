//! Replies that pass a NAT.
//!
//! A capture has replies addressed to the inside host itself; a NAT expects them at its own address
//! and at a port of its choice. So the NAT runs once, and its output shows its choices:
//! 1. a frame of the NAT's output is the frame of the original with the same stamp and the same
//!    octets, apart from source, port, hop limit and checksums;
//! 2. in the original, each frame to the outside gives the current place of its flow;
//! 3. each frame from the outside is readdressed to this place, an ICMP error together with its
//!    quote.
//!
//! If the first run had no replies, some sessions may have ended earlier than they will now; a
//! second round with the readdressed capture removes the difference.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::IpAddr;

use crate::pcap::{Frame, Reader, Writer};
use crate::view::{Tuple, View, word};
use crate::wire::{ICMP, TCP, UDP};
use crate::{TrafficError, is_inside};

/// A flow's place at a NAT: its public address, and port or identifier.
type Place = (IpAddr, u16);

/// Writes `original` with the frames from outside readdressed to their flows' places in
/// `translated`, the NAT's output on the frames from inside. Returns the number of readdressed
/// frames.
pub fn readdress(
    original: impl Read,
    translated: impl Read,
    out: impl Write,
) -> Result<u64, TrafficError> {
    let places = places(translated)?;
    let mut now: BTreeMap<Tuple, Place> = BTreeMap::new();
    let mut writer = Writer::new(out)?;
    let mut moved = 0;
    for frame in Reader::new(original)? {
        let mut frame = frame?;
        if let Some(view) = View::of(&frame.bytes) {
            if is_inside(view.from) && !is_inside(view.to) {
                learn(&mut now, &places, &view, &frame);
            } else if !is_inside(view.from) && is_inside(view.to) {
                moved += u64::from(redirect(&now, &view, &mut frame.bytes).is_some());
            }
        }
        writer.write(frame.time, &frame.bytes)?;
    }
    writer.finish()?;
    Ok(moved)
}

/// Returns the frames of the NAT's output, each with its new source.
fn places(translated: impl Read) -> Result<BTreeMap<(u64, Vec<u8>), Place>, TrafficError> {
    let mut places = BTreeMap::new();
    for frame in Reader::new(translated)? {
        let frame = frame?;
        let Some(view) = View::of(&frame.bytes) else { continue };
        if let (false, Some((_, from, port, ..))) = (is_inside(view.from), view.tuple(&frame.bytes))
        {
            places.insert((frame.time, without_source(&view, &frame.bytes)), (from, port));
        }
    }
    Ok(places)
}

fn learn(
    now: &mut BTreeMap<Tuple, Place>,
    places: &BTreeMap<(u64, Vec<u8>), Place>,
    view: &View,
    frame: &Frame,
) {
    let Some(tuple) = view.tuple(&frame.bytes) else { return };
    if let Some(&place) = places.get(&(frame.time, without_source(view, &frame.bytes))) {
        now.insert(tuple, place);
    }
}

/// Returns the parts of a packet that a NAT does not change; the others are blank.
fn without_source(view: &View, frame: &[u8]) -> Vec<u8> {
    let mut rest = frame.get(view.ip..view.end).unwrap_or_default().to_vec();
    let mut blank = |at: usize, length: usize| {
        rest.iter_mut().skip(at - view.ip).take(length).for_each(|octet| *octet = 0);
    };
    if view.from.is_ipv6() {
        blank(view.ip + 7, 17);
    } else {
        blank(view.ip + 8, 1);
        blank(view.ip + 10, 6);
    }
    blank(view.port_at(), 2);
    if let Some(sum) = view.sum_at() {
        blank(sum, 2);
    }
    rest
}

/// Readdresses a frame from outside to its flow's place; `None` if there is no such place.
fn redirect(now: &BTreeMap<Tuple, Place>, view: &View, frame: &mut [u8]) -> Option<()> {
    let packet = frame.get_mut(..view.end)?; // without Ethernet's padding
    let outer = Sums::of(view);
    if let Some((protocol, from, from_port, to, to_port)) = view.tuple(packet) {
        let &(address, port) = now.get(&(protocol, to, to_port, from, from_port))?;
        let port_at = view.port_at() + if matches!(protocol, TCP | UDP) { 2 } else { 0 };
        outer.replace(packet, destination_at(view), &octets(address));
        outer.without_addresses().replace(packet, port_at, &port.to_be_bytes());
        return Some(());
    }
    let inner = view.quoted(packet)?;
    let &(address, port) = now.get(&inner.tuple(packet)?)?;
    let within = Sums { around: view.sum_at(), ..Sums::of(&inner) };
    within.replace(packet, source_at(&inner), &octets(address));
    within.without_addresses().replace(packet, inner.port_at(), &port.to_be_bytes());
    outer.replace(packet, destination_at(view), &octets(address));
    Some(())
}

/// The checksums that cover a field.
#[derive(Clone, Copy)]
struct Sums {
    /// Offset of IPv4's checksum.
    header: Option<usize>,
    /// Offset of the transport's checksum; ICMP's (version 4) covers no address.
    transport: Option<usize>,
    covers_addresses: bool,
    /// Whether it is UDP: a sum of zero means that there is none.
    udp: bool,
    /// Offset of the checksum of an ICMP error around a quote.
    around: Option<usize>,
}

impl Sums {
    fn of(view: &View) -> Self {
        Self {
            header: view.from.is_ipv4().then_some(view.ip + 10),
            transport: view.sum_at(),
            covers_addresses: view.protocol != ICMP,
            udp: view.protocol == UDP,
            around: None,
        }
    }

    /// Returns the sums for a field of the transport.
    fn without_addresses(self) -> Self {
        Self { header: None, covers_addresses: true, ..self }
    }

    /// Writes `new` at `at`, and updates the sums over it.
    fn replace(self, frame: &mut [u8], at: usize, new: &[u8]) {
        let Some(place) = frame.get_mut(at..at + new.len()) else { return };
        let old = place.to_vec();
        place.copy_from_slice(new);
        let around = |frame: &mut [u8], old: &[u8], new: &[u8]| {
            if let Some(at) = self.around {
                mend(frame, at, old, new, false);
            }
        };
        around(frame, &old, new);
        let transport = self.transport.filter(|_| self.covers_addresses);
        for (sum, udp) in [(self.header, false), (transport, self.udp)] {
            let Some((sum, before)) = sum.and_then(|at| Some((at, word(frame, at)?))) else {
                continue;
            };
            mend(frame, sum, &old, new, udp);
            let after = word(frame, sum).unwrap_or(before);
            around(frame, &before.to_be_bytes(), &after.to_be_bytes());
        }
    }
}

fn source_at(view: &View) -> usize {
    view.ip + if view.from.is_ipv4() { 12 } else { 8 }
}

fn destination_at(view: &View) -> usize {
    view.ip + if view.from.is_ipv4() { 16 } else { 24 }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Updates the sum at `at` for octets that changed (RFC 1624).
fn mend(frame: &mut [u8], at: usize, old: &[u8], new: &[u8], udp: bool) {
    let Some(sum) = word(frame, at).filter(|&sum| !udp || sum != 0) else { return };
    let mut total = u64::from(!sum);
    for (old, new) in old.chunks_exact(2).zip(new.chunks_exact(2)) {
        total += u64::from(!u16::from_be_bytes([old[0], old[1]]));
        total += u64::from(u16::from_be_bytes([new[0], new[1]]));
    }
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    let sum = match !(total as u16) {
        0 if udp => 0xffff,
        sum => sum,
    };
    if let Some(place) = frame.get_mut(at..at + 2) {
        place.copy_from_slice(&sum.to_be_bytes());
    }
}
