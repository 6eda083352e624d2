#![allow(unused)]

use cora::prelude::*;

#[state(singleton, within = FiveTuple)]
#[derive(Default)]
struct Quota {
    bytes: u64,
}

fn main() {}
