//! Storage of states of one value: singletons, and versions of read-mostly states.
//!
//! A value may be larger than a stack, so it is made in place: from zero bytes, then decoded field
//! by field. At the host it begins as its `Default`, which is unavoidably passed by value: programs
//! run on a stack with space for that ([`Stored::VALUE`]). On bare metal it begins as zeroes, since
//! the host sends the NIC every value before the first packet.
//!
//! A durable singleton reports its changed blocks ([`kept`](super::kept)).
//!
//! Neither kind needs undo. A plan that splits pins every singleton to the host, which never punts.
//! A plan that runs everything at the NIC never punts either.

#[cfg(doc)]
use super::Stored;
use super::kept::{BLOCK, Changed, Kept};
use super::memory::bytes_for;
use super::{
    Announced, DescribeItem, Described, EntryLayout, Generation, Home, Kind, Malformed, Memory,
    OutOfMemory, ReadMostly, Singleton, Visit,
};
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::plain::Plain;

/// Bytes of value in one exported piece, which begins with its offset (4 bytes).
const CHUNK: usize = 1024;

/// One value in supplied memory, with a buffer for its encoding.
#[derive(Debug)]
struct Whole<S: 'static> {
    value: &'static mut S,
    /// For a durable state: the encoding at the last scan for changes.
    encoded: &'static mut [u64],
    /// Blocks of it that changed and were not reported yet; empty for other states.
    changed: &'static mut [u64],
    touched: bool,
    /// It was reported whole, so changes suffice from now on.
    told: bool,
    /// Number of scans for changes.
    looks: u64,
}

impl<S: Plain> Whole<S> {
    const CHANGED: usize = if S::DURABLE { Changed::words(S::SIZE) } else { 0 };
    const BYTES: usize =
        bytes_for::<S>(1) + bytes_for::<u64>(S::SIZE.div_ceil(8)) + bytes_for::<u64>(Self::CHANGED);

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let value = memory.take_zeroes()?;
        let encoded = memory.take_u64(S::SIZE.div_ceil(8))?;
        let changed = memory.take_u64(Self::CHANGED)?;
        Ok(Self { value, encoded, changed, touched: true, told: false, looks: 0 })
    }

    fn export(&mut self, piece: &mut dyn FnMut(&[u8])) {
        self.encode();
        let encoded = zerocopy::IntoBytes::as_bytes(&*self.encoded);
        each_chunk(encoded.get(..S::SIZE).unwrap_or_default(), piece);
    }

    /// Encodes the value; for a durable one, marks the changes.
    fn encode(&mut self) {
        let encoded = zerocopy::IntoBytes::as_mut_bytes(self.encoded);
        if const { S::DURABLE } && self.told {
            self.looks += 1;
            self.value.put_changed(encoded, 0, &mut Changed::new(self.changed, self.looks));
        } else {
            self.value.put(encoded);
        }
    }

    /// The reported value is out of date, since the encoding is being replaced.
    const fn anew(&mut self) {
        (self.touched, self.told) = (true, false);
    }

    /// Imports a chunk; the last one puts the new value in force.
    fn import(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        self.anew();
        let encoded = zerocopy::IntoBytes::as_mut_bytes(self.encoded);
        if take_in(encoded.get_mut(..S::SIZE).unwrap_or_default(), piece)? {
            self.value.read(encoded).then_some(()).ok_or(Malformed)?;
        }
        Ok(())
    }
}

impl<S: Plain> Kept for Whole<S> {
    fn is_touched(&self) -> bool {
        self.touched
    }

    fn tell(&mut self, tell: &mut dyn FnMut(usize, &[u8])) {
        if !core::mem::take(&mut self.touched) {
            return;
        }
        self.encode();
        let mut changed = Changed::new(self.changed, self.looks);
        if !core::mem::replace(&mut self.told, true) {
            changed.note(0, S::SIZE);
        }
        let encoded = zerocopy::IntoBytes::as_bytes(&*self.encoded);
        let encoded = encoded.get(..S::SIZE).unwrap_or_default();
        changed.take(|block| {
            let at = block * BLOCK;
            tell(at, encoded.get(at..encoded.len().min(at + BLOCK)).unwrap_or_default());
        });
    }

