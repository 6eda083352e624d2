//! The layout of replica memory, which contains the replicas ([`shared`]). Entries that another
//! build left in its own memory are carried over before the first packet.

use std::sync::atomic::{AtomicU64, Ordering};

use cora_core::app::App;
use cora_runtime::durability::waiting::ENDED;
use cora_runtime::durability::{Holder, Replica, ReplicaStore as _};

use crate::RunError;
use crate::durability::layout::{Conversion, Layout};
use crate::durability::shared;
use crate::durability::shared::singletons::Sized;
use crate::durability::shared::{Shape, SharedReplicas};
use crate::process::log::{self, Part};

/// Words before the replicas, with the layout of their entries as text. The first one is its length
/// in bytes, set once the replicas are complete.
const LAYOUT_WORDS: usize = 1024;

/// Upper bound of the replica memory in bytes for durable entries of both halves. Unused parts cost
/// only address space.
pub(crate) fn replica_bytes<A: App>(app: &mut A, layout: &Layout) -> usize {
    let capacities = layout.tables().filter_map(|state| {
        let table = app.state(state.into()).as_travelling()?;
        // As many may have ended, and wait for their hooks.
        let hooked = u32::from(table.as_hooked().is_some());
        Some(table.capacity() * (1 + hooked))
    });
    bytes_for(capacities, layout)
}

/// The same for tables of these capacities. Each half holds up to that many entries: the host has
/// space for all that return from the NIC.
fn bytes_for(capacities: impl Iterator<Item = u32>, layout: &Layout) -> usize {
    let singletons = layout.singletons();
    let copies = 2 * capacities.map(|capacity| capacity as usize).sum::<usize>();
    let bytes = shared::bytes(copies, shape(layout, &singletons));
    (LAYOUT_WORDS * 8 + bytes).next_multiple_of(4096)
}

fn shape<'a>(layout: &Layout, singletons: &'a [Sized]) -> Shape<'a> {
    Shape { entry: layout.longest(), group: layout.group(), singletons }
}

/// The names of singletons with a damaged replica in this memory.
pub(crate) fn damaged(words: &'static [AtomicU64], layout: &Layout) -> Vec<String> {
    let (_, copies) = words.split_at(LAYOUT_WORDS.min(words.len()));
    let singletons = layout.singletons();
    let damaged = shared::damaged(copies, shape(layout, &singletons));
    damaged.into_iter().map(|number| layout.singleton(number).to_owned()).collect()
}

/// Replicas of durable entries and singletons, as a host finds them.
pub(crate) struct Opened {
    pub(crate) copies: SharedReplicas,
    /// Entries carried over from the previous program.
    pub(crate) carried: u64,
    /// Entry replicas with a wrong checksum.
    pub(crate) damaged: u64,
}

/// Opens the replicas in this memory. Those in the previous memory are carried over, if that was
/// not done yet.
pub(crate) fn open_replicas(
    words: &'static [AtomicU64],
    before: Option<&'static [AtomicU64]>,
    layout: &Layout,
    app: &mut impl App,
) -> Result<Opened, RunError> {
    let (head, slots) = words.split_at(LAYOUT_WORDS.min(words.len()));
    let mut copies = SharedReplicas::open(slots, shape(layout, &layout.singletons()));
    let (mut carried, mut damaged) = (0, copies.damaged);
    if read_layout(head).is_some() {
        return Ok(Opened { copies, carried, damaged });
    }
    if let Some(before) = before {
        let (old_head, old_slots) = before.split_at(LAYOUT_WORDS.min(before.len()));
        let old = read_layout(old_head).unwrap_or_default();
        let conversion = layout.conversion(&old).map_err(RunError::OtherEntries)?;
        let singletons = old.singletons();
        let open =
            if old.commits { SharedReplicas::open } else { SharedReplicas::open_uncommitted };
        let from = open(old_slots, shape(&old, &singletons));
        damaged += from.damaged;
        if let Some(number) = from.damaged_singletons().first() {
            let why = RunError::Damaged(old.singleton(*number).to_owned());
            log::error(Part::Host, format_args!("nothing is carried over: {why}"));
            write_layout(head, layout);
            return Ok(Opened { copies, carried, damaged });
        }
        for (number, bytes) in singletons {
            carry_singleton(&from, (number, bytes), &conversion, &mut copies);
        }
        for holder in [Holder::Host, Holder::Nic, Holder::Unsure] {
            from.each(holder, None, &mut |copy| {
                if let Some((state, piece)) =
                    conversion.entry(copy.state & !ENDED, copy.piece, |state, value, to| {
                        app.described(usize::from(state)).convert(value, to)
                    })
                {
                    let state = state | copy.state & ENDED;
                    carried += u64::from(copies.keep(&Replica { state, piece: &piece, ..*copy }));
                }
            });
        }
    }
    write_layout(head, layout);
    Ok(Opened { copies, carried, damaged })
}

/// Carries the replica of a singleton over, if there is one.
fn carry_singleton(
    from: &SharedReplicas,
    (number, bytes): Sized,
    conversion: &Conversion,
    to: &mut SharedReplicas,
) {
    let mut value = Vec::with_capacity(bytes);
    if from.parts(number, &mut |_, part| value.extend(part))
        && let Some((number, value)) = conversion.entry(number, &value, |_, _, _| false)
    {
        to.begin();
        to.keep_part(number, 0, &value);
        to.commit();
    }
}

fn read_layout(head: &[AtomicU64]) -> Option<Layout> {
    let (length, words) = head.split_first()?;
    let length = length.load(Ordering::Acquire) as usize;
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    serde_json::from_slice(bytes.get(..length).filter(|text| !text.is_empty())?).ok()
}

fn write_layout(head: &[AtomicU64], layout: &Layout) {
    let text = serde_json::to_vec(layout).unwrap_or_default();
    let Some((length, words)) = head.split_first() else { return };
    for (word, bytes) in words.iter().zip(text.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
    }
    length.store(text.len() as u64, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::shared::store::memory;

    /// A few long entries, and many short ones.
    #[test]
    fn there_is_a_copy_for_each_entry_of_both_halves() {
        let state = |number: u16, entry: usize| {
            serde_json::json!({
                "name": number.to_string(), "number": number, "key": 4, "entry": entry, "value": entry - 4,
                "fields": [],
            })
        };
        let states = [(0, 200), (1, 20)];
        let told = serde_json::json!({
            "group": 4, "states": states.map(|(number, entry)| state(number, entry)),
        });
        let layout: Layout = serde_json::from_value(told).expect("a layout");
        let capacities = [10, 1000];
        let bytes = bytes_for(capacities.into_iter(), &layout);
        let shape = shape(&layout, &[]);
        let mut copies = SharedReplicas::open(memory(bytes / 8 - LAYOUT_WORDS), shape);
        for ((state, entry), capacity) in states.into_iter().zip(capacities) {
            for number in 0..2 * capacity {
                let mut piece = vec![0; entry];
                piece[..4].copy_from_slice(&number.to_le_bytes());
                let holder = Holder::Nic;
                let key = &piece[..4];
                let copy = Replica { state, holder, group: key, key, piece: &piece };
                assert!(copies.keep(&copy), "entry {number} of state {state}");
            }
        }
    }
}
