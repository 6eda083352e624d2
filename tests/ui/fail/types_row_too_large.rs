#![allow(unused)]

use core::str::FromStr;

use cora::prelude::*;

#[state(map, key = SourceAddress, capacity = 1_000)]
struct Page {
    text: Text,
}

#[derive(Clone, Copy, Plain)]
struct Text {
    bytes: [u8; 4096],
}

#[host_only]
impl FromStr for Text {
    type Err = &'static str;

    fn from_str(_: &str) -> Result<Self, &'static str> {
        Ok(Self { bytes: [0; 4096] })
    }
}

#[flow_handler]
fn show(packet: &mut Packet, pages: &Map<Page>) -> Verdict {
    Transmit
}

fn main() {
    let _ = cora::testing::configured::<Page>("");
}
