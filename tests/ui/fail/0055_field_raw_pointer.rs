#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    next: *const u8,
}

fn main() {}
