//! # tenant-rate: tenants are held to rates, and only inside opens connections
//!
//! To test, not to copy. A tenant is a /24 of IPv4 inside, or a /64 of IPv6. All packets of its
//! connections, both ways, take from one token bucket. A file gives the rates of tenants; others
//! have the default. Packets from outside pass if they belong to a connection; those that don't
//! cost the tenant nothing. Buckets and connections travel together, by tenant. Packets without a
//! flow are dropped, but for those that hosts need to find each other.
//!
//! Try it: `cargo cora run tenant-rate --nic native --in some.pcap --config Rate=rates.csv`, where
//! rates.csv has the line `network, kbit, burst` and below it `10.0.1.0/24, 100000, 131072`
//! (kilobits a second, and bytes at once). A rate of 0 allows nothing. A row for a network of
//! another length has no effect.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

#[cfg(test)]
mod tests;

const OVER_RATE: Reason = Reason::new("over-rate");

const TENANTS: u32 = 4_096;
/// Picoseconds that a byte takes at one kilobit a second.
const PS_PER_BYTE: u64 = 8_000_000_000;

/// The network of a customer. Both directions of a conversation have the same one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    network: Prefix,
}

impl HeaderKey for Tenant {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        let address = packet.inside_address()?;
        let length = if address.is_v4() { 24 } else { 64 };
        Ok(Self { network: Prefix::new(address, length).ok_or(NotIp)? })
    }
}

/// The rate of a tenant: kilobits a second, and bytes at once.
#[state(map, key = Tenant, capacity = TENANTS)]
struct Rate {
    kbit: u64,
    burst: u64,
}

/// A tenant's bucket. Its unit is time, so that filling it needs no division.
#[state(key = Tenant, capacity = TENANTS, idle = "10m")]
struct Bucket {
    saved_ps: u64,
    filled_at: u64,
    passed: u64,
    dropped: u64,
}

/// A connection that somebody inside opened.
#[state(key = FiveTuple, within = Tenant, reply, capacity = TENANTS * 64, idle = "2h4m",
        idle_by = Self::idle)]
struct Connection {
    tcp: TcpState,
    packets: u64,
}

impl Rate {
    const DEFAULT: Self = Self { kbit: 8_000, burst: 65_536 };

    /// How long so many bytes take; for ever at a rate of 0.
    fn ps(&self, bytes: u64) -> Option<u64> {
        Some(PS_PER_BYTE.checked_div(self.kbit)?.saturating_mul(bytes))
    }

    fn full_ps(&self) -> u64 {
        self.ps(self.burst).unwrap_or(0)
    }
}

impl Bucket {
    fn full(rate: &Rate, now: u64) -> Self {
        Self { saved_ps: rate.full_ps(), filled_at: now, passed: 0, dropped: 0 }
    }

    /// Takes so many bytes out, if they are there.
    fn take(&mut self, rate: &Rate, bytes: u64, now: u64) -> Result<(), Reason> {
        let since = now.saturating_sub(self.filled_at).saturating_mul(1_000);
        self.saved_ps = self.saved_ps.saturating_add(since).min(rate.full_ps());
        self.filled_at = now;
        let left = rate.ps(bytes).and_then(|price| self.saved_ps.checked_sub(price));
        self.saved_ps = left.unwrap_or(self.saved_ps);
        self.passed += u64::from(left.is_some());
        self.dropped += u64::from(left.is_none());
        left.map(|_| ()).ok_or(OVER_RATE)
    }
}

impl Connection {
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }
}

#[flow_handler]
fn tenant_rate(
    packet: &mut Headers,
    connections: &mut Table<Connection>,
    buckets: &mut Table<Bucket>,
    rates: &Map<Rate>,
) -> Verdict {
    if packet.is_link_local_control() || packet.is_dhcp() {
        return Transmit;
    }
    packet.forwardable()?;
    let (flow, tenant) = (packet.five_tuple()?, Tenant::of(packet)?);
    if !packet.from_inside() && !connections.contains(&flow) {
        return Drop(NotAllowed);
    }
    let rate = rates.get(&tenant).unwrap_or(&Rate::DEFAULT);
    let (bytes, now) = (packet.len() as u64, packet.now());
    if let Some(bucket) = buckets.get_mut(&tenant) {
        bucket.take(rate, bytes, now)?;
    } else {
        let mut bucket = Bucket::full(rate, now);
        let taken = bucket.take(rate, bytes, now);
        buckets.insert(tenant, bucket)?;
        taken?;
    }
    if let Some((direction, connection)) = connections.find_mut(&flow) {
        connection.tcp.advance(packet, direction)?;
        connection.packets += 1;
    } else {
        connections.insert(flow, Connection { tcp: TcpState::open(packet)?, packets: 1 })?;
    }
    Transmit
}

cora::app!(tenant_rate);
