#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Next(u16);

fn main() {}
