#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
struct Firewall;

fn main() {}
