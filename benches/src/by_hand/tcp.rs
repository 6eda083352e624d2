//! The states of a TCP connection as in `cora_core::conntrack`: the meaning of a segment, then one
//! table look-up.

pub(crate) const NEW: u8 = 0;
pub(crate) const SYN_SENT: u8 = 1;
pub(crate) const ESTABLISHED: u8 = 4;
#[cfg(test)]
pub(crate) const FIN_WAIT: u8 = 5;
const TIME_WAIT: u8 = 8;
const CLOSED: u8 = 9;
/// Entry of the tables for a segment that is refused.
const REFUSED: u8 = u8::MAX;
const NO: u8 = REFUSED;

/// The state after a segment of the opener, by state and meaning: SYN, SYN+ACK, FIN, ACK, RST.
const ORIGINAL: [[u8; 5]; 10] = [
    [1, NO, NO, NO, NO],
    [1, NO, NO, NO, 9],
    [2, 3, NO, NO, 9],
    [3, 3, 5, 4, 9],
    [4, 4, 5, 4, 9],
    [5, 5, 7, 6, 9],
    [6, 6, 7, 6, 9],
    [7, 7, 7, 8, 9],
    [1, 8, 8, 8, 9],
    [1, 9, 9, 9, 9],
];

/// The state after a segment of the other end.
const REPLY: [[u8; 5]; 10] = [
    [NO, NO, NO, NO, NO],
    [2, 3, NO, 1, 9],
    [2, 3, NO, 2, 9],
    [NO, 3, 5, 3, 9],
    [NO, 4, 5, 4, 9],
    [NO, 5, 7, 6, 9],
    [NO, 6, 7, 6, 9],
    [NO, 7, 7, 8, 9],
    [NO, 8, 8, 8, 9],
    [NO, 9, 9, 9, 9],
];

/// Returns the meaning of a segment, as a column of the tables; `None` for invalid flags.
const fn meaning(flags: u8) -> Option<usize> {
    // ACK, RST, SYN and FIN; the other flags do not change the connection.
    match flags & 0x17 {
        0x02 => Some(0),
        0x12 => Some(1),
        0x11 => Some(2),
        0x10 => Some(3),
        0x04 | 0x14 => Some(4),
        _ => None,
    }
}

/// Returns the state after a connection's first segment, which is a SYN.
#[inline]
pub(crate) const fn open(flags: u8) -> Option<u8> {
    match meaning(flags) {
        Some(0) => Some(SYN_SENT),
        _ => None,
    }
}

/// Returns the state after a first SYN, or after an ACK of a connection with an unseen start.
#[inline]
pub(crate) const fn pick_up(flags: u8) -> Option<u8> {
    match meaning(flags) {
        Some(3) => Some(ESTABLISHED),
        _ => open(flags),
    }
}

/// Returns the state after another segment; `None` if it is out of place.
#[inline]
pub(crate) fn advance(state: u8, flags: u8, original: bool) -> Option<u8> {
    // The case of nearly all segments.
    if state == ESTABLISHED && flags & 0x17 == 0x10 {
        return Some(ESTABLISHED);
    }
    let moves = if original { &ORIGINAL } else { &REPLY };
    let state = moves.get(usize::from(state))?[meaning(flags)?];
    (state != REFUSED).then_some(state)
}

/// Returns whether the connection is over.
#[inline]
pub(crate) const fn is_closed(state: u8) -> bool {
    matches!(state, TIME_WAIT | CLOSED)
}
