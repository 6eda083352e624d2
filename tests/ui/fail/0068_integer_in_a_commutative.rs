#![allow(unused)]

use cora::prelude::*;

#[state(commutative)]
struct Counts {
    packets: u64,
    longest: Max,
    each: [u32; 8],
}

fn main() {}
