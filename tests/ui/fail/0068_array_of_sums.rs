#![allow(unused)]

use cora::prelude::*;

#[state(commutative)]
struct Counts {
    packets: [Sum; 16],
}

fn main() {}
