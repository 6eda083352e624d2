//! Questions and answers: which messages ask for something, and which answer to somebody who asked.

use super::Headers;
use super::layers::{Part, Version};
use super::parsed::Parsed;
use super::transport;
use crate::key::protocol;

/// Which part of an exchange a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// It asks.
    Question,
    /// It answers.
    Answer,
}

/// The ports of DHCP's servers and clients (RFC 2131, 4.1), and those of DHCPv6 (RFC 8415, 7.2).
const SERVER: u16 = 67;
const CLIENT: u16 = 68;
const SERVER_V6: u16 = 547;
const CLIENT_V6: u16 = 546;
/// The first octet of a message of DHCP.
const BOOTREQUEST: u8 = 1;
const BOOTREPLY: u8 = 2;
/// The last word of an answer's flow: its protocol, and its ports.
const ANSWER: u64 = (protocol::UDP as u64) << 32 | (SERVER as u64) << 16 | CLIENT as u64;
/// From there to that of a question.
const TO_QUESTION: u64 = 0xffff;

impl Headers<'_> {
    /// Whether a message of ICMP asks or answers: echo and time stamp, and of ICMPv6 echo. `None`
    /// for everything else, errors included.
    #[inline]
    pub fn icmp_query(&self) -> Option<Query> {
        if self.is_plain() {
            return None;
        }
        core::hint::cold_path();
        let (version, kind) = self.icmp_kind()?;
        transport::query(version, kind)
    }

    /// The type of an ICMP message, if its beginning is here.
    pub(super) fn icmp_kind(&self) -> Option<(Version, u8)> {
        let Parsed::Other(layers, _) = &self.parsed else { return None };
        let outer = &layers.outer;
        let icmp = match layers.version {
            Version::V4 => protocol::ICMP,
            Version::V6 => protocol::ICMPV6,
            Version::NotIp => return None,
        };
        // Where the checksum stands was found, so the type is there.
        if outer.protocol != icmp || outer.part == Part::Later || outer.sum == 0 {
            return None;
        }
        let [kind] = self.read(usize::from(outer.transport));
        Some((layers.version, kind))
    }

    /// Whether it is a message of DHCP by which a host inside gets its address: a client's from
    /// inside, or a server's from outside; over IPv6 between addresses of the link, as clients
    /// without an address have them.
    ///
    /// Nobody asks from the address that is answered, so a firewall can't know an answer by its
    /// question; and such addresses are not [forwardable](Self::forwardable). A bump in the wire
    /// that wants hosts to get addresses asks for this first.
    #[inline]
    pub fn is_dhcp(&self) -> bool {
        if let Parsed::Plain(plain) = &self.parsed
            && plain.rest().wrapping_sub(ANSWER) > TO_QUESTION
        {
            return false;
        }
        core::hint::cold_path();
        self.is_dhcp_of_any()
    }

    #[inline(never)]
    fn is_dhcp_of_any(&self) -> bool {
        let Ok(flow) = self.flow() else { return false };
        if flow.protocol != protocol::UDP || self.is_icmp_error() {
            return false;
        }
        let operation = self.frame.get(self.payload_range()).and_then(<[u8]>::first).copied();
        let ports = (flow.source_port, flow.destination_port);
        if self.is_ipv4() {
            return ports == (CLIENT, SERVER)
                && operation == Some(BOOTREQUEST)
                && self.from_inside()
                || ports == (SERVER, CLIENT)
                    && operation == Some(BOOTREPLY)
                    && !self.from_inside();
        }
        ports == (CLIENT_V6, SERVER_V6) && flow.source.is_link_local() && self.from_inside()
            || ports == (SERVER_V6, CLIENT_V6)
                && flow.destination.is_link_local()
                && !self.from_inside()
    }
}
