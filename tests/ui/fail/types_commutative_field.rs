#![allow(unused)]

use cora::prelude::*;

#[state(commutative)]
struct Counts {
    flow: FiveTuple,
}

fn main() {}
