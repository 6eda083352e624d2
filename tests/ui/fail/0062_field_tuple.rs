#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    range: (u16, u16),
}

fn main() {}
