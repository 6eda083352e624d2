//! Any bytes make a packet; every getter and setter holds to its word on it.
//!
//! The first 24 bytes choose what the setters write; the rest is the frame.
#![no_main]

use cora_core::conntrack::TcpState;
use cora_core::key::{
    Address, DestinationAddress, FiveTuple, HeaderKey as _, InsideAddress, SourceAddress,
};
use cora_core::packet::{Meta, Packet, Port, checksum};
use cora_core::state::table::Direction;
use libfuzzer_sys::fuzz_target;

/// What the setters write.
struct Choice {
    address: Address,
    ports: (u16, u16),
    port: Port,
    direction: Direction,
    ethertype: Option<[u8; 2]>,
    /// Whether an IPv4 header behind the EtherType gets its right checksum: else few would come
    /// past it.
    summed: bool,
}

fuzz_target!(|bytes: &[u8]| {
    let Some((head, frame)) = bytes.split_first_chunk::<24>() else { return };
    let choice = choose(head);
    let mut frame = frame.to_vec();
    // Half of the inputs are steered past the Ethernet type, where the parse is.
    if let (Some(ethertype), Some(place)) = (choice.ethertype, frame.get_mut(12..14)) {
        place.copy_from_slice(&ethertype);
    }
    if choice.summed {
        sum_header(&mut frame);
    }
    read_all(&mut frame, &choice);
    write_all(&mut frame, &choice);
});

fn choose(head: &[u8; 24]) -> Choice {
    let mut octets = [0; 16];
    octets.copy_from_slice(&head[..16]);
    let v4 = head[16] & 1 == 1;
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    Choice {
        address: if v4 {
            Address::v4([head[0], head[1], head[2], head[3]])
        } else {
            Address::v6(octets)
        },
        ports: (number(17), number(19)),
        port: Port(head[21] & 1),
        direction: if head[21] & 2 == 0 { Direction::Original } else { Direction::Reply },
        ethertype: match head[22] & 3 {
            0 => Some([0x08, 0x00]),
            1 => Some([0x86, 0xdd]),
            _ => None,
        },
        summed: head[22] & 4 == 0,
    }
}

/// Sums up the IPv4 header of an untagged frame, as far as it is there.
fn sum_header(frame: &mut [u8]) {
    let Some(header) = frame.get_mut(14..).filter(|ip| ip.len() >= 20 && ip[0] >> 4 == 4) else {
        return;
    };
    let length = header.len().min(usize::from(header[0] & 15).max(5) * 4);
    header[10..12].fill(0);
    let sum = checksum::internet(&header[..length]).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
}

/// Calls every getter, and holds what must agree between them.
fn read_all(frame: &mut [u8], choice: &Choice) {
    let meta = Meta { time: 1, now: 2, port: choice.port, ..Meta::default() };
    let packet = Packet::new(frame, meta);
    let flow = packet.flow();
    assert_eq!(flow, packet.five_tuple());
    assert_eq!(flow, FiveTuple::of(&packet));
    assert_eq!(packet.source(), SourceAddress::of(&packet).map(|key| key.0));
    assert_eq!(packet.destination(), DestinationAddress::of(&packet).map(|key| key.0));
    assert_eq!(packet.inside_address(), InsideAddress::of(&packet).map(|key| key.0));
    assert_eq!((packet.time(), packet.now(), packet.port()), (1, 2, choice.port));
    assert!(packet.vlans().count() <= 4 && packet.vlan() == packet.vlans().next());
    assert_eq!(packet.fragment().is_some(), packet.is_fragment());
    assert_eq!(packet.is_ip(), packet.is_ipv4() || packet.is_ipv6());
    assert!(!flow.is_ok() || packet.source().is_ok() && packet.protocol().is_ok());
    assert!(packet.payload().len() + 14 <= packet.len() || packet.payload().is_empty());
    assert!(!packet.is_link_local_control() || !flow.is_ok());
    if let (Ok(flow), false) = (flow, packet.is_icmp_error()) {
        assert_eq!((Ok(flow.source), Ok(flow.protocol)), (packet.source(), packet.protocol()));
        assert_eq!(flow.source.is_v4(), packet.is_ipv4());
    }
    if let Some(tcp) = packet.tcp() {
        assert_eq!(tcp.payload_len as usize, packet.payload().len());
        assert_eq!(flow.map(|flow| flow.source_port), Ok(tcp.source_port));
    }
    let opened = TcpState::open(&packet);
    assert!(opened.is_err() || TcpState::pick_up(&packet) == opened);
    // What is judged has addresses.
    assert!(packet.forwardable().is_ok() || packet.source().is_ok());
    assert!(!packet.is_dhcp() || flow.is_ok());
    assert!(packet.icmp_query().is_none() || packet.tcp().is_none());
    let mut state = opened.unwrap_or_default();
    let before = state;
    if state.advance(&packet, choice.direction).is_err() {
        assert_eq!(state, before);
    }
    assert!(format!("{packet:?}").len() > 8);
}

