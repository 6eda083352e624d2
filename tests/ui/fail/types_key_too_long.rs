#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Name {
    text: [u8; 64],
}

fn main() {}
