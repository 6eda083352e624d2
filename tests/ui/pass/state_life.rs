//! When entries end by themselves.

use core::time::Duration;
use cora::prelude::*;

/// An answer is of use for a while.
#[state(key = SourceAddress, capacity = 1_000, idle = "never", life = "30s")]
struct Answer {
    code: u16,
}

/// Seldom used ones end sooner.
#[state(key = FiveTuple, reply, capacity = 1_000, idle = "5s", life = "30s", durable, on_expire)]
struct Cached {
    code: u16,
}

/// Handlers alone end a lease.
#[state(key = FiveTuple, reply, capacity = 1_000, idle = "never")]
struct Lease {
    port: u16,
}

/// Some stay, others end.
#[state(key = MacPair, capacity = 1_000, idle = "never", idle_by = Self::idle, on_expire)]
struct Station {
    stays: bool,
}

impl Station {
    fn idle(&self) -> Duration {
        if self.stays { Duration::MAX } else { Duration::from_secs(300) }
    }
}

fn main() {}
