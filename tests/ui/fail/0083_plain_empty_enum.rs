#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
enum Never {}

fn main() {}
