//! Quotas of tenants beside their connections and their questions to the DNS: all travel with the
//! tenant. A question is found by its identifier, which is in the payload.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Tenants at a time.
const TENANTS: u32 = 4_096;
/// Connections of one tenant, in the mean.
const EACH: u32 = 16;
/// Bytes that a tenant may send.
const QUOTA: u64 = 20_000_000;

/// The /28 of the inside host: both directions of a conversation have the same one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    prefix: [u8; 16],
}

impl HeaderKey for Tenant {
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        let bits = packet.inside_address()?.bits();
        Ok(Self { prefix: (bits & !0xf).to_be_bytes() })
    }
}

/// A question to the DNS: the client's port, and of the identifier that the answer repeats two
/// bits, so that some of the generated answers are to some of the generated questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Question {
    client: Address,
    port: u16,
    id: u8,
}

impl PacketKey for Question {
    fn of_packet(packet: &Packet<'_>) -> Result<Self, Reason> {
        let flow = packet.five_tuple()?;
        if flow.protocol != protocol::UDP || packet.is_icmp_error() {
            return Err(NoFlow);
        }
        let id = packet.payload().first().ok_or(Truncated)? & 3;
        match (flow.source_port, flow.destination_port) {
            (port, 53) => Ok(Self { client: flow.source, port, id }),
            (53, port) => Ok(Self { client: flow.destination, port, id }),
            _ => Err(NoFlow),
        }
    }
}

/// The bytes that a tenant has sent.
#[state(key = Tenant, capacity = TENANTS, idle = "1h")]
struct Quota {
    bytes: u64,
}

/// A connection.
#[state(key = FiveTuple, within = Tenant, reply, capacity = TENANTS * EACH, idle = "5m")]
struct Connection {
    packets: u64,
    answered: bool,
}

/// A question without an answer.
#[state(key = Question, within = Tenant, capacity = 1 << 14, idle = "10s")]
struct Asked {
    times: u32,
}

/// Packets by the last bits of the tenant, and the longest frame of each.
#[state(commutative)]
struct Counts {
    packets: Sums<64>,
    longest: Maxima<64>,
    unasked: Sum,
}

const SPENT: Reason = Reason::new("quota-spent");
const UNASKED: Reason = Reason::new("unasked");

#[flow_handler]
fn tenants(
    packet: &mut Packet,
    quotas: &mut Table<Quota>,
    connections: &mut Table<Connection>,
    questions: &mut Table<Asked>,
    counts: &mut Counts,
    out: &mut Outbox,
) -> Verdict {
    let (flow, tenant) = (packet.five_tuple()?, Tenant::of(packet)?);
    let index = usize::from(tenant.prefix[15] >> 4 | (tenant.prefix[14] & 3) << 4);
    counts.packets.add(index, 1);
    counts.longest.raise(index, packet.len() as u64);
    if let Ok(question) = Question::of_packet(packet) {
        if packet.from_inside() {
            match questions.get_mut(&question) {
                Some(asked) => asked.times += 1,
                None => questions.insert(question, Asked { times: 1 })?,
            }
        } else if questions.remove(&question).is_none() {
            counts.unasked.add(1);
            // Somebody is told of it, and the server hears it again.
            out.send(packet, Port::INSIDE)?;
            out.send(packet, Port::OUTSIDE)?;
            return Drop(UNASKED);
        }
    }
    let length = if packet.from_inside() { packet.len() as u64 } else { 0 };
    match quotas.get_mut(&tenant) {
        Some(quota) if quota.bytes + length > QUOTA => return Drop(SPENT),
        Some(quota) => quota.bytes += length,
        None => quotas.insert(tenant, Quota { bytes: length })?,
    }
    match connections.find_mut(&flow) {
        Some((direction, connection)) => {
            connection.packets += 1;
            connection.answered |= direction == Direction::Reply;
        }
        None => connections.insert(flow, Connection { packets: 1, answered: false })?,
    }
    Transmit
}

cora::app!(tenants);
