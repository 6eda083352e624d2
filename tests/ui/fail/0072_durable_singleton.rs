#![allow(unused)]

use cora::prelude::*;

#[state(singleton, durable)]
#[derive(Default)]
struct Kept {
    next: u16,
}

fn main() {}
