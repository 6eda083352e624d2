//! # vxlan: a link of Ethernet for each tenant, over UDP
//!
//! A VXLAN gateway (RFC 7348): each tenant has a VLAN inside (or none), a network identifier, and a
//! gateway at the other end. Frames from inside go there in UDP, without their tag, from
//! a port that is a hash of its flow, so that routers between spread flows over their links. Frames
//! from there are checked, unpacked and tagged.
//!
//! Try it:  `cargo cora run vxlan --nic native --in some.pcap --out out.pcap --config
//! Tunnels=tunnels.txt`
//!
//! where tunnels.txt says `local 192.0.2.1 02:00:00:00:00:01` (this gateway), `router
//! 02:00:00:00:00:02` (who takes its packets further), and `tenant VLAN VNI REMOTE` once or more,
//! VLAN 0 for frames without a tag. Without it these are the values here, with one tenant: 0, 42,
//! 203.0.113.1. Expect: tunnels are read-mostly, counts commutative, so nothing ever punts.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

mod config;
#[cfg(test)]
mod tests;

const MOST_TENANTS: usize = 64;
const NO_TENANT: Reason = Reason::new("no-tenant");
const NOT_VXLAN: Reason = Reason::new("not-vxlan");
const TAGGED_WITHIN: Reason = Reason::new("tagged-within");

/// One tenant's tunnel.
#[derive(Clone, Copy, Debug, Default, Plain)]
struct Tenant {
    vlan: u16,
    vni: u32,
    remote: Address,
}

/// Where tunnels begin and end.
#[state(read_mostly)]
struct Tunnels {
    local: Address,
    local_mac: [u8; 6],
    router_mac: [u8; 6],
    count: u8,
    tenants: [Tenant; MOST_TENANTS],
}

/// Packets and their bytes, without the tunnel's own.
#[state(commutative)]
struct Counts {
    packets_out: Sum,
    bytes_out: Sum,
    packets_in: Sum,
    bytes_in: Sum,
}

impl Tunnels {
    fn tenant(&self, is: impl Fn(&Tenant) -> bool) -> Result<Tenant, Reason> {
        let tenants = self.tenants.get(..usize::from(self.count)).unwrap_or_default();
        tenants.iter().find(|tenant| is(tenant)).copied().ok_or(NO_TENANT)
    }

    /// The headers in front of a tenant's frame.
    fn outer(&self, tenant: &Tenant, source_port: u16) -> Outer {
        Outer {
            mac_source: self.local_mac,
            mac_destination: self.router_mac,
            source: self.local,
            destination: tenant.remote,
            source_port,
            ..Outer::default()
        }
    }
}

/// The 16-bit number at a place of the frame.
fn number(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

/// Whether the frame has a VLAN tag, of whatever kind.
fn is_tagged(frame: &[u8]) -> bool {
    number(frame, 12).is_some_and(Vlan::is_tag)
}

/// The VLAN that a frame is of; 0 for none, as the standard has it. Tenants have customers' VLANs:
/// a provider's tag, or one within another, is of a network that none of them has.
fn vlan(packet: &Packet) -> Result<Option<u16>, Reason> {
    let Some(tag) = packet.vlan() else {
        // One that is cut off is one all the same.
        return if is_tagged(packet.frame()) { Err(Truncated) } else { Ok(None) };
    };
    if tag.kind != Vlan::CUSTOMER {
        return Err(NO_TENANT);
    }
    if packet.frame().get(4..).is_some_and(is_tagged) {
        return Err(TAGGED_WITHIN);
    }
    Ok(Some(tag.id))
}

/// A port of the dynamic ones that tells flows apart; frames without a flow, by their ends.
fn entropy(packet: &Packet) -> Result<u16, Reason> {
    let words = match packet.five_tuple() {
        Ok(flow) => flow.words(),
        Err(_) => MacPair::of(packet)?.words(),
    };
    let hash = words.iter().fold(0_u64, |hash, word| {
        (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    });
    Ok(0xc000 | (hash >> 50) as u16)
}

fn pack(packet: &mut Packet, tunnels: &Tunnels) -> Result<(), Reason> {
    let tag = vlan(packet)?;
    let tenant = tunnels.tenant(|tenant| tenant.vlan == tag.unwrap_or(0))?;
    packet.pop_vlan();
    let outer = tunnels.outer(&tenant, entropy(packet)?);
    packet.encapsulate(&outer, Encapsulation::Vxlan { network: tenant.vni })
}

fn unpack(packet: &mut Packet, tunnels: &Tunnels) -> Result<(), Reason> {
    let tunnel =
        packet.tunnel().map_err(|why| if why == NotTunnelled { NOT_VXLAN } else { why })?;
    let Encapsulation::Vxlan { network } = tunnel.encapsulation else { return Err(NOT_VXLAN) };
    if tunnel.destination != tunnels.local {
        return Err(NOT_VXLAN);
    }
    // Only the tenant's own gateway may send into its network.
    let is = |tenant: &Tenant| tenant.vni == network && tenant.remote == tunnel.source;
    let tenant = tunnels.tenant(is)?;
    if packet.frame().get(tunnel.at..).is_some_and(is_tagged) {
        return Err(TAGGED_WITHIN);
    }
    packet.decapsulate()?;
    if tenant.vlan != 0 {
        packet.push_vlan(Vlan { id: tenant.vlan, ..Vlan::default() })?;
    }
    Ok(())
}

/// Packs frames from inside, unpacks those from outside.
#[flow_handler]
fn vxlan(packet: &mut Packet, tunnels: &Tunnels, counts: &mut Counts) -> Verdict {
    if packet.from_inside() {
        let length = packet.len() as u64;
        pack(packet, tunnels)?;
        counts.packets_out.add(1);
        counts.bytes_out.add(length);
    } else {
        unpack(packet, tunnels)?;
        counts.packets_in.add(1);
        counts.bytes_in.add(packet.len() as u64);
    }
    Transmit
}

cora::app!(vxlan);
