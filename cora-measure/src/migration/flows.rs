//! The flow of each frame of some traffic.

use std::collections::HashMap;

use cora_core::key::PacketKey;
use cora_host::RunError;
use cora_runtime::exec::burst::BURST_BYTES;

use crate::traffic::Traffic;

/// Flows, numbered as they come.
pub(super) struct FlowsOf<K> {
    /// The key of each.
    pub(super) groups: Vec<K>,
    /// The number of each frame's flow.
    pub(super) of_frame: Vec<u32>,
}

impl<K: PacketKey> FlowsOf<K> {
    pub(super) fn new(traffic: &Traffic) -> Result<Self, RunError> {
        let (mut groups, mut numbers) = (Vec::new(), HashMap::new());
        let mut of_frame = Vec::with_capacity(traffic.len());
        traffic.replay(0, &mut vec![0; BURST_BYTES], |burst| {
            burst.parse();
            for arrival in burst.arrivals() {
                // A packet without a key would count for the first flow; such traffic is not
                // measured here.
                let Ok(key) = K::of_packet(&arrival.packet) else {
                    of_frame.push(0);
                    continue;
                };
                let number = *numbers.entry(key.words()).or_insert_with(|| {
                    groups.push(key);
                    groups.len() as u32 - 1
                });
                of_frame.push(number);
            }
            Ok(())
        })?;
        Ok(Self { groups, of_frame })
    }
}
