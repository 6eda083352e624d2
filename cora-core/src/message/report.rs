//! What a side counted.

/// What one side counted, told at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets whose handlers ran to their end here.
    pub packets: u64,
    /// Packets taken back and sent to the host after a handler began here.
    pub punts: u64,
    /// Packets of flows that the host owns, passed on.
    pub passed_on: u64,
    /// Flows owned here at the end.
    pub flows: u64,
    /// Flows that came to be owned here.
    pub offloads: u64,
    /// Offers that did not become offloads: no room, or the flow changed meanwhile.
    pub declined: u64,
    /// Packets held while their flow moved.
    pub held: u64,
    /// Flows that went back to the host.
    pub released: u64,
    /// Bytes of entries sent to the other side.
    pub moved_bytes: u64,
    /// Nanoseconds spent with packets, not waiting.
    pub busy_ns: u64,
    /// Records on the rings between the sides, both ways.
    pub ring_records: u64,
}

impl Report {
    pub(crate) const WORDS: usize = 11;

    pub(crate) const fn words(&self) -> [u64; Self::WORDS] {
        [
            self.packets,
            self.punts,
            self.passed_on,
            self.flows,
            self.offloads,
            self.declined,
            self.held,
            self.released,
            self.moved_bytes,
            self.busy_ns,
            self.ring_records,
        ]
    }

    pub(crate) const fn from_words(words: [u64; Self::WORDS]) -> Self {
        let [packets, punts, passed_on, flows, offloads, declined, held, ..] = words;
        let [.., released, moved_bytes, busy_ns, ring_records] = words;
        Self {
            packets,
            punts,
            passed_on,
            flows,
            offloads,
            declined,
            held,
            released,
            moved_bytes,
            busy_ns,
            ring_records,
        }
    }
}
