//! Captures altered for programs of one kind: hosts with IPv6 alone, tunnels, many stations.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::BufWriter;
use std::net::{IpAddr, Ipv6Addr};
use std::path::Path;

use cora::prelude::{Address, FiveTuple, Packet, checksum, protocol};
use cora_traffic::is_inside;
use cora_traffic::pcap::Writer;

use crate::captures::each;

/// The public address of a NAT64.
pub const PUBLIC: Address = Address::v4([192, 0, 2, 64]);
/// 64:ff9b::/96.
pub const PREFIX: u128 = 0x0064_ff9b << 96;

/// Writes the result of `alter` for each packet; `None` leaves the packet out.
fn rewrite(original: &Path, out: &Path, mut alter: impl FnMut(&mut Packet<'_>) -> Option<Vec<u8>>) {
    write_anew(original, out, |_, packet, write| {
        if let Some(frame) = alter(packet) {
            write(&frame);
        }
    });
}

/// Writes the frames that `alter` gives for each packet, all at its time.
fn write_anew(
    original: &Path,
    out: &Path,
    mut alter: impl FnMut(u64, &mut Packet<'_>, &mut dyn FnMut(&[u8])),
) {
    let to = File::create(out).map(BufWriter::new);
    let to = to.unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let mut writer = Writer::new(to).unwrap_or_else(|error| panic!("{error}"));
    each(original, |time, packet| {
        alter(time, packet, &mut |frame| {
            writer.write(time, frame).unwrap_or_else(|error| panic!("{error}"));
        });
    });
    writer.finish().unwrap_or_else(|error| panic!("{error}"));
}

fn ip(address: Address) -> IpAddr {
    Ipv6Addr::from(address.octets()).to_canonical()
}

fn comes_from_inside(packet: &Packet<'_>) -> bool {
    packet.source().map_or(true, |source| is_inside(ip(source)))
}

/// Returns the packet's flow if a translator from IPv6 would make such a packet. It carries TCP,
/// UDP or a ping over IPv4, has no tag, and is neither a fragment nor an error.
fn has_a_flow(packet: &Packet<'_>) -> Option<FiveTuple> {
    let is_plain = packet.frame().get(12..14) == Some(&[8, 0]) && !packet.is_icmp_error();
    let flow = packet.five_tuple().ok().filter(|_| is_plain)?;
    matches!(flow.protocol, protocol::TCP | protocol::UDP | protocol::ICMP).then_some(flow)
}

fn hash(of: impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Returns an Ethernet address that identifies a packet's flow, even after translation.
fn mark(flow: &FiveTuple) -> [u8; 6] {
    let mut mark = [2; 6];
    mark[1..].copy_from_slice(&hash(flow).to_be_bytes()[3..]);
    mark
}

/// Gives the inside IPv6 alone: its IPv4 packets go to the prefix of a NAT64. The packets of each
/// flow have an Ethernet address of their own.
pub fn of_ipv6_alone(original: &Path, out: &Path) {
    rewrite(original, out, |packet| {
        let flow = has_a_flow(packet).filter(|_| comes_from_inside(packet));
        Some(flow.map_or_else(|| packet.frame().to_vec(), |flow| as_ipv6(packet, &flow)))
    });
}

fn as_ipv6(packet: &Packet<'_>, flow: &FiveTuple) -> Vec<u8> {
    let frame = packet.frame();
    let head = 14 + usize::from(frame[14] & 0x0f) * 4;
    let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let mut transport = frame[head..end].to_vec();
    let bits = |address: Address| address.bits() & 0xffff_ffff;
    let source = Address::v6(((0xfd00_u128 << 112) | bits(flow.source)).to_be_bytes());
    let destination = Address::v6((PREFIX | bits(flow.destination)).to_be_bytes());
    let (next, sum) = match flow.protocol {
        protocol::TCP => (protocol::TCP, 16),
        protocol::UDP => (protocol::UDP, 6),
        _ => (protocol::ICMPV6, 2),
    };
    if next == protocol::ICMPV6 {
        transport[0] = if transport[0] == 8 { 128 } else { 129 };
    }
    transport[sum..sum + 2].fill(0);
    let right = checksum::transport(source, destination, next, &transport).max(1);
    transport[sum..sum + 2].copy_from_slice(&right.to_be_bytes());
    let mut six = [&frame[..6], &mark(flow)[..], &[0x86, 0xdd, 0x60, 0, 0, 0]].concat();
    six.extend_from_slice(&(transport.len() as u16).to_be_bytes());
    six.extend_from_slice(&[next, 64]);
    six.extend_from_slice(&[source.octets(), destination.octets()].concat());
    six.extend_from_slice(&transport);
    six
}

/// Sends answers to the addresses to which a NAT64 moved their flows. `translated` is its output on
/// the altered capture.
pub fn answer_nat64(original: &Path, translated: &Path, altered: &Path, out: &Path) {
    let mut ports = BTreeMap::<[u8; 6], u16>::new();
    each(translated, |_, packet| {
        if let (Ok(flow), Ok(mark)) = (packet.five_tuple(), packet.mac_source())
            && flow.source == PUBLIC
        {
            ports.insert(mark, flow.source_port);
        }
    });
    // Both captures have the same packets, in the same order.
    let mut sixes = Vec::new();
    each(altered, |_, packet| sixes.push(packet.frame().to_vec()));
    let mut sixes = sixes.into_iter();
    rewrite(original, out, |packet| {
        let six = sixes.next();
        let answered =
            packet.five_tuple().ok().filter(|_| packet.is_ipv4() && !comes_from_inside(packet));
        let port = answered.and_then(|flow| ports.get(&mark(&flow.reversed())).copied());
        let Some(port) = port else { return six };
        let moved = packet.set_destination(PUBLIC).and_then(|()| packet.set_destination_port(port));
        moved.is_ok().then(|| packet.frame().to_vec())
    });
}

/// Puts packets from outside into a VXLAN tunnel, with the defaults of the example.
pub fn tunnelled(original: &Path, out: &Path) {
    rewrite(original, out, |packet| {
        let inner = packet.frame();
        if comes_from_inside(packet) {
            return Some(inner.to_vec());
        }
        let length = inner.len() as u16;
        let port = packet.five_tuple().map_or(50_000, |flow| 0xc000 | hash(flow) as u16);
        let mut outer = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
        outer.extend_from_slice(&(36 + length).to_be_bytes());
        outer.extend_from_slice(&[
            0,
            0,
            0x40,
            0,
            61,
            protocol::UDP,
            0,
            0,
            203,
            0,
            113,
            1,
            192,
            0,
            2,
            1,
        ]);
        let sum = checksum::internet(&outer[14..34]).to_be_bytes();
        outer[24..26].copy_from_slice(&sum);
        outer.extend_from_slice(
            &[port.to_be_bytes(), 4789_u16.to_be_bytes(), (16 + length).to_be_bytes()].concat(),
        );
        outer.extend_from_slice(&[0, 0, 8, 0, 0, 0, 0, 0, 42, 0]);
        outer.extend_from_slice(inner);
        Some(outer)
    });
}

/// Unpacks the packets that a gateway sent through the tunnel; `output` is its output. The outer
/// source port goes into the Ethernet address.
pub fn out_of_the_tunnel(output: &Path, out: &Path) {
    rewrite(output, out, |packet| {
        let flow = packet.five_tuple().ok();
        let is_packed = flow.filter(|flow| {
            flow.destination_port == 4789 && flow.source == Address::v4([192, 0, 2, 1])
        });
        Some(is_packed.map_or_else(
            || packet.frame().to_vec(),
            |flow| {
                let mut inner = packet.frame()[50..].to_vec();
                inner[..2].copy_from_slice(&flow.source_port.to_be_bytes());
                inner
            },
        ))
    });
}

/// Makes each host a station of its own. One host in eight shares an Ethernet address with hosts of
/// the other side, as if the station moved between the sides all the time.
pub fn with_stations(original: &Path, out: &Path) {
    let station = |address: Address| {
        let hash = hash(address).to_be_bytes();
        if hash[7].is_multiple_of(8) {
            return [2, 0xff, 0, 0, 0, hash[0] & 0x1f];
        }
        let mut station = [2, u8::from(is_inside(ip(address))), 0, 0, 0, 0];
        station[2..].copy_from_slice(&hash[..4]);
        station
    };
    rewrite(original, out, |packet| {
        if let (Ok(source), Ok(destination)) = (packet.source(), packet.destination()) {
            packet.set_mac_source(station(source)).ok()?;
            packet.set_mac_destination(station(destination)).ok()?;
        }
        Some(packet.frame().to_vec())
    });
}

/// The addresses of a router between the inside and the outside of the captures.
pub const INTERFACES: &str = "port,mac,v4,v6,mtu\n\
                              0,02:00:5e:00:53:00,10.255.255.254,fd00::fe,9000\n\
                              1,02:00:5e:00:53:01,192.0.2.1,2001:db8:1::2,9000\n";
/// Its routes. Nobody is at one next hop.
pub const ROUTES: &str = "prefix,port,via\n\
                          10.0.0.0/8,0,fd00::1\n172.16.0.0/12,0,fd00::1\n192.168.0.0/16,0,fd00::1\n\
                          fd00::/8,0,fd00::1\n0.0.0.0/0,1,2001:db8:1::1\n::/0,1,2001:db8:1::1\n\
                          203.0.113.0/26,1,2001:db8:1::dead\n";
/// How often its neighbours say that they are there, in nanoseconds.
const SAID_EVERY: u64 = 30_000_000_000;

/// Sends each packet to the router, whose two neighbours say now and then that they are there.
pub fn to_a_router(original: &Path, out: &Path) {
    let router = |port: u8| [2, 0, 0x5e, 0, 0x53, port];
    let mut said = None;
    write_anew(original, out, |time, packet, write| {
        if said.is_none_or(|said| said + SAID_EVERY <= time) {
            said = Some(time);
            let [inside, outside] = ["fd00::1", "2001:db8:1::1"];
            write(&advertisement(inside, "fd00::fe", [2, 0, 0, 0, 0, 1], router(0)));
            write(&advertisement(outside, "2001:db8:1::2", [2, 0, 0, 0, 0, 2], router(1)));
        }
        let port = u8::from(!comes_from_inside(packet));
        let _has_addresses = packet.set_mac_destination(router(port));
        write(packet.frame());
    });
}

/// Returns a neighbour's advertisement of its own address.
fn advertisement(from: &str, to: &str, mac: [u8; 6], router: [u8; 6]) -> Vec<u8> {
    let address = |text: &str| text.parse::<Address>().expect("an address");
    let (from, to) = (address(from), address(to));
    let mut message = vec![136, 0, 0, 0, 0x60, 0, 0, 0];
    message.extend(from.octets());
    message.extend([2, 1]);
    message.extend(mac);
    let sum = checksum::transport(from, to, protocol::ICMPV6, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let (from, to) = (from.octets(), to.octets());
    let mut frame = cora::testing::ipv6(from, to, 255, protocol::ICMPV6, &message);
    frame[..6].copy_from_slice(&router);
    frame[6..12].copy_from_slice(&mac);
    frame
}
