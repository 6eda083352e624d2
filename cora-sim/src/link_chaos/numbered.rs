//! Records with a number on the rings of a region: kind, length and bytes follow from it.

use std::sync::atomic::AtomicU64;

use cora_runtime::link::message::Kind;
use cora_runtime::link::region::{HashSeed, Identity, Region, RegionLayout, generation};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};

use super::lent::Lent;

/// Bytes of each ring.
pub(super) const RINGS: [usize; 4] = [1 << 12; 4];
pub(super) const PLAN: u64 = 7;
/// Most bytes of a record.
pub(super) const LONGEST: usize = 8 + 300;

pub(super) type Reads = Consumer<SharedMemory>;
pub(super) type Writes = Producer<SharedMemory>;

fn layout() -> Result<RegionLayout, String> {
    RegionLayout::new(RINGS).map_err(|error| format!("{error:?}"))
}

/// Memory for two regions.
pub(super) fn memory(lent: &mut Lent) -> Result<&'static [AtomicU64], String> {
    Ok(lent.lend(2 * layout()?.bytes() / 8))
}

/// Makes the region of this generation.
pub(super) fn make(file: &'static [AtomicU64], generation: u64) -> Result<Region, String> {
    let seed = HashSeed(3);
    let identity = Identity { plan: PLAN, generation, seed, resident: false, afresh: false };
    let place = generation::place(file, generation);
    let region = Region::create(place, &layout()?, identity);
    let region = region.map_err(|error| format!("no region: {error}"))?;
    generation::announce(file, generation);
    Ok(region)
}

/// Takes the next record, and checks its bytes.
pub(super) fn pop(ring: &mut Reads) -> Result<Option<u64>, String> {
    let mut buffer = [0; LONGEST];
    let popped = ring.pop(&mut buffer).map_err(|error| format!("a broken ring: {error}"))?;
    let Some(popped) = popped else { return Ok(None) };
    let (head, body) = buffer[..popped.len].split_first_chunk().ok_or("a record that is cut")?;
    let number = u64::from_le_bytes(*head);
    if popped.len != length(number) || body.iter().any(|byte| *byte != number as u8) {
        return Err(format!("record {number} has other bytes or another length"));
    }
    Ok(Some(number))
}

/// Writes a record, if there is room for it.
pub(super) fn push(ring: &mut Writes, kind: Kind, number: u64) -> bool {
    let mut record = [number as u8; LONGEST];
    record[..8].copy_from_slice(&number.to_le_bytes());
    ring.push(kind.number(), &[&record[..length(number)]]).is_ok()
}

const fn length(number: u64) -> usize {
    8 + (number.wrapping_mul(0x9e37_79b9) % 300) as usize
}
