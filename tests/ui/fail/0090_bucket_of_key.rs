#![allow(unused)]

use cora::prelude::*;

#[state(key = SourceAddress, capacity = 10, idle = "5m", bucket = InsidePort)]
struct Client {
    packets: u64,
}

#[state(key = FiveTuple, capacity = 10, idle = "5m", bucket = InsidePort)]
struct OneWay {
    packets: u64,
}

#[state(key = FiveTuple, reply, within = InsideAddress, capacity = 10, idle = "5m", bucket = OutsidePort)]
struct Grouped {
    packets: u64,
}

#[state(key = FiveTuple, reply, capacity = 10, idle = "5m", bucket = Port)]
struct Vague {
    packets: u64,
}

#[state(per = Core)]
struct Pool {
    next: u16,
}

impl From<Bucket> for Pool {
    fn from(_: Bucket) -> Self {
        Self { next: 0 }
    }
}

#[state(singleton, per = Bucket, bucket = InsidePort)]
#[derive(Default)]
struct Both {
    next: u16,
}

#[state(prefixes, capacity = 10, services = Self::ends)]
struct Route {
    port: u8,
}

#[state(map, key = SourceAddress, capacity = 10, services = "ends")]
struct Service {
    port: u8,
}

fn main() {}
