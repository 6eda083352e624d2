#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
enum Mode {
    On,
    Off,
}

fn main() {}
