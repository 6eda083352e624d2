//! # border: rows of files in all three forms
//!
//! To test, not to copy. A connection is judged by the first rule of an ACL that fits it, gets the
//! class of the longest prefix of its outside address, and may have as many packets as its inside
//! host's row allows. A new version of a file judges connections anew.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::str::FromStr;

use cora::prelude::*;

const OVER: Reason = Reason::new("over-the-quota");

/// How much a host may have.
#[state(map, key = InsideAddress, capacity = HOSTS)]
#[derive(Default)]
struct Host {
    packets: u32,
    unlimited: bool,
}

const HOSTS: u32 = 10_000;

/// Classes of addresses outside.
#[state(prefixes, capacity = 4 * HOSTS)]
struct Region {
    class: Class,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
enum Class {
    Near,
    Far,
}

#[host_only]
impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "near" => Ok(Self::Near),
            "far" => Ok(Self::Far),
            _ => Err(format!("a class is `near` or `far`, not {text:?}")),
        }
    }
}

#[state(acl, capacity = 1_000)]
struct Rule {
    allow: bool,
}

#[state(key = FiveTuple, reply, capacity = 100_000, idle = "5m")]
struct Connection {
    judged: [Generation; 3],
    packets: u32,
    most: u32,
    class: u8,
}

#[state(commutative)]
struct Seen {
    by_class: Sums<3>,
    refused: Sum,
}

#[flow_handler]
fn border(
    packet: &mut Headers,
    connections: &mut Table<Connection>,
    hosts: &Map<Host>,
    regions: &Prefixes<Region>,
    rules: &Acl<Rule>,
    seen: &mut Seen,
) -> Verdict {
    let flow = packet.five_tuple()?;
    let versions = [hosts.generation(), regions.generation(), rules.generation()];
    if connections.get(&flow).is_none_or(|known| known.judged != versions) {
        // As seen from inside: rules are written like that.
        let outward = if packet.from_inside() { flow } else { flow.reversed() };
        if !rules.first(&outward).is_some_and(|rule| rule.allow) {
            connections.remove(&flow);
            seen.refused.add(1);
            return Drop(NotAllowed);
        }
        let class = regions.longest(outward.destination).map_or(0, |region| region.class as u8 + 1);
        let most = match hosts.get(&InsideAddress(outward.source)) {
            Some(host) if host.unlimited => u32::MAX,
            Some(host) => host.packets,
            None => 100,
        };
        let packets = connections.get(&flow).map_or(0, |known| known.packets);
        let judged = Connection { judged: versions, packets, most, class };
        match connections.get_mut(&flow) {
            Some(known) => *known = judged,
            None => connections.insert(flow, judged)?,
        }
    }
    let Some(connection) = connections.get_mut(&flow) else { return Drop(NotAllowed) };
    connection.packets += 1;
    seen.by_class.add(usize::from(connection.class), 1);
    if connection.packets > connection.most {
        return Drop(OVER);
    }
    Transmit
}

cora::app!(border);
