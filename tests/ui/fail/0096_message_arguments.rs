#![allow(unused)]

use cora::prelude::*;

#[message(tcp)]
struct Tcp {
    row: u64,
}

#[message(upd)]
struct Misspelt {
    row: u64,
}

#[message(parse, port = 7000)]
struct Inside {
    row: u64,
}

#[message(udp = 7000)]
struct Valued {
    row: u64,
}

#[message(udp, port = 70_000)]
struct Port {
    row: u64,
}

#[message(key = u64)]
struct Keyed {
    row: u64,
}

#[message("udp")]
struct Quoted {
    row: u64,
}

fn main() {}
