//! Three namespaces in a row: the sender, the measured box, and the receiver, which counts.

use std::fs;

use cora_port::{Port, PortName};
use cora_traffic::namespace::Namespace;

use super::frames::{Direction, TO};
use crate::Result;
use crate::site::SERVICE;

/// The interface at each outer end.
const WIRE: &str = "wire";

/// The namespaces. Gone when dropped.
#[derive(Debug)]
pub(crate) struct Network {
    sender: Namespace,
    /// The measured box has the interfaces `inside` and `outside` here.
    pub(crate) middle: Namespace,
    receiver: Namespace,
    direction: Direction,
}

impl Network {
    /// Creates the row, with links that are up and nothing in the middle.
    pub(crate) fn create(label: &str, direction: Direction) -> Result<Self> {
        let [sender, middle, receiver] =
            ["send", "middle", "count"].map(|end| Namespace::create(&format!("{label}-{end}")));
        let network = Self { sender: sender?, middle: middle?, receiver: receiver?, direction };
        let Self { sender, middle, receiver, .. } = &network;
        for space in [sender, middle, receiver] {
            // No other traffic is to run here.
            space.set("ipv6/conf/default/disable_ipv6", "1")?;
        }
        let [first, last] = network.interfaces();
        sender.join(WIRE, middle, first)?;
        receiver.join(WIRE, middle, last)?;
        let card = TO.map(|octet| format!("{octet:02x}")).join(":");
        middle.ip(&format!("link set dev {first} address {card}"))?;
        for (space, interface) in
            [(sender, WIRE), (middle, first), (middle, last), (receiver, WIRE)]
        {
            space.send_plain_frames(interface)?;
            space.ip(&format!("link set dev {interface} up"))?;
        }
        Ok(network)
    }

    /// Returns the middle's interfaces, the sender's side first.
    pub(crate) const fn interfaces(&self) -> [&'static str; 2] {
        match self.direction {
            Direction::Outward | Direction::OutwardOfFew | Direction::OutwardV6 => {
                ["inside", "outside"]
            }
            Direction::ToService => ["outside", "inside"],
        }
    }

    /// Makes the middle's kernel a router, which handles received frames on processors of this
    /// mask, or on the one that received them.
    pub(crate) fn route(&self, processors: Option<u64>) -> Result<()> {
        let middle = &self.middle;
        for (variable, value) in [("ipv4/ip_forward", "1"), ("ipv4/conf/all/rp_filter", "0")] {
            middle.set(variable, value)?;
        }
        middle.ip("address add 10.255.255.254/8 dev inside")?;
        middle.ip("address add 203.0.113.254/24 dev outside")?;
        middle.ip("route add 198.18.0.0/15 dev outside")?;
        let server = Direction::SERVER.to_string();
        let backends = (1..=4).map(|host| format!("10.1.0.{host}"));
        let targets = backends.map(|it| (it, "inside")).chain([(server, "outside")]);
        for (address, interface) in targets {
            // Nobody's card: the receiver's kernel counts such frames and drops them at once.
            let nobody = "02:00:00:00:00:99";
            middle.ip(&format!("neighbour add {address} lladdr {nobody} dev {interface}"))?;
        }
        middle.ip(&format!("route add {SERVICE} dev inside"))?;
        let Some(processors) = processors else { return Ok(()) };
        let [first, _] = self.interfaces();
        let mask = format!("echo {processors:x} > /sys/class/net/{first}/queues/rx-0/rps_cpus");
        let set = middle.command("sh").args(["-c", &mask]).output();
        let set = set.map_err(|error| format!("sh: {error}"))?;
        if set.status.success() {
            return Ok(());
        }
        Err(format!("{mask}: {}", String::from_utf8_lossy(&set.stderr).trim()))
    }

    /// Opens a port of this kind at the sender's end.
    pub(crate) fn sending(&self, kind: &str) -> Result<Box<dyn Port>> {
        open(&self.sender, kind)
    }

    /// Opens a port at the far end, by packet sockets.
    pub(crate) fn receiving(&self) -> Result<Box<dyn Port>> {
        open(&self.receiver, "packet")
    }

    /// Returns the number of frames that came at the far end so far.
    pub(crate) fn came(&self) -> Result<u64> {
        // The thread's own table: it is in the receiver's namespace.
        let table = self.receiver.visit(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let table = table.map_err(|error| format!("/proc/net/dev: {error}"))?;
        frames_received(&table).ok_or_else(|| format!("{WIRE} is gone"))
    }
}

fn open(space: &Namespace, kind: &str) -> Result<Box<dyn Port>> {
    let name: PortName = format!("{kind}:{WIRE}").parse()?;
    let opened = space.visit(|| cora_port::open(&name))?;
    opened.map_err(|error| error.to_string())
}

/// Returns the second number behind the interface's name.
fn frames_received(table: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix("wire:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_at_the_wire_and_not_at_the_loopback() {
        let table = "Inter-|   Receive\n face |bytes    packets errs\n    \
                     lo:     100       2    0\n  wire: 6000     100    0    0\n";
        assert_eq!(frames_received(table), Some(100));
        assert_eq!(frames_received("lo: 1 2"), None);
    }
}