    fn restore_part(&mut self, at: usize, part: &[u8]) {
        self.anew();
        let encoded = zerocopy::IntoBytes::as_mut_bytes(self.encoded);
        if let Some(place) = encoded.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
    }

    fn restore(&mut self) -> bool {
        let Some(value) = S::get(zerocopy::IntoBytes::as_bytes(&*self.encoded)) else {
            return false;
        };
        *self.value = value;
        // The replica equals the value.
        (self.touched, self.told) = (false, true);
        true
    }
}

/// Exports an encoded value in chunks. One copy of the code serves values of any length.
#[cold]
#[inline(never)]
fn each_chunk(encoded: &[u8], piece: &mut dyn FnMut(&[u8])) {
    let mut chunk = [0; 4 + CHUNK];
    for (number, bytes) in encoded.chunks(CHUNK).enumerate() {
        let (offset, room) = chunk.split_at_mut(4);
        offset.copy_from_slice(&((number * CHUNK) as u32).to_le_bytes());
        if let Some(place) = room.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
        }
        piece(chunk.get(..4 + bytes.len()).unwrap_or_default());
    }
}

/// Stores a chunk at its offset; returns whether it is the last one.
#[cold]
#[inline(never)]
fn take_in(encoded: &mut [u8], piece: &[u8]) -> Result<bool, Malformed> {
    let (offset, bytes) = piece.split_first_chunk().ok_or(Malformed)?;
    let from = u32::from_le_bytes(*offset) as usize;
    let to = from + bytes.len();
    encoded.get_mut(from..to).ok_or(Malformed)?.copy_from_slice(bytes);
    Ok(to == encoded.len())
}

macro_rules! home_of_one_value {
    ($(#[$doc:meta])* $home:ident, $kind:ident, $first:expr, {$($described:tt)*}) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $home<S: 'static> {
            whole: Whole<S>,
        }

        impl<S: $kind> $home<S> {
            /// Bytes of [`Memory`] that it takes.
            pub const BYTES: usize = Whole::<S>::BYTES;

            /// The state as its `Default`; on bare metal as zeroes, until the host sends its value.
            pub fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
                let whole = Whole::<S>::create(memory)?;
                #[cfg(not(target_os = "none"))]
                {
                    *whole.value = $first;
                }
                Ok(Self { whole })
            }

            /// The value, for a caller that may write it.
            #[inline]
            pub const fn value(&mut self) -> &mut S {
                self.touch();
                self.whole.value
            }

            /// The value. A caller that writes it must call [`Self::touch`].
            #[inline]
            pub const fn lend(&mut self) -> &mut S {
                self.whole.value
            }

            /// A handler may have written it.
            #[inline]
            pub const fn touch(&mut self) {
                self.whole.touched = true;
            }
        }

        impl<S: $kind> Announced for $home<S> {}

        impl<S: $kind> Home for $home<S> {
            fn kind(&self) -> Kind {
                Kind::$kind
            }

            #[inline]
            fn begin(&mut self, _: Visit) {}
            #[inline]
            fn commit(&mut self, _: bool) {}
            #[inline]
            fn rollback(&mut self) {}

            fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
                self.whole.export(piece);
            }

            fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
                self.whole.import(piece)
            }

            fn entries(&self, _: u64) -> u64 {
                1
            }
        }

        impl<S: $kind> Described for $home<S> {
            fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
                item(&[], &mut |to| self.whole.value.describe(to));
            }

            $($described)*
        }
    };
}

home_of_one_value! {
    /// The storage of a singleton.
    Pinned, Singleton, S::default(), {
        fn value_bytes(&self) -> Option<usize> {
            Some(S::SIZE)
        }

        fn kept(&mut self) -> Option<&mut dyn Kept> {
            if const { S::DURABLE } { Some(&mut self.whole) } else { None }
        }

        fn layout(&self) -> Option<EntryLayout> {
            const { S::DURABLE }.then_some(EntryLayout {
                key: 0,
                entry: S::SIZE,
                value: S::SIZE,
                fields: S::FIELDS,
                before: S::BEFORE,
            })
        }
    }
}

home_of_one_value! {
    /// The storage of a read-mostly state: the version in force.
    Versioned, ReadMostly, first(S::default()), {
        fn begin_generation(&mut self, generation: Generation) {
            self.whole.value.begin_generation(generation);
        }
    }
}

