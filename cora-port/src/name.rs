//! Names of ports, as they are typed: `packet:eth0`, `xdp:eth0?queues=2&mode=copy`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::memory::MemoryName;
use crate::xdp::XdpName;

/// The forms of a port's name, for error messages.
pub const KNOWN: &str =
    "tap:NAME, packet:IFACE, xdp:IFACE, udp:ADDRESS:PORT, pcap:IN+OUT or mem:flows=N;size=BYTES";

/// Longest name of an interface in bytes, as in Linux.
const LONGEST: usize = 15;

/// The name of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortName {
    /// `tap:NAME`.
    Tap {
        /// The interface that is made.
        interface: String,
    },
    /// `packet:IFACE`.
    Packet {
        /// The interface.
        interface: String,
    },
    /// `xdp:IFACE[?SETTINGS]`, with settings joined by `&`: `queues=N`, `mode=copy|zerocopy|auto`,
    /// `attach=native|generic|auto`, `checksum=finish|leave|auto`.
    Xdp(XdpName),
    /// `udp:ADDRESS:PORT`.
    Udp {
        /// An address of this machine, and a port that is free.
        address: SocketAddr,
    },
    /// `pcap:IN` or `pcap:IN+OUT`.
    Pcap {
        /// The capture to read frames from.
        input: PathBuf,
        /// The pcap for frames that leave; without it, they are only counted.
        output: Option<PathBuf>,
    },
    /// `mem:flows=N;size=BYTES[;count=N]`.
    Memory(MemoryName),
}

impl PortName {
    /// Returns the port's interface, if it has one.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Self::Tap { interface } | Self::Packet { interface } => Some(interface),
            Self::Xdp(settings) => Some(&settings.interface),
            Self::Udp { .. } | Self::Pcap { .. } | Self::Memory(_) => None,
        }
    }
}

impl FromStr for PortName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((kind, rest)) = text.split_once(':') else {
            return Err(format!("`{text}` names no port: write {KNOWN}"));
        };
        match kind {
            "tap" => Ok(Self::Tap { interface: interface(rest)? }),
            "packet" => Ok(Self::Packet { interface: interface(rest)? }),
            "xdp" => rest.parse().map(Self::Xdp),
            "udp" => Ok(Self::Udp { address: socket(rest)? }),
            "pcap" => pcap(rest),
            "mem" => rest.parse().map(Self::Memory),
            _ => Err(format!("`{text}`: no kind of port is called `{kind}`: write {KNOWN}")),
        }
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tap { interface } => write!(f, "tap:{interface}"),
            Self::Packet { interface } => write!(f, "packet:{interface}"),
            Self::Xdp(settings) => write!(f, "xdp:{settings}"),
            Self::Udp { address } => write!(f, "udp:{address}"),
            Self::Pcap { input, output: None } => write!(f, "pcap:{}", input.display()),
            Self::Pcap { input, output: Some(output) } => {
                write!(f, "pcap:{}+{}", input.display(), output.display())
            }
            Self::Memory(settings) => write!(f, "mem:{settings}"),
        }
    }
}

fn pcap(rest: &str) -> Result<PortName, String> {
    let (input, output) = match rest.split_once('+') {
        Some((input, output)) => (input, Some(output)),
        None => (rest, None),
    };
    if input.is_empty() || output.is_some_and(str::is_empty) {
        return Err(format!("`pcap:{rest}` lacks a file: write pcap:IN or pcap:IN+OUT"));
    }
    Ok(PortName::Pcap { input: input.into(), output: output.map(PathBuf::from) })
}

