//! The counts of a half, as its counters had them.

use std::collections::BTreeMap;

use cora_core::outcome::OTHER;
use cora_runtime::telemetry::Read;

/// The most that is believed of a half's count: some years of packets. So no sum overflows.
pub(crate) const MOST: u64 = 1 << 48;

/// The counts of a half. A NIC half may count anything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Packets and messages by outcome.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Words with the counts of handlers of messages.
    pub(crate) took: Vec<u64>,
}

impl Counted {
    /// The counts in these counters.
    pub(crate) fn of(read: &Read) -> Self {
        let mut outcomes = BTreeMap::new();
        read.each_outcome(&mut |name, count| {
            let is_name = |byte: &u8| byte.is_ascii_graphic();
            let name = if name.iter().all(is_name) { name } else { OTHER.as_bytes() };
            let name = String::from_utf8_lossy(name).into_owned();
            let sum: &mut u64 = outcomes.entry(name).or_default();
            *sum = sum.saturating_add(count.min(MOST));
        });
        Self { outcomes, took: read.took().iter().map(|word| *word.min(&MOST)).collect() }
    }
}
