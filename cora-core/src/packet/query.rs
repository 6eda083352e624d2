//! Questions and answers: whether a message asks for something or answers a question.

use super::Headers;
use super::layers::{Part, Version};
use super::parsed::Parsed;
use super::transport;
use crate::key::protocol;

/// The role of a message in an exchange.
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
/// Values of the first octet of a DHCP message.
const BOOTREQUEST: u8 = 1;
const BOOTREPLY: u8 = 2;
/// The last word of an answer's flow: protocol and ports.
const ANSWER: u64 = (protocol::UDP as u64) << 32 | (SERVER as u64) << 16 | CLIENT as u64;
/// Difference from that word to a question's.
const TO_QUESTION: u64 = 0xffff;

impl Headers<'_> {
    /// Whether an ICMP message is a question or an answer: echo and time stamp for ICMP, echo for
    /// ICMPv6. `None` for everything else, including errors.
    #[inline]
    pub fn icmp_query(&self) -> Option<Query> {
        if self.takes_fast_path() {
            return None;
        }
        core::hint::cold_path();
        let (version, kind) = self.icmp_kind()?;
        transport::query(version, kind)
    }

    /// The type of an ICMP message, if its beginning is in this frame.
    pub(super) fn icmp_kind(&self) -> Option<(Version, u8)> {
        let Parsed::Other(layers, _) = &self.parsed else { return None };
        let outer = &layers.outer;
        let icmp = match layers.version {
            Version::V4 => protocol::ICMP,
            Version::V6 => protocol::ICMPV6,
            Version::NotIp => return None,
        };
        // The parse found the checksum, so the type before it exists.
        if outer.protocol != icmp || outer.part == Part::Later || outer.sum == 0 {
            return None;
        }
        let [kind] = self.read(usize::from(outer.transport));
        Some((layers.version, kind))
    }

    /// Whether it is a DHCP message that assigns an address to a host inside: a client's from
    /// inside, or a server's from outside. For IPv6, the client's address must be link-local, which
    /// it uses until it has another one.
    ///
    /// A firewall can't match a DHCP answer with its question, since they have different addresses,
    /// and such addresses are not [forwardable](Self::forwardable). A bump in the wire that lets
    /// hosts get addresses calls this first.
    #[inline]
    pub fn is_dhcp(&self) -> bool {
        if let Parsed::Fast(fast) = &self.parsed
            && fast.rest().wrapping_sub(ANSWER) > TO_QUESTION
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
