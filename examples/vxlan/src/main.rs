//! # vxlan: a link of Ethernet for each tenant, over UDP
//!
//! A VXLAN gateway (RFC 7348): each tenant has a VLAN inside (or none), a network identifier, and a
//! gateway at the other end. Frames from inside go there in UDP over IPv4, without their tag, from
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
const UDP_PORT: u16 = 4789;
/// Ethernet, IPv4, UDP, VXLAN.
const OUTER: usize = 14 + 20 + 8 + 8;
const UDP_AND_VXLAN: usize = 16;
/// The identifier of the network counts.
const HAS_VNI: u8 = 0x08;

const NO_TENANT: Reason = Reason::new("no-tenant");
const NOT_VXLAN: Reason = Reason::new("not-vxlan");
const TAGGED_WITHIN: Reason = Reason::new("tagged-within");
const BAD_CHECKSUM: Reason = Reason::new("bad-checksum");

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

    /// All headers in front of a frame of `length` bytes. UDP has no checksum, as RFC 7348 would
    /// have it; the packet must not be fragmented on its way.
    fn headers(&self, tenant: &Tenant, port: u16, length: usize) -> Result<[u8; OUTER], Reason> {
        let total = u16::try_from(OUTER - 14 + length).map_err(|_| TooLong)?;
        let (local, remote) =
            (self.local.as_v4().ok_or(NO_TENANT)?, tenant.remote.as_v4().ok_or(NO_TENANT)?);
        let mut head = [0; OUTER];
        head[..6].copy_from_slice(&self.router_mac);
        head[6..12].copy_from_slice(&self.local_mac);
        head[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        head[16..18].copy_from_slice(&total.to_be_bytes());
        head[20..24].copy_from_slice(&[0x40, 0, 64, protocol::UDP]);
        head[26..30].copy_from_slice(&local);
        head[30..34].copy_from_slice(&remote);
        let sum = checksum::internet(&head[14..34]);
        head[24..26].copy_from_slice(&sum.to_be_bytes());
        head[34..36].copy_from_slice(&port.to_be_bytes());
        head[36..38].copy_from_slice(&UDP_PORT.to_be_bytes());
        head[38..40].copy_from_slice(&(total - 20).to_be_bytes());
        head[42] = HAS_VNI;
        head[46..50].copy_from_slice(&(tenant.vni << 8).to_be_bytes());
        Ok(head)
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
    if tag.is_some() {
        packet.splice(12, 4, &[])?;
    }
    let head = tunnels.headers(&tenant, entropy(packet)?, packet.len())?;
    packet.splice(0, 0, &head)
}

fn unpack(packet: &mut Packet, tunnels: &Tunnels) -> Result<(), Reason> {
    let flow = packet.five_tuple()?;
    let is_ours = flow.protocol == protocol::UDP && flow.destination_port == UDP_PORT;
    let head = packet.payload().first_chunk::<8>().copied();
    let (true, Some([flags, _, _, _, a, b, c, _])) =
        (is_ours && flow.destination == tunnels.local, head)
    else {
        return Err(NOT_VXLAN);
    };
    if flags & HAS_VNI == 0 {
        return Err(NOT_VXLAN);
    }
    // Only the tenant's own gateway may send into its network.
    let vni = u32::from_be_bytes([0, a, b, c]);
    let tenant = tunnels.tenant(|tenant| tenant.vni == vni && tenant.remote == flow.source)?;
    if !checksum::verify(packet) {
        return Err(BAD_CHECKSUM);
    }
    let inner = packet.payload().get(8..).unwrap_or_default();
    let length = if inner.len() < 14 { return Err(Truncated) } else { inner.len() };
    if is_tagged(inner) {
        return Err(TAGGED_WITHIN);
    }
    // Untagged outside, and options are as long as the header says.
    let options = usize::from(packet.frame().get(14).copied().unwrap_or(0) & 0x0f) * 4;
    let at = 14 + options + UDP_AND_VXLAN;
    if number(packet.frame(), 12) != Some(0x0800) {
        return Err(NOT_VXLAN);
    }
    packet.truncate(at + length);
    packet.splice(0, at, &[])?;
    if tenant.vlan != 0 {
        let [high, low] = tenant.vlan.to_be_bytes();
        let [kind, of] = Vlan::CUSTOMER.to_be_bytes();
        packet.splice(12, 0, &[kind, of, high, low])?;
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
