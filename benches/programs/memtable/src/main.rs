//! # memtable: 32 MiB of objects that move with their flow
//!
//! To measure the cost of a large move, not to copy. A table has blocks of 2 KiB in objects, as the
//! memtable of a log-structured merge tree has them: the first messages add blocks, and later ones
//! change those that are there. Each change makes the block's checksum anew, which it has on disk,
//! too: so a message costs some microseconds, as those of actors do.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Bytes of a block behind its head.
const BLOCK: usize = 1_992;

/// A write to one block of a table.
#[message(udp)]
struct Put {
    #[key]
    table: u32,
    block: u32,
    at: u16,
    value: u64,
}

/// A table: its blocks hang on each other in a ring, and the latest is at hand.
#[state(key = u32, capacity = 8_192, idle = "1h")]
struct Memtable {
    blocks: u32,
    latest: Id<Block>,
}

/// A block.
#[state(objects, bytes = "48 MiB", capacity = 8_192, idle = "1h")]
struct Block {
    next: Id<Self>,
    number: u32,
    checksum: u64,
}

/// The checksum of a block's bytes (64-bit FNV-1a).
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Adds a block, or writes to the next one. The datagram goes on, and is counted where it leaves.
#[flow_handler]
fn put(put: Put, tables: &mut Table<Memtable>, blocks: &mut Objects<Block>) -> Verdict {
    let table = tables.get_or_insert(put.table, Memtable { blocks: 0, latest: Id::NONE })?;
    if table.blocks <= put.block {
        let first = blocks.get(table.latest).map_or(Id::NONE, |latest| latest.head.next);
        let added = blocks.insert(Block { next: first, number: put.block, checksum: 0 }, BLOCK)?;
        if first.is_none() {
            if let Some(block) = blocks.get_mut(added) {
                block.head.next = added;
            }
        } else if let Some(latest) = blocks.get_mut(table.latest) {
            latest.head.next = added;
        }
        table.latest = added;
        table.blocks += 1;
        return Transmit;
    }
    let next = blocks.get(table.latest).map_or(Id::NONE, |latest| latest.head.next);
    if let Some(block) = blocks.get_mut(next) {
        let at = usize::from(put.at) % (BLOCK - 8);
        block.bytes[at..at + 8].copy_from_slice(&put.value.to_le_bytes());
        block.head.checksum = checksum(&block.bytes);
    }
    table.latest = next;
    Transmit
}

cora::app!(put);
