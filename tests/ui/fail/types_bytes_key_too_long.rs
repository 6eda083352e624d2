#![allow(unused)]

use cora::prelude::*;

fn main() {
    Bytes::<39>::EMPTY.words();
}
