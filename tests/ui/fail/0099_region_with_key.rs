#![allow(unused)]

use cora::prelude::*;

#[state(region, key = u64, length = 16)]
struct Node {
    next: u64,
}

fn main() {}
