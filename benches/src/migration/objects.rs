//! Messages to the program `memtable`: those that add the blocks of a large table, one for each
//! other table, and then writes to all of them.

use crate::by_hand::Side;
use crate::keys::Skew;
use crate::traffic::{FRAME, Traffic};

use super::{DRAWS, ONE_OF, OTHERS};

/// Blocks of the large table, each with 2,020 bytes on its way: 32 MiB.
pub(super) const OBJECTS: u32 = 16_612;

/// Where the message begins in a frame.
const PAYLOAD: usize = 42;

/// The messages.
pub(super) fn traffic() -> Traffic {
    let mut bytes = Vec::new();
    (0..OBJECTS).for_each(|block| bytes.extend_from_slice(&put(0, block, 0)));
    (1..=u32::from(OTHERS)).for_each(|table| bytes.extend_from_slice(&put(table, 0, 0)));
    let warm = bytes.len() / FRAME;
    let of_which = Skew::Uniform.draws(ONE_OF, DRAWS, 7);
    let of_others = Skew::Uniform.draws(u64::from(OTHERS), DRAWS, 9);
    for (number, (which, other)) in of_which.into_iter().zip(of_others).enumerate() {
        let table = if which == 0 { 0 } else { 1 + other as u32 };
        bytes.extend_from_slice(&put(table, 0, number as u64));
    }
    Traffic::new(bytes, warm, Side::Inside)
}

/// A datagram with a message. Its UDP checksum is left out.
fn put(table: u32, block: u32, value: u64) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..34].copy_from_slice(&[
        0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 198, 18, 0, 1,
    ]);
    let sum = cora_core::packet::checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..PAYLOAD].copy_from_slice(&[0x13, 0x88, 0x1b, 0x58, 0, 26, 0, 0]);
    frame[PAYLOAD..46].copy_from_slice(&table.to_le_bytes());
    frame[46..50].copy_from_slice(&block.to_le_bytes());
    frame[50..52].copy_from_slice(&(value as u16).to_le_bytes());
    frame[52..60].copy_from_slice(&value.to_le_bytes());
    frame
}