/// Calls every setter, and holds that each does what it says or nothing.
fn write_all(frame: &mut Vec<u8>, choice: &Choice) {
    let right = checksum::verify(&Packet::new(frame, Meta::default()));
    let (address, (source_port, destination_port)) = (choice.address, choice.ports);
    if apply(frame, |packet| packet.set_source(address)) {
        let packet = Packet::new(frame, Meta::default());
        assert_eq!(packet.source(), Ok(address));
        assert!(packet.flow().is_err() || packet.flow().map(|flow| flow.source) == Ok(address));
    }
    if apply(frame, |packet| packet.set_destination(address)) {
        let packet = Packet::new(frame, Meta::default());
        assert_eq!(packet.destination(), Ok(address));
        assert!(
            packet.flow().is_err() || packet.flow().map(|flow| flow.destination) == Ok(address)
        );
    }
    if apply(frame, |packet| packet.set_source_port(source_port)) {
        let flow = Packet::new(frame, Meta::default()).flow();
        assert_eq!(flow.map(|flow| flow.source_port), Ok(source_port));
    }
    if apply(frame, |packet| packet.set_destination_port(destination_port)) {
        let flow = Packet::new(frame, Meta::default()).flow();
        assert_eq!(flow.map(|flow| flow.destination_port), Ok(destination_port));
    }
    if apply(frame, |packet| packet.set_source_endpoint(address, destination_port)) {
        let flow = Packet::new(frame, Meta::default()).flow();
        let end = flow.map(|flow| (flow.source, flow.source_port));
        assert_eq!(end, Ok((address, destination_port)));
    }
    if apply(frame, |packet| packet.set_destination_endpoint(address, source_port)) {
        let flow = Packet::new(frame, Meta::default()).flow();
        let end = flow.map(|flow| (flow.destination, flow.destination_port));
        assert_eq!(end, Ok((address, source_port)));
    }
    let ttl = Packet::new(frame, Meta::default()).ttl();
    if apply(frame, |packet| packet.decrement_ttl()) {
        assert_eq!(Packet::new(frame, Meta::default()).ttl(), ttl.map(|ttl| ttl - 1));
    }
    if apply(frame, |packet| packet.set_mac_source([7; 6])) {
        assert_eq!(Packet::new(frame, Meta::default()).mac_source(), Ok([7; 6]));
    }
    if apply(frame, |packet| packet.set_mac_destination([9; 6])) {
        assert_eq!(Packet::new(frame, Meta::default()).mac_destination(), Ok([9; 6]));
    }
    // Right stays right.
    assert!(!right || checksum::verify(&Packet::new(frame, Meta::default())));
}

/// Applies one setter, and holds that the packet afterwards is what a new parse of its bytes says,
/// and that a refusal leaves the bytes alone. Returns whether it was done.
fn apply<E>(frame: &mut Vec<u8>, set: impl FnOnce(&mut Packet<'_>) -> Result<(), E>) -> bool {
    let before = frame.clone();
    let mut packet = Packet::new(frame, Meta::default());
    let done = set(&mut packet).is_ok();
    let (flow, source, payload) = (packet.flow(), packet.source(), packet.payload().to_vec());
    let control = packet.is_link_local_control();
    let again = Packet::new(frame, Meta::default());
    assert_eq!((again.flow(), again.source()), (flow, source));
    assert_eq!((again.payload(), again.is_link_local_control()), (&payload[..], control));
    assert!(done || *frame == before);
    done
}
