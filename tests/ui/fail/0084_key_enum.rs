#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Key)]
enum Zone {
    Office,
    Guests,
}

fn main() {}
