#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn inspect(packet: &mut Headers) -> Verdict {
    if packet.payload().starts_with(b"GET ") { Transmit } else { Drop(NotAllowed) }
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
