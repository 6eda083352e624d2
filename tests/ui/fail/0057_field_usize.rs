#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    next: usize,
    steps: [isize; 4],
}

fn main() {}
