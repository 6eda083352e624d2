#![allow(unused)]

use cora::prelude::*;

#[state(region, length = 1 << 31)]
struct Node {
    next: u64,
}

fn main() {}
