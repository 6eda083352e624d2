//! What a rule fits.

use core::fmt;
#[cfg(not(target_os = "none"))]
use core::str::FromStr;

#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
#[cfg(not(target_os = "none"))]
use crate::key::protocol;
use crate::key::{Address, FiveTuple, Prefix};
use crate::plain::{Describe, Plain};

/// The flows that a rule fits. The default is all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Match {
    source: End,
    destination: End,
    /// 0 for any: no packet that Cora reads has it.
    protocol: u8,
}

/// One end of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
struct End {
    /// Meaningless if `is_any`.
    prefix: Prefix,
    is_any: bool,
    ports: Ports,
}

/// Ports from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    const ALL: Self = Self { first: 0, last: u16::MAX };
}

impl Match {
    /// The prefix of the source; `None` for any.
    pub fn source(&self) -> Option<Prefix> {
        (!self.source.is_any).then_some(self.source.prefix)
    }

    /// The prefix of the destination; `None` for any.
    pub fn destination(&self) -> Option<Prefix> {
        (!self.destination.is_any).then_some(self.destination.prefix)
    }

    /// Whether it fits the flow. A rule about ports fits no flow without ports.
    #[inline]
    pub fn fits(&self, flow: &FiveTuple) -> bool {
        (self.protocol == 0 || self.protocol == flow.protocol)
            && self.destination.fits(flow.destination, flow.destination_port, flow)
            && self.source.fits(flow.source, flow.source_port, flow)
    }
}

impl End {
    #[cfg(not(target_os = "none"))]
    const fn new(net: Option<Prefix>, ports: Ports) -> Self {
        let (prefix, is_any) = match net {
            Some(prefix) => (prefix, false),
            None => (Prefix::ALL_V4, true),
        };
        Self { prefix, is_any, ports }
    }

    #[inline]
    fn fits(&self, address: Address, port: u16, flow: &FiveTuple) -> bool {
        let Ports { first, last } = self.ports;
        let is_port = self.ports == Ports::ALL || flow.has_ports() && first <= port && port <= last;
        is_port && (self.is_any || self.prefix.contains(address))
    }
}

impl Plain for Ports {
    const SIZE: usize = 4;

    fn put(&self, out: &mut [u8]) {
        [self.first, self.last].put(out);
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        let [first, last] = Plain::get(bytes)?;
        Some(Self { first, last })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ALL => f.write_str("any"),
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

impl Plain for End {
    const SIZE: usize = Prefix::SIZE + 1 + Ports::SIZE;

    fn put(&self, out: &mut [u8]) {
        self.prefix.put(out);
        self.is_any.put(out.get_mut(Prefix::SIZE..).unwrap_or_default());
        self.ports.put(out.get_mut(Prefix::SIZE + 1..).unwrap_or_default());
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        let prefix = Plain::get(bytes)?;
        let is_any = Plain::get(bytes.get(Prefix::SIZE..)?)?;
        Some(Self { prefix, is_any, ports: Plain::get(bytes.get(Prefix::SIZE + 1..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("prefix");
        if self.is_any {
            to.text(&"any");
        } else {
            to.text(&self.prefix);
        }
        to.field("port");
        self.ports.describe(to);
        to.close();
    }
}

impl Plain for Match {
    const SIZE: usize = 2 * End::SIZE + 1;

    fn put(&self, out: &mut [u8]) {
        [self.source, self.destination].put(out);
        self.protocol.put(out.get_mut(2 * End::SIZE..).unwrap_or_default());
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        let [source, destination] = Plain::get(bytes)?;
        Some(Self { source, destination, protocol: Plain::get(bytes.get(2 * End::SIZE..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("source");
        self.source.describe(to);
        to.field("destination");
        self.destination.describe(to);
        to.field("protocol");
        self.protocol.describe(to);
        to.close();
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, end: &End| {
            if end.is_any {
                write!(f, "any port {}", end.ports)
            } else {
                write!(f, "{} port {}", end.prefix, end.ports)
            }
        };
        write!(f, "protocol {} ", self.protocol)?;
        end(f, &self.source)?;
        f.write_str(" > ")?;
        end(f, &self.destination)
    }
}

impl FromColumns for Match {
    const COLUMNS: &'static [&'static str] =
        &["source", "destination", "protocol", "source_port", "destination_port"];

    #[cfg(not(target_os = "none"))]
    fn from_columns(file: &mut dyn config::File) -> Option<Self> {
        let source = config::read_or(file, "source", Net(None));
        let destination = config::read_or(file, "destination", Net(None));
        let protocol = config::read_or(file, "protocol", Protocol(0));
        let source_ports = config::read_or(file, "source_port", Ports::ALL);
        let destination_ports = config::read_or(file, "destination_port", Ports::ALL);
        let (Net(source), Net(destination), Protocol(protocol)) =
            (source?, destination?, protocol?);
        let (source_ports, destination_ports) = (source_ports?, destination_ports?);
        let has_ports = matches!(protocol, protocol::TCP | protocol::UDP | protocol::SCTP);
        for (column, ports) in
            [("source_port", source_ports), ("destination_port", destination_ports)]
        {
            if ports != Ports::ALL && !has_ports {
                file.fault(column, &"ports are those of `tcp`, `udp` or `sctp`: say which");
                return None;
            }
        }
        if let (Some(from), Some(to)) = (source, destination)
            && from.address().is_v4() != to.address().is_v4()
        {
            file.fault("destination", &"no flow goes from one family of addresses to the other");
            return None;
        }
        let source = End::new(source, source_ports);
        Some(Self { source, destination: End::new(destination, destination_ports), protocol })
    }
}

/// Whether a cell says that everything fits.
#[cfg(not(target_os = "none"))]
fn is_any(text: &str) -> bool {
    matches!(text, "any" | "*")
}

/// A prefix, or any address.
#[cfg(not(target_os = "none"))]
struct Net(Option<Prefix>);

#[cfg(not(target_os = "none"))]
impl FromStr for Net {
    type Err = <Prefix as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if is_any(text) { Ok(Self(None)) } else { text.parse().map(|prefix| Self(Some(prefix))) }
    }
}

/// An IP protocol by name or number; 0 for any.
#[cfg(not(target_os = "none"))]
struct Protocol(u8);

#[cfg(not(target_os = "none"))]
impl FromStr for Protocol {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let known = [
            ("any", 0),
            ("*", 0),
            ("tcp", protocol::TCP),
            ("udp", protocol::UDP),
            ("icmp", protocol::ICMP),
            ("icmp6", protocol::ICMPV6),
            ("sctp", protocol::SCTP),
            ("gre", protocol::GRE),
        ];
        if let Some((_, number)) = known.iter().find(|(name, _)| *name == text) {
            return Ok(Self(*number));
        }
        match text.parse() {
            Ok(0) | Err(_) => {
                Err("a protocol is `tcp`, `udp`, `icmp`, `icmp6`, `sctp`, `gre` or its number")
            }
            Ok(number) => Ok(Self(number)),
        }
    }
}

#[cfg(not(target_os = "none"))]
impl FromStr for Ports {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const WANTED: &str = "a port is 0 to 65535, or two of them from low to high: `1024-65535`";
        if is_any(text) {
            return Ok(Self::ALL);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse().map_err(|_| WANTED);
        let ports = Self { first: number(first)?, last: number(last)? };
        if ports.first <= ports.last { Ok(ports) } else { Err(WANTED) }
    }
}
