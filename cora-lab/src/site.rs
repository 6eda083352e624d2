//! The namespaces of a trial, their addresses and routes.
//!
//! Clients and router are configured alike for both boxes in the middle. Cora is a bump in the
//! wire: it has no address, and ARP and neighbour discovery pass. The kernel is a router with the
//! addresses that the router has otherwise, and so is Cora as a gateway.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use cora_traffic::namespace::Namespace;

use crate::Result;
use crate::function::Function;
use crate::program::run_well;

/// The interface between clients, middle and router, at the outer ends.
pub const WIRE: &str = "wire";
/// The interface between router and servers.
const FAR: &str = "far";
/// A client's address.
pub const CLIENT_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The client's IPv6 address.
pub const CLIENT_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 1);
/// The clients' default gateway.
const GATEWAY_V4: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 254);
const GATEWAY_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 0xfe);
/// The address that a NAT substitutes for its clients'.
pub const PUBLIC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The address that a balancer stands for.
pub const SERVICE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 80);
/// The address by which the router answers.
pub const ROUTER_V4: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// The router's IPv6 address.
pub const ROUTER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
/// The servers' address.
pub const SERVER_V4: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// The servers' IPv6 address.
pub const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
/// Longest packet between router and servers: shorter than on the wire, so that senders have to
/// learn it.
pub const FAR_MTU: u16 = 1400;

/// The namespaces. Gone when dropped.
#[derive(Debug)]
pub struct Site {
    /// The namespace of the programs that ask.
    pub clients: Namespace,
    /// The namespace of the tested box.
    pub middle: Namespace,
    /// The first hop behind it.
    pub router: Namespace,
    /// The namespace of the programs that answer.
    pub servers: Namespace,
    /// The tested network function.
    pub function: Function,
}

impl Site {
    /// Creates the namespaces, and the link between router and servers; the middle is still empty.
    ///
    /// # Errors
    /// When this machine gives no namespaces, or lacks a kind of interface.
    pub fn create(label: &str, function: Function) -> Result<Self> {
        let create = |end: &str| Namespace::create(&format!("{label}-{end}"));
        let site = Self {
            clients: create("clients")?,
            middle: create("middle")?,
            router: create("router")?,
            servers: create("servers")?,
            function,
        };
        for space in [&site.clients, &site.middle, &site.router, &site.servers] {
            space.set("ipv6/conf/all/accept_dad", "0")?;
            space.set("ipv6/conf/default/accept_dad", "0")?;
            space.ip("link set lo up")?;
            // Probes of connections that were never there are answered each, not once a second.
            space.set("ipv4/icmp_ratelimit", "0")?;
            space.set("ipv6/icmp/ratelimit", "0")?;
        }
        join(&site.router, FAR, &site.servers, FAR)?;
        for space in [&site.router, &site.servers] {
            space.ip(&format!("link set {FAR} mtu {FAR_MTU} up"))?;
        }
        let on = "1";
        site.router.set("ipv4/ip_forward", on)?;
        site.router.set("ipv6/conf/all/forwarding", on)?;
        addresses(&site.router, FAR, &["203.0.113.254/24", "2001:db8::fe/64"])?;
        let servers = [format!("{SERVER_V4}/24"), format!("{SERVER_V6}/64")];
        addresses(&site.servers, FAR, &servers)?;
        let backends = (1..=4).map(|host| format!("10.1.0.{host}/32"));
        addresses(&site.servers, FAR, &backends.collect::<Vec<_>>())?;
        site.servers.ip("route add default via 203.0.113.254")?;
        site.servers.ip("-6 route add default via 2001:db8::fe")?;
        site.router.ip(&format!("route add 10.1.0.0/24 dev {FAR}"))?;
        Ok(site)
    }

    /// Gives the clients their addresses, once their interface is there.
    ///
    /// # Errors
    /// The error of `ip`.
    pub fn address_clients(&self) -> Result<()> {
        self.clients.ip(&format!("link set {WIRE} up"))?;
        addresses(&self.clients, WIRE, &[format!("{CLIENT_V4}/24"), format!("{CLIENT_V6}/64")])?;
        self.clients.ip(&format!("route add default via {GATEWAY_V4}"))?;
        Ok(self.clients.ip(&format!("-6 route add default via {GATEWAY_V6}"))?)
    }

