//! Where a card is: the interface that leads there, the way of frames to this process, and the
//! address at its other end.

use std::fmt;
use std::str::FromStr;

use cora_port::PortName;

/// The other end of a wire. Nobody else is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The interface that leads there, by AF_PACKET or AF_XDP.
    pub(crate) port: PortName,
    /// The address of the peer's interface.
    pub(crate) address: [u8; 6],
}

impl Peer {
    /// A peer behind this interface, by AF_PACKET.
    pub(crate) fn behind(interface: &str, address: [u8; 6]) -> Self {
        Self { port: PortName::Packet { interface: interface.to_owned() }, address }
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no IFACE,MAC such as pf0hpf,b8:ce:f6:00:12:34 or \
                 xdp:pf0hpf,b8:ce:f6:00:12:34"
            )
        };
        let (port, address) = text.split_once(',').ok_or_else(form)?;
        let address = address_of(address).ok_or_else(form)?;
        let port = if port.contains(':') {
            port.parse().map_err(|why| format!("`{text}`: {why}"))?
        } else {
            format!("packet:{port}").parse().map_err(|_| form())?
        };
        if !matches!(port, PortName::Packet { .. } | PortName::Xdp(_)) {
            return Err(format!(
                "`{text}`: an interface leads to the other end: write packet:IFACE,MAC or \
                 xdp:IFACE,MAC"
            ));
        }
        if address[0] & 1 != 0 {
            return Err(format!(
                "`{text}`: that is the address of a group, and a card has its own"
            ));
        }
        Ok(Self { port, address })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.map(|byte| format!("{byte:02x}")).join(":");
        match &self.port {
            PortName::Packet { interface } => write!(f, "{interface},{address}"),
            other => write!(f, "{other},{address}"),
        }
    }
}

/// An address in the usual form.
pub(crate) fn address_of(text: &str) -> Option<[u8; 6]> {
    let mut address = [0; 6];
    let mut bytes = text.trim().split(':');
    for to in &mut address {
        let byte = bytes.next().filter(|byte| is_two_digits(byte))?;
        *to = u8::from_str_radix(byte, 16).ok()?;
    }
    bytes.next().is_none().then_some(address)
}

fn is_two_digits(byte: &str) -> bool {
    byte.len() == 2 && byte.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_read_as_it_is_written() {
        for (text, told, interface) in [
            ("pf0hpf", "pf0hpf", "pf0hpf"),
            ("packet:w0", "w0", "w0"),
            ("xdp:w0", "xdp:w0", "w0"),
            ("xdp:w0?queues=1&mode=copy", "xdp:w0?queues=1&mode=copy", "w0"),
        ] {
            let peer: Peer = format!("{text},b8:ce:f6:00:12:34").parse().expect("a peer");
            assert_eq!(peer.address, [0xb8, 0xce, 0xf6, 0, 0x12, 0x34]);
            assert_eq!(peer.port.interface(), Some(interface));
            assert_eq!(peer.to_string(), format!("{told},b8:ce:f6:00:12:34"));
            assert_eq!(peer.to_string().parse(), Ok(peer));
        }
    }

    #[test]
    fn what_is_no_peer_is_refused() {
        for (text, why) in [
            ("pf0hpf", "IFACE,MAC"),
            (",b8:ce:f6:00:12:34", "IFACE,MAC"),
            ("../x,b8:ce:f6:00:12:34", "IFACE,MAC"),
            ("pf0hpf,b8:ce:f6:00:12", "IFACE,MAC"),
            ("pf0hpf,b8:ce:f6:00:12:34:56", "IFACE,MAC"),
            ("pf0hpf,b8:ce:f6:00:12:3", "IFACE,MAC"),
            ("pf0hpf,+8:ce:f6:00:12:34", "IFACE,MAC"),
            ("pf0hpf,ff:ff:ff:ff:ff:ff", "group"),
            ("xdp:pf0hpf,ff:ff:ff:ff:ff:ff", "group"),
            ("xdp:pf0hpf", "IFACE,MAC"),
            ("xdp:,b8:ce:f6:00:12:34", "not the name of an interface"),
            ("xdp:a?mode=fast,b8:ce:f6:00:12:34", "copy, zerocopy or auto"),
            ("dpdk:a,b8:ce:f6:00:12:34", "no kind of port is called `dpdk`"),
            ("tap:a,b8:ce:f6:00:12:34", "packet:IFACE,MAC or xdp:IFACE,MAC"),
        ] {
            let refused = text.parse::<Peer>().expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
