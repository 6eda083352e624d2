//! Where records go.

/// Where records arrive.
pub trait Destination {
    /// How many more frames with so many bytes of records fit, whatever their records are, beside a
    /// record of [`LONGEST_RECORD`](crate::LONGEST_RECORD) that goes on from frame to frame.
    fn frames(&mut self, bytes: usize) -> u64;
    /// Takes a record, for which there is room.
    fn take(&mut self, kind: u16, record: &[u8]);
}

/// Where records of no session would arrive.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Destination for Nowhere {
    fn frames(&mut self, _: usize) -> u64 {
        0
    }

    fn take(&mut self, _: u16, _: &[u8]) {}
}
