//! A `pub` handler, which other crates may use, with states of every visibility.

use cora::prelude::*;

#[state(key = FiveTuple, capacity = 10, idle = "1s")]
struct Private {
    packets: u64,
}

#[state(singleton)]
#[derive(Default)]
pub(crate) struct Ours {
    packets: u64,
}

#[flow_handler]
pub fn of_this_crate(
    packet: &mut Headers,
    private: &mut Table<Private>,
    ours: &mut Ours,
) -> Verdict {
    ours.packets += 1;
    private.insert(packet.five_tuple()?, Private { packets: 1 })?;
    Transmit
}

pub mod inner {
    use cora::prelude::*;

    #[state(singleton)]
    #[derive(Default)]
    pub struct Pool {
        next: u16,
    }

    #[flow_handler]
    pub fn of_all(_packet: &mut Headers, pool: &mut Pool) -> Verdict {
        pool.next += 1;
        Transmit
    }

    #[flow_handler]
    pub fn without_states(_packet: &mut Headers) -> Verdict {
        Transmit
    }
}

fn has<H: cora::__private::core::app::Handler>() -> &'static str {
    H::NAME
}

fn main() {
    assert_eq!(has::<__cora_of_this_crate>(), "of_this_crate");
    assert_eq!(has::<inner::__cora_of_all>(), "of_all");
    assert_eq!(has::<inner::__cora_without_states>(), "without_states");
}
