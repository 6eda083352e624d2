#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default, Plain)]
struct Pool {
    next: u16,
}

fn main() {}
