#![allow(unused)]

use cora::prelude::*;

#[state(singleton, life = "1s")]
#[derive(Default)]
struct Answer {
    code: u16,
}

fn main() {}
