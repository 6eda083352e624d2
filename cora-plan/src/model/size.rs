//! Bytes of a state, as far as its declaration shows them.
//!
//! The compiler knows them exactly, but a plan is made before anything is compiled. Cora's types
//! and the number types are known by name. Any other type counts as [`UNKNOWN`] bytes, and
//! [`unknown`] lists it.

use std::collections::BTreeMap;

use crate::graph::{Keyed, MessageNode, StateNode};
use crate::vocabulary::Kind;

/// Bytes of a type with an unknown name.
pub const UNKNOWN: f64 = 8.0;

/// Elements of an array with a name as its length, because constants are not resolved.
pub const UNKNOWN_ELEMENTS: f64 = 1024.0;

/// Bytes of an entry besides its keys and value: time of use, links of the wheel and of its flow's
/// list (`cora-core/src/state/table/entry.rs`: a five-tuple and a value of 17 bytes are one line).
const ENTRY_OVERHEAD: f64 = 10.0;

/// Bytes of the time of an entry's insertion, which stands before its value if it has a `life`.
const INSERTED: f64 = 8.0;

/// Keys in a line of the index at the stated capacity: ten slots, 0.85 full
/// (`cora-core/src/state/table/index.rs`).
const KEYS_PER_LINE: f64 = 8.5;

/// Bytes before the fields of a message: addresses of nobody, hops, type and asker
/// (`cora-core/src/message/sent.rs`).
const MESSAGE_HEAD: f64 = 68.0;

/// Bytes of a cache line.
pub(super) const LINE: f64 = 64.0;

/// Lines of one entry of a keyed state in memory; 0 for other kinds.
pub fn entry_lines(state: &StateNode) -> f64 {
    let Some(keyed) = &state.keyed else { return 0.0 };
    let key = key_bytes(keyed);
    // The reply key of an entry follows from its key, unless handlers choose it.
    let keys = if keyed.translates() { 2.0 } else { 1.0 };
    let bytes = keys * key + value(state) + ENTRY_OVERHEAD;
    (bytes / LINE).ceil()
}

/// Keys of an entry, each with a slot in the index.
pub fn keys(state: &StateNode) -> f64 {
    match &state.keyed {
        Some(keyed) if keyed.reply => 2.0,
        Some(_) => 1.0,
        None => 0.0,
    }
}

/// Lines of a keyed state's index.
pub fn index_lines(state: &StateNode) -> f64 {
    let capacity = state.keyed.as_ref().map_or(0, |keyed| keyed.capacity);
    (keys(state) * capacity as f64 / KEYS_PER_LINE).ceil()
}

/// Bytes of one entry of a keyed state, with its part of the index; 0 for other kinds.
pub fn entry(state: &StateNode) -> f64 {
    (entry_lines(state) + keys(state) / KEYS_PER_LINE) * LINE
}

/// Bytes of the whole state; a keyed one counts all entries and their index, one with objects the
/// memory that they may take, and a region all its items.
pub fn whole(state: &StateNode) -> f64 {
    if let Some(objects) = &state.objects {
        return objects.bytes as f64;
    }
    if let Some(region) = &state.region {
        return region.length as f64 * value(state);
    }
    match (&state.keyed, state.kind) {
        (Some(keyed), Kind::Keyed) => {
            (entry_lines(state) * keyed.capacity as f64 + index_lines(state)) * LINE
        }
        // This side's replica, the two merges that are read, and the next one.
        _ if state.merged => 4.0 * value(state),
        _ => value(state),
    }
}

/// Bytes that cross when an entry moves. Of objects, an equal part of the memory for each flow.
pub fn moved(state: &StateNode) -> f64 {
    let key = state.keyed.as_ref().map_or(UNKNOWN, key_bytes);
    if let (Some(objects), Some(keyed)) = (&state.objects, &state.keyed) {
        return key + objects.bytes as f64 / keyed.capacity.max(1) as f64;
    }
    key + value(state)
}

/// The same, and nothing for states without entries.
pub(super) fn moved_if_keyed(state: &StateNode) -> f64 {
    if state.keyed.is_some() { moved(state) } else { 0.0 }
}

/// Bytes of a message as it crosses: its fields behind the head that names its type and the asker.
/// Of an enum, those of the longest variant.
pub(super) fn message(message: &MessageNode) -> f64 {
    let mut variants: BTreeMap<&str, f64> = BTreeMap::new();
    for field in &message.fields {
        let variant = field.name.split_once("::").map_or("", |(variant, _)| variant);
        *variants.entry(variant).or_default() += of_type(&field.type_text).unwrap_or(UNKNOWN);
    }
    MESSAGE_HEAD + variants.into_values().fold(0.0, f64::max)
}

