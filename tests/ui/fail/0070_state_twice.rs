#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[state(singleton)]
#[derive(Default)]
struct Pool {
    next: u16,
}

fn main() {}
