#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
#[repr(u16)]
enum Mode {
    Off,
    On = 256,
}

fn main() {}
