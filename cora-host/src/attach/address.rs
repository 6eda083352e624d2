//! Where the packets of a server are for, as `udp:ADDRESS:PORT` or `tcp:ADDRESS:PORT`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use cora_core::key::{Address, Endpoint, protocol};

/// A transport protocol with ports that sockets are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

impl Transport {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }

    /// Its number in IP headers.
    const fn number(self) -> u8 {
        match self {
            Self::Udp => protocol::UDP,
            Self::Tcp => protocol::TCP,
        }
    }
}

/// An address that a server is asked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServedAt {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
}

impl ServedAt {
    /// The same as an end of connections.
    pub(crate) fn endpoint(self) -> Endpoint {
        let address = match self.address.ip().to_canonical() {
            IpAddr::V4(address) => Address::v4(address.octets()),
            IpAddr::V6(address) => Address::v6(address.octets()),
        };
        Endpoint { address, port: self.address.port(), protocol: self.transport.number() }
    }
}

impl FromStr for ServedAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no address of a server such as udp:192.0.2.7:11211 or \
                 tcp:[2001:db8::7]:11211"
            )
        };
        let (transport, address) = text.split_once(':').ok_or_else(form)?;
        let transport = [Transport::Udp, Transport::Tcp]
            .into_iter()
            .find(|it| it.name() == transport)
            .ok_or_else(form)?;
        let address: SocketAddr = address.parse().map_err(|_| form())?;
        if address.ip().is_unspecified() || address.port() == 0 {
            return Err(format!(
                "`{text}`: packets are for one address and port: say which, even if the server \
                 listens at all addresses"
            ));
        }
        Ok(Self { transport, address })
    }
}

impl fmt::Display for ServedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transport.name(), self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in ["udp:192.0.2.7:11211", "tcp:[2001:db8::7]:11211"] {
            let at: ServedAt = text.parse().expect(text);
            assert_eq!(at.to_string(), text);
        }
        for text in
            ["192.0.2.7:11211", "udp:11211", "sctp:192.0.2.7:1", "udp:[::]:7", "tcp:0.0.0.0:7"]
        {
            let refused = text.parse::<ServedAt>().expect_err(text);
            assert!(refused.contains(text), "{refused}");
        }
    }

    #[test]
    fn a_mapped_address_is_the_address_that_packets_have() {
        let mapped: ServedAt = "udp:[::ffff:192.0.2.7]:9".parse().expect("an address");
        let plain: ServedAt = "udp:192.0.2.7:9".parse().expect("an address");
        assert_eq!(mapped.endpoint(), plain.endpoint());
    }
}
