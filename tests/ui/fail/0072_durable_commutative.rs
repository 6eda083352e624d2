#![allow(unused)]

use cora::prelude::*;

#[state(commutative, durable)]
struct Kept {
    packets: Sum,
}

fn main() {}
