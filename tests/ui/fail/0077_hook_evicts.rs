#![allow(unused)]

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "5m", assured_by = Self::is_answered, on_expire)]
struct Session {
    answered: bool,
}

impl Session {
    fn is_answered(&self) -> bool {
        self.answered
    }
}

fn main() {}
