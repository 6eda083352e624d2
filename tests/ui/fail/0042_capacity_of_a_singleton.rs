#![allow(unused)]

use cora::prelude::*;

#[state(singleton, capacity = 10)]
#[derive(Default)]
struct Ports {
    next: u16,
}

fn main() {}
