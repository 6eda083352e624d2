//! The configuration, and its defaults.

use cora::prelude::*;

use crate::{MOST_TENANTS, Tenant, Tunnels};

const LINES: &str = "a line is `local ADDRESS MAC`, `router MAC` or `tenant VLAN VNI ADDRESS`";

impl Default for Tunnels {
    fn default() -> Self {
        let mut tunnels = Self::none();
        tunnels.tenants[0] = Tenant { vlan: 0, vni: 42, remote: Address::v4([203, 0, 113, 1]) };
        tunnels.count = 1;
        tunnels
    }
}

impl Tunnels {
    fn none() -> Self {
        Self {
            local: Address::v4([192, 0, 2, 1]),
            local_mac: [2, 0, 0, 0, 0, 1],
            router_mac: [2, 0, 0, 0, 0, 2],
            count: 0,
            tenants: [Tenant::default(); MOST_TENANTS],
        }
    }

    fn add(&mut self, tenant: Tenant) -> Result<(), &'static str> {
        let there = self.tenants.get(..usize::from(self.count)).unwrap_or_default();
        if there.iter().any(|it| it.vlan == tenant.vlan || it.vni == tenant.vni) {
            return Err("two tenants share a VLAN or a network identifier");
        }
        let place = self.tenants.get_mut(usize::from(self.count)).ok_or("more than 64 tenants")?;
        *place = tenant;
        self.count += 1;
        Ok(())
    }
}

impl Configure for Tunnels {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut tunnels = Self::none();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let what = words.next().ok_or(LINES)?;
            let mut word = || words.next().ok_or(LINES);
            match what {
                "local" => {
                    tunnels.local = address(word()?)?;
                    tunnels.local_mac = mac(word()?)?;
                }
                "router" => tunnels.router_mac = mac(word()?)?,
                "tenant" => {
                    let (vlan, vni) =
                        (word()?.parse().map_err(|_| LINES)?, word()?.parse().map_err(|_| LINES)?);
                    if vlan > 4094 || vni > 0x00ff_ffff_u32 {
                        return Err("a VLAN is at most 4094, a network identifier has 24 bits");
                    }
                    tunnels.add(Tenant { vlan, vni, remote: address(word()?)? })?;
                }
                _ => return Err(LINES),
            }
            if words.next().is_some() {
                return Err(LINES);
            }
        }
        let tenants = tunnels.tenants.get(..usize::from(tunnels.count)).unwrap_or_default();
        if tenants.is_empty() {
            return Err("no `tenant VLAN VNI ADDRESS`");
        }
        if tenants.iter().any(|tenant| tenant.remote.is_v4() != tunnels.local.is_v4()) {
            return Err("the ends of a tunnel are of two IP versions");
        }
        Ok(tunnels)
    }
}

fn address(word: &str) -> Result<Address, &'static str> {
    let address: core::net::IpAddr = word.parse().map_err(|_| LINES)?;
    Ok(address.into())
}

fn mac(word: &str) -> Result<[u8; 6], &'static str> {
    let mut mac = [0; 6];
    let mut octets = word.split(':');
    for octet in &mut mac {
        *octet = u8::from_str_radix(octets.next().ok_or(LINES)?, 16).map_err(|_| LINES)?;
    }
    if octets.next().is_some() { Err(LINES) } else { Ok(mac) }
}
