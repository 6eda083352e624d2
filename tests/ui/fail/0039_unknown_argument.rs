#![allow(unused)]

use cora::prelude::*;

#[state(singleton, colour = "red")]
#[derive(Default)]
struct Ports {
    next: u16,
}

fn main() {}
