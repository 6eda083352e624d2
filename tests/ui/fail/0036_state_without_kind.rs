#![allow(unused)]

use cora::prelude::*;

#[state]
struct Session {
    packets: u64,
}

fn main() {}
