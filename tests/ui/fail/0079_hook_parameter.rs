#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", on_expire)]
struct Session {
    port: u16,
}

#[state(key = SourceAddress, capacity = 10, idle = "5m")]
struct Quota {
    sessions: u32,
}

#[on_expire]
fn forget(ended: &Ended<Session>, quotas: &mut Table<Quota>, out: &mut Outbox) {}

#[every("1m")]
fn sweep(tick: &Tick, quotas: &Table<Quota>) {}

fn main() {}
