//! Regions: items by number, in all that handlers do with them.

use cora::prelude::*;

const NODES: u32 = 1 << 10;

#[message(udp)]
struct Ask {
    key: u64,
}

#[message(udp)]
#[derive(PartialEq, Debug)]
enum Found {
    At { place: u64 },
    Nowhere,
}

#[state(region, length = NODES * 2)]
#[derive(PartialEq, Debug)]
struct Node {
    keys: [u64; 7],
    next: [u32; 8],
    is_leaf: bool,
}

#[flow_handler]
fn find(ask: &Ask, nodes: &Region<Node>, found: &mut Outbox<Found>) -> Verdict {
    let mut node = nodes.read(0)?;
    for _ in 0..8 {
        if node.is_leaf {
            break;
        }
        let rank = node.keys.iter().filter(|key| **key <= ask.key).count();
        node = nodes.read(node.next[rank])?;
    }
    let hint: &Node = nodes.peek(1)?;
    let is_here = node.keys.contains(&ask.key) || hint.is_leaf;
    found.reply(if is_here { Found::At { place: nodes.len().into() } } else { Found::Nowhere })?;
    Done
}

#[flow_handler]
fn put(packet: &mut Packet, nodes: &mut Region<Node>) -> Verdict {
    let node = *nodes.read(1)?;
    nodes.write(2, node)?;
    let told: Result<(), Stop> = nodes.write(5_000, node);
    if told.is_ok() { Drop(NoSuchItem) } else { Pass }
}

/// A function of the program's own may read, too.
fn first(nodes: &Region<Node>) -> Result<u32, Stop> {
    Ok(nodes.read(0)?.next[0])
}

fn main() {
    let mut nodes = cora::testing::region::<Node>();
    assert_eq!(first(&nodes), Ok(0));
    let packet = cora::testing::udp(([10, 0, 0, 1], 5), ([10, 0, 0, 2], 7), b"");
    let mut frame = packet;
    assert_eq!(put(&mut Packet::new(&mut frame, Meta::default()), &mut nodes), Pass);
}
