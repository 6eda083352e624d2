#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
fn next() {}

fn main() {}
