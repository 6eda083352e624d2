#![allow(unused)]

use cora::prelude::*;

#[state(singleton, commutative)]
struct Counts {
    packets: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { packets: 0 }
    }
}

fn main() {}
