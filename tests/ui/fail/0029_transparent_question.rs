#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 16, idle = "1m")]
struct Flow {
    packets: u64,
}

/// Every way in which a getter, a setter or a table drops a packet.
#[flow_handler(transparent)]
fn count(packet: &mut Packet, flows: &mut Table<Flow>) -> Verdict {
    let key = packet.five_tuple()?;
    let waits = packet.source();
    let source = waits.map_err(|reason| reason)?;
    let headers = &*packet;
    let ttl = match headers.ttl() {
        Ok(ttl) if ttl > 1 => headers.ttl(),
        other => other,
    }?;
    if flows.get(&key).is_none() {
        flows.insert(key, Flow { packets: 1 })?;
    }
    let mac = (|| packet.mac_source())()?;
    assert!(packet.protocol()? > 0);
    packet.decrement_ttl()?;
    Transmit
}

fn main() {}