#[cfg(not(target_os = "none"))]
impl<S: ReadMostly> Versioned<S> {
    /// Puts a whole new version, parsed from the file's text, in force. It has the first version's
    /// number until it gets another one. After a fault, which is reported to the file, the version
    /// before stays.
    pub fn configure(&mut self, file: &mut dyn config::File) {
        match S::configure(file.text()) {
            Ok(value) => *self.whole.value = first(value),
            Err(why) => file.refuse(&why),
        }
    }
}

/// The value as the first version.
#[cfg(not(target_os = "none"))]
fn first<S: ReadMostly>(mut value: S) -> S {
    value.begin_generation(Generation::FIRST);
    value
}

#[cfg(test)]
mod tests {
    use super::super::memory::leak;
    use super::*;
    use crate::config::tests::Cells;
    use crate::plain::Describe;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Pool([u16; 3000]);

    impl Default for Pool {
        fn default() -> Self {
            Self([9; 3000])
        }
    }

    impl Plain for Pool {
        const SIZE: usize = 6000;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            Plain::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn Describe) {
            self.0.describe(to);
        }
    }

    impl Singleton for Pool {
        const NAME: &'static str = "Pool";
    }

    #[test]
    fn crosses_in_chunks_and_takes_force_with_the_last() {
        let mut here = Pinned::<Pool>::create(&mut leak(Pinned::<Pool>::BYTES)).unwrap();
        let mut there = Pinned::<Pool>::create(&mut leak(Pinned::<Pool>::BYTES)).unwrap();
        here.value().0[2999] = 77;
        let mut pieces = Vec::new();
        here.export(0, &mut |piece| pieces.push(piece.to_vec()));
        assert_eq!(pieces.len(), 6);
        for piece in &pieces[..5] {
            there.merge(piece).unwrap();
        }
        assert_eq!(there.value(), &Pool::default(), "not whole yet");
        there.merge(&pieces[5]).unwrap();
        assert_eq!(there.value(), here.value());
    }

    #[derive(Clone, Copy, Default)]
    struct Rules {
        generation: Generation,
        closed: u16,
    }

    impl Plain for Rules {
        const SIZE: usize = 6;
        fn put(&self, out: &mut [u8]) {
            self.generation.put(out);
            self.closed.put(out.get_mut(4..).unwrap_or_default());
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            let closed = u16::get(bytes.get(4..)?)?;
            Some(Self { generation: Plain::get(bytes)?, closed })
        }
        fn begin_generation(&mut self, generation: Generation) {
            self.generation = generation;
        }
        fn describe(&self, _: &mut dyn Describe) {}
    }

    impl super::super::Configure for Rules {
        fn configure(text: &str) -> Result<Self, &'static str> {
            // The generation given here is ignored.
            let closed = text.parse().map_err(|_| "no port")?;
            Ok(Self { generation: Generation::new(99), closed })
        }
    }

    impl ReadMostly for Rules {
        const NAME: &'static str = "Rules";
    }

    #[test]
    fn a_version_has_its_number_on_both_sides() {
        let create = || Versioned::<Rules>::create(&mut leak(Versioned::<Rules>::BYTES)).unwrap();
        let (mut host, mut nic) = (create(), create());
        assert_eq!(host.value().generation, Generation::FIRST);
        let mut configure = |text| {
            let mut file = Cells::new(text);
            host.configure(&mut file);
            file.faults
        };
        assert_eq!(configure("80"), Vec::<String>::new());
        assert_eq!(configure("eighty"), ["no port"]);
        assert_eq!(host.value().generation, Generation::FIRST);
        assert_eq!(host.value().closed, 80, "the version before stays");
        host.begin_generation(Generation::new(7));
        host.export(0, &mut |piece| nic.merge(piece).unwrap());
        assert_eq!((nic.value().generation.number(), nic.value().closed), (7, 80));
    }

    #[test]
    fn refuses_a_chunk_out_of_bounds() {
        let mut home = Pinned::<Pool>::create(&mut leak(Pinned::<Pool>::BYTES)).unwrap();
        assert_eq!(home.merge(&[0xff, 0xff, 0xff, 0xff, 1]), Err(Malformed));
        assert_eq!(home.merge(&[1, 0]), Err(Malformed));
    }
}
