#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Meter {
    rate: f64,
}

fn main() {}
