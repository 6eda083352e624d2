//! Two namespaces and the wire between them; gone when dropped.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::offload;
use crate::TrafficError;

/// The interface at each end.
pub(super) const INTERFACE: &str = "wire";
/// The server outside.
pub(super) const SERVER_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
pub(super) const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// An address outside that is on the wire but that nobody answers for.
pub(super) const SILENT_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 99);
/// How many inside addresses there are of each version.
pub(super) const HOSTS: u16 = 8;

/// The inside host of this number.
pub(super) fn inside(number: u16, v6: bool) -> IpAddr {
    let last = 2 + number % HOSTS;
    if v6 {
        Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, last).into()
    } else {
        Ipv4Addr::new(10, 77, 0, last as u8).into()
    }
}

/// A network namespace, known by name.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    fn create(name: String) -> Result<Self, TrafficError> {
        ip(&["netns", "add", &name])?;
        Ok(Self { name })
    }

    /// Moves the calling thread into it; threads and processes that it starts will be in it too.
    pub(super) fn enter(&self) -> Result<(), TrafficError> {
        let file = File::open(Path::new("/run/netns").join(&self.name))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| setup("entering a network namespace", &error.to_string()))
    }

    /// Does something on a thread of its own, within.
    pub(super) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, TrafficError> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| self.enter().map(|()| work()));
            worker
                .join()
                .unwrap_or_else(|_| Err(setup("a thread within a namespace", "it panicked")))
        })
    }

    fn ip(&self, arguments: &[&str]) -> Result<(), TrafficError> {
        let mut all = vec!["-n", &self.name];
        all.extend(arguments);
        ip(&all)
    }

    fn tc(&self, arguments: &str) -> Result<(), TrafficError> {
        let mut all = vec!["netns", "exec", &self.name, "tc"];
        all.extend(arguments.split(' '));
        ip(&all)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "delete", &self.name]) {
            eprintln!("cora-traffic: a namespace stays behind: {error}");
        }
    }
}

/// Both ends and the wire.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) inside: Namespace,
    pub(super) outside: Namespace,
    pub(super) has_v6: bool,
    /// What this machine lacks.
    pub(super) lacking: Vec<String>,
}

impl Network {
    pub(super) fn create() -> Result<Self, TrafficError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("cora-{}-{number}-{end}", std::process::id());
        let inside = Namespace::create(name("in"))?;
        let outside = Namespace::create(name("out"))?;
        inside.ip(&[
            "link",
            "add",
            INTERFACE,
            "type",
            "veth",
            "peer",
            "name",
            INTERFACE,
            "netns",
            &outside.name,
        ])?;
        for end in [&inside, &outside] {
            end.within(|| offload::switch_off(INTERFACE))??;
            end.ip(&["link", "set", INTERFACE, "up"])?;
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
            let address = format!("{}/24", inside(number, false));
            self.inside.ip(&["address", "add", &address, "dev", INTERFACE])?;
        }
        self.inside.ip(&["route", "add", "default", "dev", INTERFACE])?;
        self.outside.ip(&["address", "add", &format!("{SERVER_V4}/32"), "dev", INTERFACE])?;
        self.outside.ip(&["route", "add", "10.0.0.0/8", "dev", INTERFACE])?;
        let silent = SILENT_V4.to_string();
        let nobody = ["neighbour", "add", &silent, "lladdr", "02:00:00:00:00:99", "dev", INTERFACE];
        self.inside.ip(&nobody)
    }

    fn address_v6(&self) -> Result<(), TrafficError> {
        for number in 0..HOSTS {
            let address = format!("{}/64", inside(number, true));
            self.inside.ip(&["-6", "address", "add", &address, "dev", INTERFACE, "nodad"])?;
        }
        self.inside.ip(&["-6", "route", "add", "default", "dev", INTERFACE])?;
        let server = format!("{SERVER_V6}/128");
        self.outside.ip(&["-6", "address", "add", &server, "dev", INTERFACE, "nodad"])?;
        self.outside.ip(&["-6", "route", "add", "fd00::/8", "dev", INTERFACE])
    }

    /// Makes the way from outside lossy: netem, or else a queue too short for a burst.
    fn lose(&mut self) {
        let netem = format!("qdisc add dev {INTERFACE} root netem loss 2% delay 1ms");
        let short = format!("qdisc add dev {INTERFACE} root tbf rate 80mbit burst 4k limit 10k");
        if self.outside.tc(&netem).is_ok() {
            return;
        }
        self.lacking.push("no netem in this kernel: loss by a short queue only".to_owned());
        if self.outside.tc(&short).is_err() {
            self.lacking.push("no queueing discipline that loses: no loss".to_owned());
        }
    }
}

/// Removes namespaces of runs that were killed before they could.
fn sweep() {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let owner = name.strip_prefix("cora-").and_then(|rest| rest.split('-').next());
        let is_ours = owner.is_some_and(|pid| pid.parse::<u32>().is_ok());
        if is_ours && !owner.is_some_and(|pid| Path::new("/proc").join(pid).exists()) {
            drop(Namespace { name });
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), TrafficError> {
    let what = || format!("ip {}", arguments.join(" "));
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .map_err(|error| setup(&what(), &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(setup(&what(), String::from_utf8_lossy(&output.stderr).trim()))
}

pub(super) fn setup(what: &str, why: &str) -> TrafficError {
    TrafficError::Setup { what: what.to_owned(), why: why.to_owned() }
}
