#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Key)]
struct Tenant {
    number: u32,
}

fn main() {}
