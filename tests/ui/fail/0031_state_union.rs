#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
union Word {
    whole: u32,
    bytes: [u8; 4],
}

fn main() {}
