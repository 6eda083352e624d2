#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", on_expire)]
struct Session {
    port: u16,
}

#[on_expire]
fn without() {}

#[on_expire]
fn by_value(ended: Ended<Session>) {}

#[on_expire]
fn packet(packet: &mut Packet) {}

#[on_expire]
fn mutable(ended: &mut Ended<Session>) {}

#[on_expire]
fn of_what(ended: &Ended) {}

fn main() {}
