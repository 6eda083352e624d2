//! Arrays that record which of their elements were written.
//!
//! A large pool in a durable singleton would be compared whole with its replica after each burst
//! that names it. This array is compared only where it was written.
//!
//! Its notes are valid only if nobody else took or moved them: a program may swap two arrays, or
//! write back an earlier copy. So an array stores the scan, and the offset in the state's encoding,
//! of the last use of its notes. Unless that was the previous scan at the same offset, the whole
//! array is compared.

use core::ops::Deref;

use super::Changed;
use crate::plain::{Describe, Plain};

/// Words of notes.
const WORDS: usize = 64;
/// Number of notes, one bit each.
const NOTES: usize = WORDS * 64;

/// An array for durable singletons, such as pools of ports. After a burst, only its written parts
/// are compared with the replica and copied.
///
/// It reads like a slice; write elements with [`get_mut`](Self::get_mut).
///
/// ```
/// use cora_core::state::Tracked;
///
/// let mut leases = Tracked::new([0_u32; 1_000]);
/// if let Some(lease) = leases.get_mut(7) {
///     *lease = 42;
/// }
/// assert_eq!(leases.iter().filter(|lease| **lease == 42).count(), 1);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tracked<T, const N: usize> {
    items: [T; N],
    /// Per group of elements: whether one was handed out for a write.
    written: [u64; WORDS],
    /// The scan that last took the notes, and the array's offset in the encoding then.
    taken: (u64, usize),
}

impl<T, const N: usize> Tracked<T, N> {
    /// Elements per note.
    const STEP: usize = if N > NOTES { N.div_ceil(NOTES) } else { 1 };

    /// An array of these elements.
    pub const fn new(items: [T; N]) -> Self {
        Self { items, written: [0; WORDS], taken: (Changed::NEVER, 0) }
    }

    /// An element, mutable; `None` beyond the array's end.
    #[inline]
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let note = at / Self::STEP;
        if let Some(word) = self.written.get_mut(note / 64) {
            *word |= 1 << (note % 64);
        }
        self.items.get_mut(at)
    }
}

impl<T, const N: usize> Deref for Tracked<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Tracked<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<T: Eq, const N: usize> Eq for Tracked<T, N> {}

impl<T: Plain, const N: usize> Plain for Tracked<T, N> {
    const SIZE: usize = <[T; N]>::SIZE;

    fn put(&self, out: &mut [u8]) {
        self.items.put(out);
    }

    fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        let taken = core::mem::replace(&mut self.taken, (changed.look(), at));
        let written = core::mem::replace(&mut self.written, [0; WORDS]);
        if taken != (changed.look().wrapping_sub(1), at) {
            return self.items.put_changed(kept, at, changed);
        }
        for (nth, mut word) in written.into_iter().enumerate() {
            while word != 0 {
                let first = (64 * nth + word.trailing_zeros() as usize) * Self::STEP;
                word &= word - 1;
                let items = self.items.get_mut(first..N.min(first + Self::STEP));
                let from = first * T::SIZE;
                let kept = kept.get_mut(from..).unwrap_or_default();
                T::put_all_changed(items.unwrap_or_default(), kept, at + from, changed);
            }
        }
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        Plain::get(bytes).map(Self::new)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        self.taken.0 = Changed::NEVER;
        self.items.read(bytes)
    }

    /// A list, with a struct of `times` and `each` for every 16 or more equal neighbours: such
    /// arrays are large, and most of their elements are as they began.
    fn describe(&self, to: &mut dyn Describe) {
        to.open_list();
        let mut rest = &self.items[..];
        while let [first, others @ ..] = rest {
            let times = 1 + others.iter().take_while(|other| is_same(first, other)).count();
            if times < RUN {
                first.describe(to);
                rest = others;
                continue;
            }
            to.open();
            to.field("times");
            to.number(times as u128);
            to.field("each");
            first.describe(to);
            to.close();
            rest = rest.get(times..).unwrap_or_default();
        }
        to.close_list();
    }
}

/// Equal neighbours that are described as one.
const RUN: usize = 16;
/// Bytes of an element that is compared with its neighbours.
const MOST_COMPARED: usize = 64;

