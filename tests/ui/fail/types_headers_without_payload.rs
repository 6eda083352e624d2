#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn inspect(packet: &mut Headers) -> Verdict {
    if packet.payload().starts_with(b"GET ") { Transmit } else { Drop(NotAllowed) }
}

/// In a helper, and methods that change.
fn helper(packet: &mut Headers) -> Verdict {
    let _first = packet.frame().first();
    packet.splice(0, 0, &[1, 2])?;
    packet.truncate(60);
    Transmit
}

#[flow_handler]
fn log(packet: &mut cora::prelude::Headers<'_>) -> Verdict {
    whole(packet);
    Transmit
}

fn whole(packet: &mut Packet) {}

mod renamed {
    use cora::prelude::*;

    type Headers<'a> = Packet<'a>;

    #[flow_handler]
    fn seems(packet: &mut Headers) -> Verdict {
        if packet.payload().is_empty() { Drop(NotAllowed) } else { Transmit }
    }
}

fn main() {}
