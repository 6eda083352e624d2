#![allow(unused)]

use cora::prelude::*;

#[message]
fn ask() {}

fn main() {}
