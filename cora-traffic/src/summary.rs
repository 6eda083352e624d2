//! Counts over a capture.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;

use crate::generate::Generated;
use crate::pcap::Reader;
use crate::view::{Tuple, View};
use crate::{TrafficError, wire};

/// Counts over a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Frames.
    pub packets: u64,
    /// Octets of all frames.
    pub bytes: u64,
    /// Distinct flows of TCP, UDP and ICMP echo; both directions are one flow.
    pub flows: u64,
    /// Frames with an IPv4 packet.
    pub v4: u64,
    /// Frames with an IPv6 packet.
    pub v6: u64,
    /// TCP segments.
    pub tcp: u64,
    /// UDP datagrams that aren't fragments.
    pub udp: u64,
    /// ICMP and ICMPv6 messages.
    pub icmp: u64,
    /// Fragments.
    pub fragments: u64,
    /// Frames that came from inside addresses.
    pub from_inside: u64,
    /// Frames that are broken on purpose (generated captures only).
    pub broken: u64,
    /// The longest frame.
    pub longest: u64,
    seen: BTreeSet<Tuple>,
}

impl Summary {
    /// Counts a capture.
    pub fn of(capture: impl Read) -> Result<Self, TrafficError> {
        let mut summary = Self::default();
        for frame in Reader::new(capture)? {
            summary.count_bytes(&frame?.bytes);
        }
        Ok(summary)
    }

    pub(crate) fn count(&mut self, frame: &Generated) {
        self.broken += u64::from(!frame.sound);
        self.count_bytes(&frame.bytes);
    }

    fn count_bytes(&mut self, bytes: &[u8]) {
        self.packets += 1;
        self.bytes += bytes.len() as u64;
        self.longest = self.longest.max(bytes.len() as u64);
        let Some(view) = View::of(bytes) else { return };
        if view.from.is_ipv6() {
            self.v6 += 1;
        } else {
            self.v4 += 1;
        }
        self.from_inside += u64::from(crate::is_inside(view.from));
        if view.fragment {
            self.fragments += 1;
            return;
        }
        match view.protocol {
            wire::TCP => self.tcp += 1,
            wire::UDP => self.udp += 1,
            wire::ICMP | wire::ICMPV6 => self.icmp += 1,
            _ => {}
        }
        if let Some((protocol, a, a_port, b, b_port)) = view.tuple(bytes) {
            let ((a, a_port), (b, b_port)) = if (a, a_port) <= (b, b_port) {
                ((a, a_port), (b, b_port))
            } else {
                ((b, b_port), (a, a_port))
            };
            self.seen.insert((protocol, a, a_port, b, b_port));
            self.flows = self.seen.len() as u64;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets, {} flows, {} octets; {} IPv4, {} IPv6; {} TCP, {} UDP, {} ICMP, {} fragments; \
             {} broken on purpose",
            self.packets,
            self.flows,
            self.bytes,
            self.v4,
            self.v6,
            self.tcp,
            self.udp,
            self.icmp,
            self.fragments,
            self.broken
        )
    }
}
