#![allow(unused)]

use cora::prelude::*;

#[state(region)]
struct Node {
    next: u64,
}

fn main() {}
