//! Faults of a peer.

/// A fault of the peer: the session can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It sent more than was allowed.
    BeyondLimit,
    /// It acknowledges frames that were never sent.
    Unsent,
    /// A record is cut, or too long.
    BadRecord,
}
