#![allow(unused)]

use cora::prelude::*;

#[message]
struct Ask {
    #[key]
    row: u64,
}

#[flow_handler]
fn changed(ask: Ask, envelope: &mut Envelope) -> Verdict {
    Done
}

#[flow_handler]
fn twice(ask: Ask, one: &Envelope, two: &Envelope) -> Verdict {
    Done
}

#[every("1s")]
fn timer(tick: &Tick, envelope: &Envelope) {}

fn main() {}
