#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", on_expire)]
struct Session {
    port: u16,
}

#[on_expire]
fn give_back(ended: &Ended<Session>) -> Verdict {
    Transmit
}

#[on_expire(Session)]
async fn count(ended: &Ended<Session>) {}

#[on_expire]
struct Hook;

fn main() {}
