#![allow(unused)]

use cora::prelude::*;

#[state(commutative, merged)]
struct Seen {
    sources: CountMin<4, 65_536>,
}

#[flow_handler]
fn count(packet: &mut Headers, seen: &mut Merged<Seen>) -> Verdict {
    seen.update().sources.add(&SourceAddress(packet.source()?), 1);
    Transmit
}

fn main() {}