/// Checks that a socket at this address gets datagrams whose receiver is known.
fn socket(rest: &str) -> Result<SocketAddr, String> {
    let example = "write udp:ADDRESS:PORT, as in udp:127.0.0.1:7000 or udp:[::1]:7000";
    let address: SocketAddr = rest
        .parse()
        .map_err(|_| format!("`udp:{rest}` is no address and port in numbers: {example}"))?;
    if address.port() == 0 {
        return Err(format!("`udp:{rest}`: nobody can ask at port 0: {example}"));
    }
    if address.ip().is_unspecified() || address.ip().is_multicast() {
        return Err(format!(
            "`udp:{rest}`: answers leave from one address of this machine, so name one: {example}"
        ));
    }
    Ok(address)
}

/// Checks that Linux accepts the name for an interface.
pub(crate) fn interface(name: &str) -> Result<String, String> {
    let fits = (1..=LONGEST).contains(&name.len());
    let odd = |letter: char| matches!(letter, '/' | '%' | ':') || letter.is_whitespace();
    if !fits || name.contains(odd) || matches!(name, "." | "..") {
        return Err(format!(
            "`{name}` is not the name of an interface: 1 to {LONGEST} bytes without `/`, `%`, `:` and blanks"
        ));
    }
    Ok(name.to_owned())
}

/// Parses a number within bounds; the error tells the bounds.
pub(crate) fn number<N: FromStr + PartialOrd + fmt::Display>(
    key: &str,
    value: &str,
    bounds: std::ops::RangeInclusive<N>,
) -> Result<N, String> {
    let number = value.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        format!("`{key}={value}`: write a number from {least} to {most}")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for text in [
            "tap:a0",
            "packet:enp1s0f0np0",
            "xdp:eth0",
            "xdp:eth0?queues=2&mode=copy&attach=generic&checksum=leave",
            "udp:127.0.0.1:7000",
            "udp:[2001:db8::1]:53",
            "pcap:in.pcap",
            "pcap:some/in.pcap+out.pcap",
            "mem:flows=16;size=64",
            "mem:flows=1;size=1514;count=7",
        ] {
            let name: PortName = text.parse().unwrap();
            assert_eq!(name.to_string(), text);
        }
        let name: PortName = "xdp:e".parse().unwrap();
        assert_eq!(name.interface(), Some("e"));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_is_right() {
        for (wrong, why) in [
            ("", "names no port"),
            ("eth0", "write tap:NAME, packet:IFACE"),
            ("dpdk:0", "no kind of port is called `dpdk`"),
            ("tap:", "not the name of an interface"),
            ("packet:sixteen-letters-", "1 to 15 bytes"),
            ("packet:a/b", "not the name of an interface"),
            ("xdp:a?queues=0", "from 1 to"),
            ("xdp:a?mode=fast", "copy, zerocopy or auto"),
            ("xdp:a?attach=driver", "native, generic or auto"),
            ("xdp:a?checksum=no", "finish, leave or auto"),
            ("xdp:a?colour=red", "queues, mode, attach"),
            ("xdp:a?queues", "KEY=VALUE"),
            ("xdp:a?queues=1&queues=2", "twice"),
            ("udp:", "no address and port in numbers"),
            ("udp:localhost:7000", "as in udp:127.0.0.1:7000"),
            ("udp:127.0.0.1", "no address and port"),
            ("udp:127.0.0.1:0", "nobody can ask at port 0"),
            ("udp:0.0.0.0:7000", "name one"),
            ("udp:[::]:7000", "name one"),
            ("udp:224.0.0.1:7000", "name one"),
            ("pcap:", "lacks a file"),
            ("pcap:a+", "lacks a file"),
            ("mem:flows=0", "from 1 to"),
            ("mem:size=20", "from 60 to"),
            ("mem:colour=red", "flows, size"),
        ] {
            let error = wrong.parse::<PortName>().expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_name_or_a_sentence(kind in "(tap|packet|xdp|udp|pcap|mem|):?", rest in ".{0,30}") {
            let text = format!("{kind}{rest}");
            match text.parse::<PortName>() {
                Ok(name) => prop_assert_eq!(name.to_string().parse::<PortName>(), Ok(name)),
                Err(why) => prop_assert!(!why.is_empty()),
            }
        }
    }
}
