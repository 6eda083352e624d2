//! Plain data, which may be stored in a state and cross between the sides.
//!
//! Fields are encoded one by one, little-endian, without padding. So the encoding is independent of
//! machine and compiler, and no unsafe code is generated into a user's crate. Decoding validates:
//! bytes from the other side are not trusted.

use core::time::Duration;

use crate::bucket::Bucket;
use crate::short::{ShortReader, ShortWriter};
use crate::state::{Changed, Generation};

/// Data of fixed width without pointers.
///
/// Derived for structs and enums by `#[derive(Plain)]`, and implied by `#[state]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't stand in a state: it is not plain data",
    label = "not plain data",
    note = "entries cross between NIC and host: use fixed-width integers, `bool`, arrays of them, \
            Cora's own types, or a type of yours with `#[derive(Plain)]`"
)]
pub trait Plain: Copy + 'static {
    /// Bytes of the encoding.
    const SIZE: usize;

    /// Whether a replica is kept of the entries of a keyed state of this type: `#[state(durable)]`.
    const DURABLE: bool = false;

    /// Whether entries of a keyed state of this type have individual idle times:
    /// `#[state(idle_by = …)]`.
    const IDLE_VARIES: bool = false;

    /// Whether entries of a keyed state of this type stay however long they are unused, unless they
    /// have [idle times of their own](Self::IDLE_VARIES): `#[state(idle = "never")]` without
    /// `life`.
    const FOREVER: bool = false;

    /// Whether table entries with this value end at a time that their insertion decides, used or
    /// not: `#[state(life = …)]`.
    const LIVES: bool = false;

    /// Whether table entries with this value are found by their key and its
    /// [reply](crate::key::Key::reply) alike. Both keys then have one hash, and an entry never has
    /// a second key of its own.
    const UNDIRECTED: bool = false;

    /// Whether each entry of a keyed state of this type becomes a record when it ends:
    /// `#[state(recorded)]`.
    const RECORDED: bool = false;

    /// Whether a hook runs when an entry of a keyed state of this type expires:
    /// `#[state(on_expire)]`. Its entries live at least
    /// [`SHORTEST`](crate::state::table::hooked::SHORTEST).
    const HOOKED: bool = false;

    /// Whether a full table may evict entries of a keyed state of this type, unless they are
    /// [assured](Self::is_assured): `#[state(assured_by = …)]`.
    const EVICTS: bool = false;

    /// The fields of a struct in the order of their encoding, each with its size in bytes. Entries
    /// of an older build are converted field by field. If empty, the encoding is carried over
    /// whole.
    const FIELDS: &'static [(&'static str, usize)] = &[];

    /// The [fields](Self::FIELDS) of the type in the program's previous build, if
    /// [`Self::from_before`] converts from it: `#[state(from = …)]`.
    const BEFORE: &'static [(&'static str, usize)] = &[];

    /// Converts a value of the previous type from the first bytes; `None` if they don't encode one,
    /// or there was no such type.
    fn from_before(bytes: &[u8]) -> Option<Self> {
        let _ = bytes;
        None
    }

    /// Writes the encoding to the first [`Self::SIZE`] bytes of `out`. A shorter `out` is no panic,
    /// which keeps panic code out of the NIC half.
    fn put(&self, out: &mut [u8]);

    /// The values' memory, if that equals their encoding.
    #[inline]
    fn as_encoding(values: &[Self]) -> Option<&[u8]> {
        let _ = values;
        None
    }

    /// Writes the encoding over `kept`, the encoding of the previous value, and marks the bytes
    /// that differ as changed, counted from `at`.
    fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        let mut now = [0; SMALL];
        let Some(kept) = kept.get_mut(..Self::SIZE) else { return };
        if let Some(now) = now.get_mut(..Self::SIZE) {
            self.put(now);
            changed.update(now, kept, at);
        } else {
            // Assumed to have changed.
            self.put(kept);
            changed.note(at, Self::SIZE);
        }
    }

    /// The same for consecutive values.
    fn put_all_changed(values: &mut [Self], kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        if let Some(now) = Self::as_encoding(values) {
            return changed.update(now, kept, at);
        }
        if Self::SIZE > SMALL {
            for (number, value) in values.iter_mut().enumerate() {
                let from = number * Self::SIZE;
                value.put_changed(kept.get_mut(from..).unwrap_or_default(), at + from, changed);
            }
            return;
        }
        let some = SOME / Self::SIZE.max(1);
        for (number, values) in values.chunks(some).enumerate() {
            let from = number * some * Self::SIZE;
            let mut now = [0; SOME];
            // A constant length lets the compiler check the bounds of each `put`.
            let mut rest = &mut now[..];
            for value in values {
                let Some((place, behind)) = rest.split_at_mut_checked(Self::SIZE) else { break };
                value.put(place);
                rest = behind;
            }
            let now = now.get(..values.len() * Self::SIZE).unwrap_or_default();
            changed.update(now, kept.get_mut(from..).unwrap_or_default(), at + from);
        }
    }

    /// Decodes a value from the first [`Self::SIZE`] bytes; `None` if they are invalid, or too few.
    fn get(bytes: &[u8]) -> Option<Self>;

    /// Decodes a value from the first [`Self::SIZE`] bytes in place, so that a large one is never
    /// on the stack. Returns whether they were valid; if not, `self` may be partly overwritten.
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let read = Self::get(bytes);
        if let Some(value) = read {
            *self = value;
        }
        read.is_some()
    }

    /// Whether the [short form](Self::put_short) may be shorter than the encoding.
    const SHORTENS: bool = false;

    /// Writes the short form, for the wire: the encoding without what this value doesn't use.
    #[inline]
    fn put_short(&self, to: &mut ShortWriter<'_>) {
        if let Some(place) = to.place(Self::SIZE) {
            self.put(place);
        }
    }

    /// Decodes a value from its short form; `None` if the next bytes are invalid, or too few.
    #[inline]
    fn get_short(from: &mut ShortReader<'_>) -> Option<Self> {
        Self::get(from.take(Self::SIZE)?)
    }

    /// The idle time of an entry with this value, if that [varies](Self::IDLE_VARIES); at most the
    /// state's `idle`.
    #[inline]
    fn idle_time(&self) -> Duration {
        Duration::MAX
    }

    /// When an entry with this value ends, used or not (ns of packet time), if its insertion
    /// [decides that](Self::LIVES). An insertion alone changes it, and never to an earlier time.
    #[inline]
    fn dies(&self) -> u64 {
        u64::MAX
    }

    /// Whether an entry with this value must not be [evicted](Self::EVICTS) from a full table.
    #[inline]
    fn is_assured(&self) -> bool {
        true
    }

    /// For a read-mostly state or a field of one: sets the version number of this value. A
    /// [`Generation`] takes the number.
    #[inline]
    fn begin_generation(&mut self, generation: Generation) {
        let _ = generation;
    }

    /// Describes this value, for people and for comparison.
    fn describe(&self, to: &mut dyn Describe);
}

