#![allow(unused)]

use cora::prelude::*;

#[message]
#[message(udp)]
struct Ask {
    row: u64,
}

fn main() {}
