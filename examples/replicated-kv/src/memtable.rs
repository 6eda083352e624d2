//! The memtable: a skip list of names in objects of the group. It has the writes since the last
//! flush, deletions included.

use cora::prelude::*;

use crate::wire::Name;

/// Lists above each other: each has a quarter of the names of the one below.
const LEVELS: usize = 4;

/// The first line at each level, and the number of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct List {
    first: [Id<Line>; LEVELS],
    pub names: u32,
}

impl List {
    /// Without a line.
    pub const EMPTY: Self = Self { first: [Id::NONE; LEVELS], names: 0 };
}

/// The head of a line; name and value stand behind it.
#[state(objects, bytes = "32 MiB", capacity = 1_024, idle = "never")]
#[derive(PartialEq, Eq, Debug)]
pub struct Line {
    next: [Id<Self>; LEVELS],
    levels: u8,
    name: u8,
    /// The name was deleted.
    pub is_gone: bool,
    /// The slot of the command that wrote it.
    pub slot: u64,
}

impl Line {
    /// In no list.
    pub const ANCHOR: Self =
        Self { next: [Id::NONE; LEVELS], levels: 0, name: 0, is_gone: true, slot: 0 };
}

/// The line behind another one, or the first one.
fn next(list: &List, lines: &Objects<Line>, at: Id<Line>, level: usize) -> Id<Line> {
    if at.is_none() {
        return list.first[level];
    }
    lines.get(at).map_or(Id::NONE, |line| line.head.next[level])
}

/// The name of a line.
pub fn name_of(line: &Object<Line>) -> &[u8] {
    line.bytes.get(..usize::from(line.head.name)).unwrap_or_default()
}

/// The value of a line.
pub fn value_of(line: &Object<Line>) -> &[u8] {
    line.bytes.get(usize::from(line.head.name)..).unwrap_or_default()
}

/// The last line before a name, at each level.
fn before(list: &List, lines: &Objects<Line>, name: &[u8]) -> [Id<Line>; LEVELS] {
    let mut path = [Id::NONE; LEVELS];
    let mut at = Id::NONE;
    for level in (0..LEVELS).rev() {
        loop {
            let behind = next(list, lines, at, level);
            match lines.get(behind) {
                Some(line) if name_of(line) < name => at = behind,
                _ => break,
            }
        }
        path[level] = at;
    }
    path
}

/// The line with this name, or else the next one in the order of names.
pub fn from(list: &List, lines: &Objects<Line>, name: &[u8]) -> Id<Line> {
    next(list, lines, before(list, lines, name)[0], 0)
}

/// The line behind this one.
pub fn behind(lines: &Objects<Line>, line: Id<Line>) -> Id<Line> {
    lines.get(line).map_or(Id::NONE, |line| line.head.next[0])
}

/// The line with this name.
pub fn find<'a>(list: &List, lines: &'a Objects<Line>, name: &[u8]) -> Option<&'a Object<Line>> {
    lines.get(from(list, lines, name)).filter(|line| name_of(line) == name)
}

/// Lets each line of a path be followed by another one.
fn link(
    list: &mut List,
    lines: &mut Objects<Line>,
    path: &[Id<Line>; LEVELS],
    level: usize,
    to: Id<Line>,
) {
    if path[level].is_none() {
        list.first[level] = to;
    } else if let Some(line) = lines.get_mut(path[level]) {
        line.head.next[level] = to;
    }
}

/// Number of a line's levels, a function of its name.
fn levels_of(name: &[u8]) -> u8 {
    let hash =
        name.iter().fold(7_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    1 + ((hash >> 7).trailing_zeros() / 2).min(LEVELS as u32 - 1) as u8
}

/// Removes the line with this name.
pub fn take(list: &mut List, lines: &mut Objects<Line>, name: &[u8]) {
    let path = before(list, lines, name);
    let id = next(list, lines, path[0], 0);
    if lines.get(id).is_none_or(|line| name_of(line) != name) {
        return;
    }
    let Some(head) = lines.remove(id) else { return };
    for level in 0..usize::from(head.levels) {
        link(list, lines, &path, level, head.next[level]);
    }
    list.names -= 1;
}

/// Writes a name's value, or that it is deleted.
///
/// # Errors
/// If there is no room; then the name may be without a line.
pub fn put(
    list: &mut List,
    lines: &mut Objects<Line>,
    (name, value): (&Name, Option<&[u8]>),
    slot: u64,
) -> Result<(), ObjectError> {
    take(list, lines, name);
    let path = before(list, lines, name);
    let (levels, is_gone) = (levels_of(name), value.is_none());
    let mut head = Line { next: [Id::NONE; LEVELS], levels, name: name.len() as u8, is_gone, slot };
    for (level, behind) in head.next.iter_mut().enumerate().take(usize::from(levels)) {
        *behind = next(list, lines, path[level], level);
    }
    let value = value.unwrap_or_default();
    let id = lines.insert(head, name.len() + value.len())?;
    if let Some(line) = lines.get_mut(id) {
        let (of_name, of_value) = line.bytes.split_at_mut(name.len());
        of_name.copy_from_slice(name);
        of_value.copy_from_slice(value);
    }
    for level in 0..usize::from(levels) {
        link(list, lines, &path, level, id);
    }
    list.names += 1;
    Ok(())
}
