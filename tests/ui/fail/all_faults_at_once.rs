#![allow(unused)]

use cora::prelude::*;

#[state(key = &str, reply = 1, capacity = 0, idle = "5 minutes")]
struct Session {
    name: String,
    last: Option<u16>,
}

#[flow_handler(nic)]
async fn nat<T>(packet: Packet, sessions: u64) -> bool {
    unsafe { core::hint::unreachable_unchecked() }
}

fn main() {}