/// Values up to this size in bytes are compared by their encodings.
const SMALL: usize = 64;
/// Bytes of consecutive values that are encoded at a time for comparison.
const SOME: usize = 1024;

/// Receives the description of a [`Plain`] value: a tree of named fields, lists and leaves.
pub trait Describe {
    /// An unsigned number.
    fn number(&mut self, value: u128);
    /// A signed number.
    fn signed(&mut self, value: i128);
    /// A truth value.
    fn truth(&mut self, value: bool);
    /// Text, such as an address or the name of a variant.
    fn text(&mut self, value: &dyn core::fmt::Display);
    /// Opens a struct.
    fn open(&mut self);
    /// Names the field of the next value.
    fn field(&mut self, name: &'static str);
    /// Closes a struct.
    fn close(&mut self);
    /// Opens a list; its items follow.
    fn open_list(&mut self);
    /// Closes a list.
    fn close_list(&mut self);
}

macro_rules! plain_integers {
    ($($integer:ty => $tell:ident as $wide:ty),* $(,)?) => {$(
        impl Plain for $integer {
            const SIZE: usize = size_of::<Self>();
            #[inline]
            fn put(&self, out: &mut [u8]) {
                if let Some(place) = out.first_chunk_mut() {
                    *place = self.to_le_bytes();
                }
            }
            #[inline]
            fn get(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(*bytes.first_chunk()?))
            }
            #[cfg(target_endian = "little")]
            #[inline]
            fn as_encoding(values: &[Self]) -> Option<&[u8]> {
                Some(zerocopy::IntoBytes::as_bytes(values))
            }
            fn describe(&self, to: &mut dyn Describe) {
                to.$tell(<$wide>::from(*self));
            }
        }
    )*};
}