/// Bytes of a key as entries store it: with the group that it is within.
fn key_bytes(keyed: &Keyed) -> f64 {
    let bytes = |name: &String| named(name).unwrap_or(UNKNOWN);
    bytes(&keyed.key) + keyed.within.as_ref().map_or(0.0, bytes)
}

/// Unknown types of a state's fields.
pub fn unknown(state: &StateNode) -> Vec<&str> {
    let fields = state.fields.iter().map(|field| field.type_text.as_str());
    fields.filter(|text| of_type(text).is_none()).collect()
}

fn value(state: &StateNode) -> f64 {
    let has_life = state.keyed.as_ref().is_some_and(|keyed| keyed.life_ns.is_some());
    let fields = state.fields.iter().map(|field| of_type(&field.type_text).unwrap_or(UNKNOWN));
    fields.sum::<f64>() + if has_life { INSERTED } else { 0.0 }
}

/// Bytes of a type as written; `None` if a part of it is unknown.
fn of_type(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (element, length) = inner.rsplit_once(';')?;
        return Some(of_type(element)? * number(length)?);
    }
    let (name, arguments) = match text.split_once('<') {
        Some((name, rest)) => (name, rest.trim_end_matches('>').split(',').collect()),
        None => (text, Vec::new()),
    };
    match (name.rsplit("::").next()?.trim(), arguments.as_slice()) {
        ("CountMin", [rows, columns]) => Some(8.0 * number(rows)? * number(columns)?),
        // One sketch for each of four prefix lengths.
        ("HeavyPrefixes", [rows, columns, _]) => Some(32.0 * number(rows)? * number(columns)?),
        ("Sums" | "Maxima", [length]) => Some(8.0 * number(length)?),
        ("TopK", [key, length]) => Some((of_type(key)? + 8.0) * number(length)?),
        ("Latest", [key, value, sets]) => {
            Some(4.0 * (of_type(key)? + of_type(value)? + 8.0) * number(sets)?)
        }
        // Its length, and its bytes.
        ("Bytes", [length]) => Some(2.0 + number(length)?),
        ("Id", [_]) => Some(8.0),
        ("Option", [inner]) => Some(1.0 + of_type(inner)?),
        (name, []) => named(name),
        _ => None,
    }
}

fn named(name: &str) -> Option<f64> {
    Some(match name {
        "u8" | "i8" | "bool" | "Port" | "TcpState" => 1.0,
        "u16" | "i16" => 2.0,
        "u32" | "i32" | "f32" | "Ipv4Addr" => 4.0,
        "u64" | "i64" | "f64" | "Sum" | "Max" => 8.0,
        "u128" | "i128" | "Address" | "SourceAddress" | "DestinationAddress" | "InsideAddress" => {
            16.0
        }
        "FiveTuple" => 37.0,
        "One" => 0.0,
        _ => return None,
    })
}

/// A length as written; a name counts as [`UNKNOWN_ELEMENTS`].
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '_').collect();
        return digits.replace('_', "").parse().ok();
    }
    (!text.is_empty()).then_some(UNKNOWN_ELEMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Objects;
    use crate::sample;

    #[test]
    fn objects_take_the_memory_that_is_theirs() {
        let table = sample::state("Node", Kind::Keyed, Some("u32"), "u64");
        let objects = Some(Objects { bytes: 32 << 20 });
        let node = StateNode { objects, ..table.clone() };
        assert!((whole(&node) - f64::from(32 << 20)).abs() < 0.5);
        let key = key_bytes(table.keyed.as_ref().unwrap());
        assert!((moved(&node) - key - 512.0).abs() < 0.5);
        assert!(moved(&node) > moved(&table));
        let keyed = node.keyed.as_ref().unwrap();
        assert_eq!(node.objects.as_ref().unwrap().summary(keyed), "32 MiB, 65,536 flows, idle 5m");
    }

    #[test]
    fn types_of_cora_and_numbers_are_known() {
        for (text, bytes) in [
            ("u64", Some(8.0)),
            ("[u32; 32_768]", Some(131_072.0)),
            ("[[u8; 4]; 2usize]", Some(8.0)),
            ("[u32; PORTS]", Some(4.0 * UNKNOWN_ELEMENTS)),
            ("CountMin<4, 65_536>", Some(2_097_152.0)),
            ("TopK<FiveTuple, 16>", Some(720.0)),
            ("HeavyPrefixes<4, 1024, 100>", Some(131_072.0)),
            ("Latest<SourceAddress, u8, 16>", Some(1_600.0)),
            ("cora::Address", Some(16.0)),
            ("core::net::Ipv4Addr", Some(4.0)),
            ("Bytes<23>", Some(25.0)),
            ("[Id<Node>; 4]", Some(32.0)),
            ("Mine", None),
            ("Vec<u8>", None),
        ] {
            assert_eq!(of_type(text), bytes, "{text}");
        }
    }
}
