//! # junction: flows that leave at any port, with copies at another
//!
//! To test, not to copy. The longest prefix of a flow's destination says where its packets leave,
//! and where a copy of each does. A flow keeps its way, and one without a way is transmitted.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// In the place of a mirror: there is none.
const NOWHERE: u8 = 255;

/// Where packets to a prefix leave, and where copies of them do.
#[state(prefixes, capacity = 1_000)]
struct Way {
    port: u8,
    mirror: u8,
}

/// A flow on its way.
#[state(key = FiveTuple, capacity = 10_000, idle = "1h")]
struct Flow {
    packets: u64,
    port: u8,
    mirror: u8,
}

#[flow_handler]
fn junction(
    packet: &mut Packet,
    flows: &mut Table<Flow>,
    ways: &Prefixes<Way>,
    out: &mut Outbox,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let (port, mirror) = if let Some(known) = flows.get_mut(&flow) {
        known.packets += 1;
        (known.port, known.mirror)
    } else {
        let Some(way) = ways.longest(flow.destination) else { return Transmit };
        let (port, mirror) = (way.port, way.mirror);
        flows.insert(flow, Flow { packets: 1, port, mirror })?;
        (port, mirror)
    };
    if mirror != NOWHERE {
        out.send(packet, Port(mirror))?;
    }
    Redirect(Port(port))
}

cora::app!(junction);
