//! A packet as a line of text, for a question what would become of it.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep, TcpHeader};

/// The forms of the line.
pub(super) const FORMS: &str = "as in `tcp 10.0.0.1:4711 > 192.0.2.7:443 syn`, `udp 10.0.0.1:53 > 192.0.2.7:53` or \
     `icmp 10.0.0.1 > 192.0.2.7`";
/// Bytes of the shortest frame on a wire, without its checksum.
const SHORTEST: usize = 60;
const TTL: u8 = 64;
const WINDOW: u16 = 65_535;
/// Any addresses: what runs here routes nothing by them.
const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

/// The frame of the packet that this line describes, with so many bytes of payload and the right
/// checksums.
///
/// # Errors
/// A sentence with a right form.
pub(super) fn frame(line: &str, payload: u16) -> Result<Vec<u8>, String> {
    let mut words = line.split_whitespace().filter(|word| *word != ">");
    let (Some(protocol), Some(source), Some(destination)) =
        (words.next(), words.next(), words.next())
    else {
        return Err(format!("`{line}` is no packet: write a protocol and two ends, {FORMS}"));
    };
    let flags: Vec<&str> = words.flat_map(|word| word.split(',')).collect();
    let is_tcp = protocol.eq_ignore_ascii_case("tcp");
    if !is_tcp && !flags.is_empty() {
        return Err(format!("`{}` is left over: flags are of tcp, {FORMS}", flags.join(" ")));
    }
    let (mut bytes, payload) = (Vec::new(), vec![0; payload.into()]);
    let written = match &*protocol.to_ascii_lowercase() {
        "tcp" => {
            let (source, destination) = (end(source)?, end(destination)?);
            let header = tcp(source.port(), destination.port(), &flags)?;
            let packet = between(source.ip(), destination.ip())?.tcp_header(header);
            packet.write(&mut bytes, &payload)
        }
        "udp" => {
            let (source, destination) = (end(source)?, end(destination)?);
            let packet = between(source.ip(), destination.ip())?;
            packet.udp(source.port(), destination.port()).write(&mut bytes, &payload)
        }
        "icmp" | "icmpv6" => {
            let (source, destination) = (address(source)?, address(destination)?);
            let packet = between(source, destination)?;
            match source {
                IpAddr::V4(_) => packet.icmpv4_echo_request(1, 1).write(&mut bytes, &payload),
                IpAddr::V6(_) => packet.icmpv6_echo_request(1, 1).write(&mut bytes, &payload),
            }
        }
        other => {
            let number = other.strip_prefix("ip-").unwrap_or(other).parse::<u8>();
            let number = number
                .map_err(|_| format!("`{protocol}` is no protocol that is known, {FORMS}"))?;
            let packet = between(address(source)?, address(destination)?)?;
            packet.write(&mut bytes, number.into(), &payload)
        }
    };
    written.map_err(|error| error.to_string())?;
    bytes.resize(bytes.len().max(SHORTEST), 0);
    Ok(bytes)
}

fn between(source: IpAddr, destination: IpAddr) -> Result<PacketBuilderStep<IpHeaders>, String> {
    let packet = PacketBuilder::ethernet2(MACS.0, MACS.1);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Ok(packet.ipv4(source.octets(), destination.octets(), TTL))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Ok(packet.ipv6(source.octets(), destination.octets(), TTL))
        }
        _ => Err(format!("{source} and {destination} are of two families")),
    }
}

/// The header of a segment with these flags; the first one of a connection without any.
fn tcp(source: u16, destination: u16, flags: &[&str]) -> Result<TcpHeader, String> {
    let mut header = TcpHeader::new(source, destination, 0, WINDOW);
    header.syn = flags.is_empty();
    for flag in flags {
        match &*flag.to_ascii_lowercase() {
            "syn" => header.syn = true,
            "ack" => header.ack = true,
            "fin" => header.fin = true,
            "rst" => header.rst = true,
            "psh" => header.psh = true,
            _ => return Err(format!("`{flag}` is no flag: there are syn, ack, fin, rst, psh")),
        }
    }
    Ok(header)
}

fn end(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is no address with a port, {FORMS}"))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is no address, {FORMS}"))
}

#[cfg(test)]
mod tests {
    use cora_core::key::{FiveTuple, PacketKey as _};
    use cora_core::packet::{Meta, Packet, checksum};

    use super::*;

    /// A line as `flows` prints keys makes a packet of that flow.
    #[test]
    fn a_line_becomes_its_packet() {
        for line in [
            "tcp 10.0.0.1:4711 > 192.0.2.7:443",
            "udp 10.0.0.1:53 > 192.0.2.7:5353",
            "tcp [2001:db8::1]:4711 > [2001:db8::2]:443",
        ] {
            let mut frame = frame(line, 5).expect(line);
            let packet = Packet::new(&mut frame, Meta::default());
            assert!(checksum::verify(&packet), "{line}");
            let flow = FiveTuple::of_packet(&packet).map(|flow| flow.to_string());
            assert_eq!(flow.as_deref(), Ok(line));
        }
        // These have no ports.
        for line in ["icmp 10.0.0.1 192.0.2.7", "icmp 2001:db8::1 2001:db8::2"] {
            let mut frame = frame(line, 8).expect(line);
            let packet = Packet::new(&mut frame, Meta::default());
            assert!(checksum::verify(&packet), "{line}");
        }
        assert_eq!(frame("ip-50 10.0.0.1 10.0.0.2", 0).map(|frame| frame[23]), Ok(50));
    }

    #[test]
    fn flags_are_those_that_are_written() {
        let flags = |line: &str| {
            let frame = frame(line, 0).expect(line);
            frame[14 + 20 + 13]
        };
        assert_eq!(flags("tcp 10.0.0.1:1 10.0.0.2:2"), 2, "the first of a connection");
        assert_eq!(flags("tcp 10.0.0.1:1 10.0.0.2:2 ack,psh"), 0x18);
        assert_eq!(flags("TCP 10.0.0.1:1 > 10.0.0.2:2 FIN ACK"), 0x11);
    }

    #[test]
    fn a_wrong_line_says_what_would_be_right() {
        for (line, why) in [
            ("", "write a protocol and two ends"),
            ("tcp 10.0.0.1 > 10.0.0.2:1", "`10.0.0.1` is no address with a port"),
            ("icmp 10.0.0.1:1 > 10.0.0.2", "`10.0.0.1:1` is no address"),
            ("udp 10.0.0.1:1 > [::1]:2", "two families"),
            ("tcp 10.0.0.1:1 > 10.0.0.2:2 sin", "`sin` is no flag"),
            ("udp 10.0.0.1:1 > 10.0.0.2:2 syn", "flags are of tcp"),
            ("tpc 10.0.0.1:1 > 10.0.0.2:2", "no protocol that is known"),
        ] {
            let error = frame(line, 0).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }
}
