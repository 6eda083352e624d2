#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
enum Class {
    Near,
    Far,
}

#[state(prefixes, capacity = 1_000)]
struct Region {
    class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Place {
    rack: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Port {
    place: Place,
}

#[state(map, key = Port, capacity = 1_000)]
struct Host {
    vlan: u16,
}

fn main() {}
