//! Two namespaces and the wire between them; removed on drop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::TrafficError;
use crate::namespace::Namespace;

/// The interface at each end.
pub(super) const INTERFACE: &str = "wire";
/// The server outside.
pub(super) const SERVER_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub(super) const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// An address outside that is on the wire but never answers.
pub(super) const SILENT_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 99);
/// Number of inside addresses of each version.
pub(super) const HOSTS: u16 = 8;

/// Returns the address of the inside host with this number.
pub(super) fn inside(number: u16, v6: bool) -> IpAddr {
    let last = 2 + number % HOSTS;
    if v6 {
        Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, last).into()
    } else {
        Ipv4Addr::new(10, 77, 0, last as u8).into()
    }
}

/// Both ends and the wire.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) inside: Namespace,
    pub(super) outside: Namespace,
    pub(super) has_v6: bool,
    /// Features that this machine lacks.
    pub(super) lacking: Vec<String>,
}

impl Network {
    pub(super) fn create() -> Result<Self, TrafficError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let inside = Namespace::create(&format!("real-{number}-in"))?;
        let outside = Namespace::create(&format!("real-{number}-out"))?;
        inside.join(INTERFACE, &outside, INTERFACE)?;
        for end in [&inside, &outside] {
            end.send_plain_frames(INTERFACE)?;
            end.ip(&format!("link set {INTERFACE} up"))?;
        }
        let mut network = Self { inside, outside, has_v6: false, lacking: Vec::new() };
        network.address_v4()?;
        network.has_v6 = network.address_v6().is_ok();
        if !network.has_v6 {
            network.lacking.push("no IPv6 in this kernel: IPv4 only".to_owned());
        }
        network.lose();
        Ok(network)
    }

    fn address_v4(&self) -> Result<(), TrafficError> {
        for number in 0..HOSTS {
            let address = inside(number, false);
            self.inside.ip(&format!("address add {address}/24 dev {INTERFACE}"))?;
        }
        self.inside.ip(&format!("route add default dev {INTERFACE}"))?;
        self.outside.ip(&format!("address add {SERVER_V4}/32 dev {INTERFACE}"))?;
        self.outside.ip(&format!("route add 10.0.0.0/8 dev {INTERFACE}"))?;
        let nobody = "02:00:00:00:00:99";
        self.inside.ip(&format!("neighbour add {SILENT_V4} lladdr {nobody} dev {INTERFACE}"))
    }

    fn address_v6(&self) -> Result<(), TrafficError> {
        for number in 0..HOSTS {
            let address = inside(number, true);
            self.inside.ip(&format!("-6 address add {address}/64 dev {INTERFACE} nodad"))?;
        }
        self.inside.ip(&format!("-6 route add default dev {INTERFACE}"))?;
        self.outside.ip(&format!("-6 address add {SERVER_V6}/128 dev {INTERFACE} nodad"))?;
        self.outside.ip(&format!("-6 route add fd00::/8 dev {INTERFACE}"))
    }

    /// Makes the path from outside lossy: netem, or else a queue too short for a burst.
    fn lose(&mut self) {
        let netem = format!("qdisc add dev {INTERFACE} root netem loss 2% delay 1ms");
        let short = format!("qdisc add dev {INTERFACE} root tbf rate 80mbit burst 4k limit 10k");
        let outside = |words: &str| {
            let mut tc = self.outside.command("tc");
            tc.args(words.split(' ')).output().is_ok_and(|output| output.status.success())
        };
        if outside(&netem) {
            return;
        }
        self.lacking.push("no netem in this kernel: loss by a short queue only".to_owned());
        if !outside(&short) {
            self.lacking.push("no queueing discipline that loses: no loss".to_owned());
        }
    }
}

pub(super) fn setup(what: &str, why: &str) -> TrafficError {
    TrafficError::Setup { what: what.to_owned(), why: why.to_owned() }
}
