#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool<'a> {
    mark: core::marker::PhantomData<&'a ()>,
}

fn main() {}