    /// Makes the router the clients' gateway: the box in the middle has no address.
    ///
    /// # Errors
    /// The error of `ip`.
    pub fn address_router_as_gateway(&self) -> Result<()> {
        self.address_router()?;
        let router = &self.router;
        addresses(router, WIRE, &[format!("{GATEWAY_V4}/32"), format!("{GATEWAY_V6}/128")])?;
        router.ip(&format!("route add 10.77.0.0/24 dev {WIRE} src {ROUTER_V4}"))?;
        router.ip(&format!("-6 route add fd00:77::/64 dev {WIRE} src {ROUTER_V6}"))?;
        router.ip(&format!("route add {PUBLIC} dev {WIRE} src {ROUTER_V4}"))?;
        // No host answers ARP for an address that Cora only writes into packets.
        let link = run_well(self.clients.command("cat").arg(mac_file()), SOON)?;
        Ok(router.ip(&format!("neighbour add {PUBLIC} lladdr {} dev {WIRE}", link.trim()))?)
    }

    /// Makes the middle the clients' gateway, and the router the next hop.
    ///
    /// # Errors
    /// The error of `ip`.
    pub fn address_middle_as_gateway(&self) -> Result<()> {
        self.route_to_middle()?;
        let middle = &self.middle;
        addresses(middle, "inside", &[format!("{GATEWAY_V4}/24"), format!("{GATEWAY_V6}/64")])?;
        addresses(middle, "outside", &[format!("{PUBLIC}/32"), "2001:db8:1::2/64".to_owned()])?;
        middle.ip(&format!("route add default via {ROUTER_V4} dev outside onlink"))?;
        Ok(middle.ip(&format!("-6 route add default via {ROUTER_V6}"))?)
    }

    /// Makes the middle the router's next hop to the clients. If it is Cora, it has its addresses
    /// from its own configuration.
    ///
    /// # Errors
    /// The error of `ip`.
    pub fn route_to_middle(&self) -> Result<()> {
        self.address_router()?;
        let router = &self.router;
        router.ip(&format!("route add {PUBLIC} dev {WIRE} src {ROUTER_V4}"))?;
        router.ip(&format!("route add 10.77.0.0/24 via {PUBLIC} dev {WIRE} src {ROUTER_V4}"))?;
        let v6 = format!("-6 route add fd00:77::/64 via 2001:db8:1::2 src {ROUTER_V6}");
        Ok(router.ip(&v6)?)
    }

    fn address_router(&self) -> Result<()> {
        self.router.ip(&format!("link set {WIRE} up"))?;
        addresses(&self.router, WIRE, &[format!("{ROUTER_V4}/32"), format!("{ROUTER_V6}/64")])
    }

    /// Returns the packets that the clients' own kernel dropped, because the interface's queue was
    /// full.
    ///
    /// # Errors
    /// When the kernel doesn't say.
    pub fn dropped_by_clients_queue(&self) -> Result<u64> {
        let file = format!("/sys/class/net/{WIRE}/statistics/tx_dropped");
        let told = run_well(self.clients.command("cat").arg(&file), SOON)?;
        told.trim().parse().map_err(|_| format!("{file}: {told}"))
    }

    /// Waits until packets pass both ways: neighbours are found, and the middle forwards.
    ///
    /// # Errors
    /// When it doesn't happen.
    pub fn wait_until_it_passes(&self) -> Result<()> {
        for server in self.function.servers() {
            // All tries are one flow, since the entries of both boxes are compared.
            let probe = "-c 1 -W 1 -n -q -e 1";
            let pinged = |()| {
                let mut ping = self.clients.command("ping");
                ping.args(probe.split(' ')).arg(server.to_string());
                run_well(&mut ping, Duration::from_secs(15))
            };
            let mut tries = (0..8).map(|_| pinged(()));
            if !tries.any(|tried| tried.is_ok()) {
                return Err(format!("{server} can't be reached: {:?}", pinged(()).err()));
            }
        }
        Ok(())
    }
}

/// The kernel takes seconds to enter a namespace where both cores are busy: it waits for each.
const SOON: Duration = Duration::from_secs(30);

fn mac_file() -> String {
    format!("/sys/class/net/{WIRE}/address")
}

fn addresses(space: &Namespace, interface: &str, all: &[impl AsRef<str>]) -> Result<()> {
    for address in all {
        let address = address.as_ref();
        let flags = if address.contains(':') { " nodad" } else { "" };
        space.ip(&format!("address add {address} dev {interface}{flags}"))?;
    }
    Ok(())
}

/// Joins two namespaces by a veth pair with frames as on a wire.
///
/// # Errors
/// The error of `ip`, or when offloads can't be switched off.
pub fn join(one: &Namespace, name: &str, other: &Namespace, its: &str) -> Result<()> {
    one.join(name, other, its)?;
    one.send_plain_frames(name)?;
    Ok(other.send_plain_frames(its)?)
}
