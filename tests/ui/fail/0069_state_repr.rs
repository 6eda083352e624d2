#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[repr(C, align(64))]
#[derive(Default)]
struct Pool {
    next: u16,
}

fn main() {}
