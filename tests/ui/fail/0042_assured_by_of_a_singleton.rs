#![allow(unused)]

use cora::prelude::*;

#[state(singleton, assured_by = Self::is_assured)]
#[derive(Default)]
struct Ports {
    next: u16,
}

fn main() {}
