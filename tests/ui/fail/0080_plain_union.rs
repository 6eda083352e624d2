#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
union Amount {
    packets: u32,
    bytes: u64,
}

fn main() {}
