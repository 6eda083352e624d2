#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    packets: Sum,
}

fn main() {}
