#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
#[derive(Default)]
struct S0 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S1 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S2 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S3 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S4 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S5 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S6 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S7 {
    n: u8,
}

#[state(singleton)]
#[derive(Default)]
struct S8 {
    n: u8,
}

#[flow_handler]
#[rustfmt::skip]
fn greedy(
    packet: &mut Packet, a: &mut S0, b: &mut S1, c: &mut S2, d: &mut S3, e: &mut S4,
    f: &mut S5, g: &mut S6, h: &mut S7, i: &mut S8,
) -> Verdict {
    Transmit
}

fn main() {}
