#![allow(unused)]

use cora::prelude::*;

#[message]
union Ask {
    row: u64,
    column: u32,
}

fn main() {}
