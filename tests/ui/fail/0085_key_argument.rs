#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Key)]
#[key(both)]
struct Tenant {
    number: u32,
}

fn main() {}
