//! The kernel as the box in the middle: forwarding, connection tracking, nftables.

use std::time::Duration;

use super::{Ended, Middle};
use crate::Result;
use crate::connections::of_conntrack;
use crate::program::run_well;
use crate::site::{Site, WIRE, join};

const SOON: Duration = Duration::from_secs(30);

/// The kernel of the middle namespace.
#[derive(Debug)]
pub struct Kernel<'a> {
    site: &'a Site,
}

impl<'a> Kernel<'a> {
    /// Sets up the kernel in the middle.
    ///
    /// # Errors
    /// When this machine lacks nftables, or a kind of rule.
    pub fn start(site: &'a Site) -> Result<Self> {
        let middle = &site.middle;
        join(&site.clients, WIRE, middle, "inside")?;
        join(&site.router, WIRE, middle, "outside")?;
        for interface in ["inside", "outside"] {
            middle.ip(&format!("link set {interface} up"))?;
        }
        middle.set("ipv4/ip_forward", "1")?;
        middle.set("ipv6/conf/all/forwarding", "1")?;
        site.address_clients()?;
        site.address_middle_as_gateway()?;
        run_well(middle.command("nft").arg(site.function.rules()), SOON)?;
        // Ten seconds otherwise: the table is read at the end.
        middle.set("netfilter/nf_conntrack_tcp_timeout_close", "120")?;
        site.wait_until_it_passes()?;
        Ok(Self { site })
    }
}

impl Middle for Kernel<'_> {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn end(self: Box<Self>) -> Result<Ended> {
        let mut connections = Vec::new();
        for family in ["ipv4", "ipv6"] {
            let mut list = self.site.middle.command("conntrack");
            let listed = run_well(list.args(["-L", "-f", family]), SOON)?;
            connections.extend(of_conntrack(&listed));
        }
        Ok(Ended { connections, report: None })
    }
}
