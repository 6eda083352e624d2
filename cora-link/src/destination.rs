//! Where records go.

/// Where records arrive.
pub trait Destination {
    /// How many more frames with so many bytes of records fit, whatever their records are, beside a
    /// record of [`LONGEST_RECORD`](crate::LONGEST_RECORD) that goes on from frame to frame.
    fn frames(&mut self, bytes: usize) -> u64;
    /// Takes a record, for which there is room.
    fn take(&mut self, kind: u16, record: &[u8]);
}
