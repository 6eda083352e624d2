//! Replies to the output of a NAT, with a small stand-in for a NAT.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;

use cora_traffic::pcap::{Frame, Reader, Writer};
use cora_traffic::{Profile, Summary, answer, generate, merge, readdress};
use smoltcp::wire::{EthernetFrame, Icmpv4Packet, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

mod sound;

const PUBLIC: [u8; 4] = [192, 0, 2, 1];

fn original() -> Vec<u8> {
    let mut bytes = Vec::new();
    generate(Profile::Mix, 5, 20_000, 1_500, &mut bytes).unwrap();
    bytes
}

fn frames(capture: &[u8]) -> Vec<Frame> {
    Reader::new(capture).unwrap().map(Result::unwrap).collect()
}

/// Moves untagged IPv4 flows from inside to one public address, a port each; drops the rest.
fn translate(original: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let mut ports = BTreeMap::new();
    for mut frame in frames(original) {
        if sound::check(&frame.bytes).is_ok() && move_source(&mut frame.bytes, &mut ports).is_some()
        {
            writer.write(frame.time, &frame.bytes).unwrap();
        }
    }
    writer.finish().unwrap()
}

fn move_source(frame: &mut [u8], ports: &mut BTreeMap<Vec<u8>, u16>) -> Option<()> {
    let mut ethernet = EthernetFrame::new_checked(frame).ok()?;
    if u16::from(ethernet.ethertype()) != 0x0800 {
        return None;
    }
    let mut packet = Ipv4Packet::new_checked(ethernet.payload_mut()).ok()?;
    let (from, to) = (packet.src_addr(), packet.dst_addr());
    if from.octets()[0] != 10 || packet.more_frags() || packet.frag_offset() > 0 {
        return None;
    }
    let next = 20_000 + ports.len() as u16;
    let protocol = packet.next_header();
    let mut port = |rest: &[u8]| {
        let key = [&from.octets(), &to.octets(), &[u8::from(protocol)][..], rest].concat();
        *ports.entry(key).or_insert(next)
    };
    let public = std::net::IpAddr::from(PUBLIC).into();
    match protocol {
        IpProtocol::Tcp => {
            let mut tcp = TcpPacket::new_checked(packet.payload_mut()).ok()?;
            let key = [tcp.src_port().to_be_bytes(), tcp.dst_port().to_be_bytes()].concat();
            tcp.set_src_port(port(&key));
            tcp.fill_checksum(&public, &to.into());
        }
        IpProtocol::Udp => {
            let mut udp = UdpPacket::new_checked(packet.payload_mut()).ok()?;
            let was_summed = udp.checksum() != 0;
            let key = [udp.src_port().to_be_bytes(), udp.dst_port().to_be_bytes()].concat();
            udp.set_src_port(port(&key));
            udp.fill_checksum(&public, &to.into());
            if !was_summed {
                udp.set_checksum(0);
            }
        }
        IpProtocol::Icmp => {
            let mut icmp = Icmpv4Packet::new_checked(packet.payload_mut()).ok()?;
            if u8::from(icmp.msg_type()) != 8 {
                return None;
            }
            icmp.set_echo_ident(port(&icmp.echo_ident().to_be_bytes()));
            icmp.fill_checksum();
        }
        _ => return None,
    }
    packet.set_src_addr(PUBLIC.into());
    packet.set_hop_limit(packet.hop_limit() - 1);
    packet.fill_checksum();
    Some(())
}

/// Returns the destination of an untagged IPv4 frame.
fn destination(frame: &[u8]) -> Option<[u8; 4]> {
    if frame.get(12..14)? == [8, 0] { frame.get(30..34)?.try_into().ok() } else { None }
}

#[test]
fn replies_are_readdressed_with_right_checksums() {
    let original = original();
    let translated = translate(&original);
    let mut out = Vec::new();
    let moved = readdress(&original[..], &translated[..], &mut out).unwrap();
    assert!(moved > 2_000, "{moved}");

    let (before, after) = (frames(&original), frames(&out));
    assert_eq!(before.len(), after.len());
    let mut seen = BTreeMap::new();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.time, after.time);
        if before == after {
            continue;
        }
        assert_eq!(destination(&after.bytes), Some(PUBLIC));
        assert_eq!(sound::check(&before.bytes), sound::check(&after.bytes), "{:02x?}", after.bytes);
        let header = usize::from(after.bytes[14] & 15) * 4;
        *seen.entry((after.bytes[23], after.bytes[14 + header])).or_insert(0) += 1;
        if after.bytes[23] == 1 && matches!(after.bytes[14 + header], 3 | 11) {
            let quoted = &after.bytes[14 + header + 8..];
            assert_eq!(quoted[12..16], PUBLIC, "the quote is readdressed too");
            assert!(Ipv4Packet::new_unchecked(quoted).verify_checksum());
        }
    }
    for kind in [(1, 0), (1, 3), (1, 11)] {
        assert!(seen.contains_key(&kind), "an ICMP message of kind {kind:?} was moved");
    }
}

#[test]
fn a_translation_of_nothing_moves_nothing() {
    let original = original();
    let empty = Writer::new(Vec::new()).unwrap().finish().unwrap();
    let mut out = Vec::new();
    assert_eq!(readdress(&original[..], &empty[..], &mut out).unwrap(), 0);
    assert_eq!(out, original);
}

#[test]
fn what_goes_out_is_answered() {
    let original = original();
    let translated = translate(&original);
    let mut replies = Vec::new();
    let count = answer(&translated[..], &mut replies).unwrap();
    assert!(count > 2_000, "{count}");
    let frames_back = frames(&replies);
    assert_eq!(frames_back.len() as u64, count);
    for frame in &frames_back {
        assert_eq!(sound::check(&frame.bytes), Ok(()), "{:02x?}", frame.bytes);
        assert_eq!(destination(&frame.bytes), Some(PUBLIC));
    }
    let flags: Vec<u8> =
        frames_back.iter().filter_map(|frame| sound::tcp_flags(&frame.bytes)).collect();
    for expected in [0x12, 0x10, 0x18, 0x11] {
        assert!(flags.contains(&expected), "a segment with flags {expected:#x}");
    }
    let summary = Summary::of(&replies[..]).unwrap();
    assert!(summary.udp > 100 && summary.icmp > 100, "{summary}");

    let mut merged = Vec::new();
    merge(&original[..], &replies[..], &mut merged).unwrap();
    assert_eq!(frames(&merged).len() as u64, 20_000 + count);
}
