#![allow(unused)]

use cora::prelude::*;

#[state(singleton, life = "1s")]
struct Answer {
    code: u16,
}

fn main() {}