/// Whether two elements have the same encoding; larger ones than [`MOST_COMPARED`] never do.
fn is_same<T: Plain>(one: &T, other: &T) -> bool {
    let encoded = |element: &T| {
        let mut bytes = [0; MOST_COMPARED];
        element.put(&mut bytes);
        bytes
    };
    T::SIZE <= MOST_COMPARED && encoded(one) == encoded(other)
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString as _};
    use std::vec;
    use std::vec::Vec;

    use super::super::kept::tests::told;
    use super::*;

    type Pool = [Tracked<u8, 7_000>; 2];

    /// A value with its replica, compared repeatedly.
    struct Copied {
        value: Pool,
        kept: Vec<u8>,
        look: u64,
    }

    impl Copied {
        fn new() -> Self {
            let value = [Tracked::new([7; 7_000]); 2];
            let mut kept = vec![0; Pool::SIZE];
            value.put(&mut kept);
            Self { value, kept, look: 0 }
        }

        /// The reported blocks.
        fn told(&mut self) -> Vec<usize> {
            self.look += 1;
            told(&mut self.value, &mut self.kept, self.look)
        }
    }

    #[test]
    fn what_was_written_is_told() {
        let mut copied = Copied::new();
        assert_eq!(copied.told(), [0; 0]);
        *copied.value[0].get_mut(0).unwrap() = 1;
        *copied.value[1].get_mut(6_999).unwrap() = 1;
        assert_eq!(copied.value[0].get_mut(7_000), None);
        assert_eq!(copied.told(), [0, 54]);
        // Handed out, but unchanged.
        copied.value[0].get_mut(6_000).unwrap();
        assert_eq!(copied.told(), [0; 0]);
        *copied.value[0].get_mut(6_000).unwrap() = 2;
        assert_eq!(copied.told(), [23]);
    }

    /// The notes of an array that was copied, swapped, replaced or decoded are not its own.
    #[test]
    fn so_is_what_was_written_otherwise() {
        let mut copied = Copied::new();
        copied.told();
        *copied.value[0].get_mut(100).unwrap() = 1;
        let before = copied.value[0];
        assert_eq!(copied.told(), [0]);
        *copied.value[0].get_mut(100).unwrap() = 2;
        assert_eq!(copied.told(), [0]);
        copied.value[0] = before;
        assert_eq!(copied.told(), [0], "written back");
        copied.value.swap(0, 1);
        assert_eq!(copied.told(), [0, 27], "swapped");
        copied.value[0] = Tracked::new([8; 7_000]);
        assert_eq!(copied.told().len(), 28, "another one");
        assert!(copied.value[1].read(&vec![9; 7_000]));
        assert_eq!(copied.told().len(), 28, "read");
    }

    #[test]
    fn small_and_large_elements_are_told() {
        let mut kept = vec![0; 3 * 100];
        let mut value = Tracked::new([[false; 100]; 3]);
        for (look, (item, field)) in [(0, 0), (2, 99), (1, 50)].into_iter().enumerate() {
            value.get_mut(item).unwrap()[field] = true;
            let told = told(&mut value, &mut kept, look as u64 + 1);
            assert_eq!(told, [usize::from(item * 100 + field >= 256)]);
        }
        assert_eq!(kept.iter().copied().map(u32::from).sum::<u32>(), 3);
    }

    /// The words of a description.
    #[derive(Default)]
    struct Words(Vec<String>);

    impl Describe for Words {
        fn number(&mut self, value: u128) {
            self.0.push(value.to_string());
        }
        fn signed(&mut self, value: i128) {
            self.0.push(value.to_string());
        }
        fn truth(&mut self, value: bool) {
            self.0.push(value.to_string());
        }
        fn text(&mut self, value: &dyn core::fmt::Display) {
            self.0.push(value.to_string());
        }
        fn open(&mut self) {
            self.0.push("{".into());
        }
        fn field(&mut self, name: &'static str) {
            self.0.push(name.into());
        }
        fn close(&mut self) {
            self.0.push("}".into());
        }
        fn open_list(&mut self) {
            self.0.push("[".into());
        }
        fn close_list(&mut self) {
            self.0.push("]".into());
        }
    }

    #[test]
    fn equal_neighbours_are_described_once() {
        let described = |written: &[(usize, u16)]| {
            let mut array = Tracked::new([7_u16; 40]);
            for (at, value) in written {
                *array.get_mut(*at).unwrap() = *value;
            }
            let mut words = Words::default();
            array.describe(&mut words);
            words.0.join(" ")
        };
        assert_eq!(described(&[]), "[ { times 40 each 7 } ]");
        assert_eq!(described(&[(0, 1)]), "[ 1 { times 39 each 7 } ]");
        let both = "[ { times 20 each 7 } 8 { times 19 each 7 } ]";
        assert_eq!(described(&[(20, 8)]), both);
        let few = ["[", &["7"; 15].join(" "), "9 { times 24 each 7 } ]"].join(" ");
        assert_eq!(described(&[(15, 9)]), few, "fifteen are no run");
    }
}
