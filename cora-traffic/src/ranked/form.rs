//! The form of ranked traffic: the kind of packets that one kind of program handles.

use std::fmt;
use std::str::FromStr;

use crate::TrafficError;

/// The kind of packets that flows have. In all forms flows have the same rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// UDP: requests from inside and answers.
    #[default]
    Datagrams,
    /// TCP from inside: a handshake, then data both ways, acknowledged. Replaced flows don't close.
    Connections,
    /// UDP from inside alone, for address translators: they choose where answers would go.
    Outward,
    /// UDP from clients outside to [one service](Self::SERVICE).
    Service,
    /// UDP from clients inside to the same service.
    InsideService,
    /// UDP over IPv6 from inside to the well-known prefix 64:ff9b::/96 (RFC 6052).
    Ipv6,
    /// Questions from inside and their answers.
    Dns,
    /// Subscribers' packets: from stations in tunnels (GTP-U), to subscribers without.
    Gtp,
    /// UDP over IPv6 by way of a router, whose neighbours tell their addresses first, and again
    /// every thirty seconds.
    Routed,
    /// UDP both ways; what comes from outside is in a tunnel (VXLAN).
    Tunnelled,
    /// UDP both ways; each host and each server has an Ethernet address of its own.
    Stations,
    /// TCP from outside: SYNs alone, until the answers of a SYN proxy
    /// [are known](super::RankedFrames::heed). Clients with an answer go on.
    Handshakes,
}

impl Form {
    /// Address of the service of [`Form::Service`] and [`Form::InsideService`]; its port is 443.
    pub const SERVICE: std::net::Ipv4Addr = std::net::Ipv4Addr::new(192, 0, 2, 80);

    /// All forms.
    pub const ALL: [Self; 12] = [
        Self::Datagrams,
        Self::Connections,
        Self::Outward,
        Self::Service,
        Self::InsideService,
        Self::Ipv6,
        Self::Dns,
        Self::Gtp,
        Self::Routed,
        Self::Tunnelled,
        Self::Stations,
        Self::Handshakes,
    ];

    /// Returns the name, as `--form` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagrams => "datagrams",
            Self::Connections => "connections",
            Self::Outward => "outward",
            Self::Service => "service",
            Self::InsideService => "inside-service",
            Self::Ipv6 => "ipv6",
            Self::Dns => "dns",
            Self::Gtp => "gtp",
            Self::Routed => "routed",
            Self::Tunnelled => "tunnelled",
            Self::Stations => "stations",
            Self::Handshakes => "handshakes",
        }
    }

    /// Whether nobody answers: all packets of a flow go one way.
    pub(super) const fn is_one_way(self) -> bool {
        matches!(self, Self::Outward | Self::Service | Self::InsideService | Self::Ipv6)
    }

    /// Whether client ports are spread over all ports, host by host. Programs may divide flows by
    /// port, and real hosts draw theirs. The two oldest forms keep the ports that they always had.
    pub(super) const fn spreads_ports(self) -> bool {
        !matches!(self, Self::Datagrams | Self::Connections)
    }

    /// The most hosts inside. A link has few stations, and tunnels have 2^16 bearers.
    pub(super) const fn most_hosts(self) -> u64 {
        match self {
            Self::Routed => 250,
            Self::Gtp => 1 << 16,
            _ => super::MOST_FLOWS,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Form {
    type Err = TrafficError;

    fn from_str(name: &str) -> Result<Self, TrafficError> {
        let named = Self::ALL.into_iter().find(|form| form.name() == name);
        named.ok_or_else(|| TrafficError::UnknownForm(name.to_owned()))
    }
}
