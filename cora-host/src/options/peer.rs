//! Where a card is: the interface that leads there, and the address at its other end.

use std::fmt;
use std::str::FromStr;

/// The other end of a wire. Nobody else is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The interface that leads there.
    pub(crate) interface: String,
    /// The address of the peer's interface.
    pub(crate) address: [u8; 6],
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is no IFACE,MAC such as pf0hpf,b8:ce:f6:00:12:34");
        let (interface, address) = text.split_once(',').ok_or_else(form)?;
        let address = address_of(address).ok_or_else(form)?;
        if interface.is_empty() || interface.contains(['/', ' ']) {
            return Err(form());
        }
        if address[0] & 1 != 0 {
            return Err(format!(
                "`{text}`: that is the address of a group, and a card has its own"
            ));
        }
        Ok(Self { interface: interface.to_owned(), address })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.map(|byte| format!("{byte:02x}")).join(":");
        write!(f, "{},{address}", self.interface)
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
        let peer: Peer = "pf0hpf,b8:ce:f6:00:12:34".parse().expect("a peer");
        assert_eq!(peer.address, [0xb8, 0xce, 0xf6, 0, 0x12, 0x34]);
        assert_eq!(peer.to_string().parse(), Ok(peer));
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
        ] {
            let refused = text.parse::<Peer>().expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