plain_integers! {
    u8 => number as u128, u16 => number as u128, u32 => number as u128, u64 => number as u128,
    u128 => number as u128,
    i8 => signed as i128, i16 => signed as i128, i32 => signed as i128, i64 => signed as i128,
    i128 => signed as i128,
}

impl Plain for bool {
    const SIZE: usize = 1;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        if let Some(place) = out.first_mut() {
            *place = u8::from(*self);
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.truth(*self);
    }
}

impl Plain for Bucket {
    const SIZE: usize = 1;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        (self.number() as u8).put(out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        u8::get(bytes).map(Self::new)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.number(self.number() as u128);
    }
}

/// The array without items, for an `N` of 0: there is no first one to begin with.
#[inline]
fn no_items<T: Copy, const N: usize>() -> Option<[T; N]> {
    <[T; N]>::try_from(&[][..]).ok()
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    const SIZE: usize = T::SIZE * N;
    const SHORTENS: bool = T::SHORTENS;
    fn put(&self, out: &mut [u8]) {
        for (item, place) in self.iter().zip(out.chunks_exact_mut(T::SIZE.max(1))) {
            item.put(place);
        }
    }
    #[inline]
    fn as_encoding(values: &[Self]) -> Option<&[u8]> {
        T::as_encoding(values.as_flattened())
    }
    fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        T::put_all_changed(self, kept, at, changed);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        if N == 0 {
            return no_items();
        }
        let bytes = bytes.get(..Self::SIZE)?;
        let first = T::get(bytes.get(..T::SIZE)?)?;
        let mut items = [first; N];
        for (item, place) in items.iter_mut().zip(bytes.chunks_exact(T::SIZE.max(1))) {
            *item = T::get(place)?;
        }
        Some(items)
    }
    fn read(&mut self, bytes: &[u8]) -> bool {
        let Some(bytes) = bytes.get(..Self::SIZE) else { return false };
        let mut places = bytes.chunks_exact(T::SIZE.max(1));
        self.iter_mut().all(|item| item.read(places.next().unwrap_or_default()))
    }
    #[inline]
    fn put_short(&self, to: &mut ShortWriter<'_>) {
        if T::SHORTENS {
            for item in self {
                item.put_short(to);
            }
        } else if let Some(place) = to.place(Self::SIZE) {
            self.put(place);
        }
    }
    #[inline]
    fn get_short(from: &mut ShortReader<'_>) -> Option<Self> {
        if !T::SHORTENS {
            return Self::get(from.take(Self::SIZE)?);
        }
        if N == 0 {
            return no_items();
        }
        let mut items = [T::get_short(from)?; N];
        for item in items.iter_mut().skip(1) {
            *item = T::get_short(from)?;
        }
        Some(items)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        for item in self {
            item.describe(to);
        }
        to.close_list();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_refuses() {
        let mut bytes = [0; 8];
        [0x0102_u16, 3, 4].put(&mut bytes);
        assert_eq!(&bytes, &[2, 1, 3, 0, 4, 0, 0, 0]);
        assert_eq!(<[u16; 3]>::get(&bytes), Some([0x0102, 3, 4]));
        assert_eq!(<[u16; 5]>::get(&bytes), None, "too short");
        assert_eq!(bool::get(&[2]), None, "no truth value");
        let mut items = [[0_u16; 2]; 2];
        assert!(items.read(&[1, 0, 2, 0, 3, 0, 4, 0, 5]));
        assert_eq!(items, [[1, 2], [3, 4]]);
        assert!(!items.read(&[1, 0, 2, 0, 3, 0, 4]), "too short");
        assert!(![false; 2].read(&[1, 2]), "no truth value");
        assert_eq!(i32::get(&(-5_i32).to_le_bytes()), Some(-5));
    }
}
