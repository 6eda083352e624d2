//! Configured tables: rows of a file, which handlers look up and never write.
//!
//! Like every read-mostly state they change in whole versions, between two packets. A table has
//! memory for two: the version in force, and the one that arrives piece by piece. The host reads
//! the file and builds the index; the NIC only receives it, so it has no code that parses or sorts.
//!
//! ```text
//! rows     what the file says, in its order: where a row applies, and its fields
//! index    words that lead from what a packet has to the number of a row; its form depends on the
//!          kind of table
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | `version` | one version in memory, and its pieces on the wire |
//! | [`map`] | a row per key: a hash table |
//! | [`prefixes`] | a row per prefix, found by the longest match |
//! | [`acl`] | ordered rules, found by the first match |
//! | `longest` | the index for longest matches |

pub mod acl;
mod longest;
pub mod map;
pub mod prefixes;
mod version;

pub use acl::{Acl, Match};
pub use map::Map;
pub use prefixes::Prefixes;
use version::Version;

use super::{
    Announced, DescribeItem, Described, Generation, Home, Kind, MAX_PIECE, Malformed, Memory,
    OutOfMemory, Stored, Visit,
};
use core::fmt;

#[cfg(not(target_os = "none"))]
use crate::config;
use crate::config::FromColumns;
use crate::key::Endpoint;
use crate::plain::{Describe, Plain};

/// A row of a configured table, as declared by `#[state(map | prefixes | acl, …)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row of a configured table",
    label = "not a configured row",
    note = "write `#[state(map, key = …, capacity = …)]`, `#[state(prefixes, capacity = …)]` or \
            `#[state(acl, capacity = …)]` on it"
)]
pub trait Row: Plain {
    /// How rows are found.
    type Form: Form;
    /// The name of the type.
    const NAME: &'static str;
    /// Maximum number of rows.
    const CAPACITY: u32;
    /// Upper bound of the words of an index over that many rows.
    const WORDS: usize;
    /// The columns of its fields.
    const COLUMNS: &'static [&'static str];

    /// The ends at which the service of this row is reached, if rows are services
    /// (`#[state(map, services = …)]`): see [`App::BUCKETS_BY`](crate::app::App::BUCKETS_BY).
    fn services(place: &PlaceOf<Self>, row: &Self) -> Option<[Endpoint; 2]> {
        let _ = (place, row);
        None
    }

    /// The fields, from the columns of the file's current row; `None` after a fault, which is
    /// reported to the file.
    #[cfg(not(target_os = "none"))]
    fn from_columns(file: &mut dyn config::File) -> Option<Self>;
}

/// How the rows of a table are found.
pub trait Form: 'static {
    /// What a row applies to, read from columns beside those of its fields.
    type Place: Plain + FromColumns;

    /// Builds the index of rows with these places into `words`, which are zero. Returns the number
    /// of words used; `None` after a fault, which is reported to the file.
    #[cfg(not(target_os = "none"))]
    fn build(
        places: &Places<'_, Self::Place>,
        words: &mut [u32],
        file: &mut dyn config::File,
    ) -> Option<usize>;
}

/// The places of a version's rows.
#[cfg(not(target_os = "none"))]
#[expect(missing_debug_implementations, reason = "it borrows a closure")]
pub struct Places<'a, P> {
    count: u32,
    place: &'a dyn Fn(u32) -> Option<P>,
}

#[cfg(not(target_os = "none"))]
impl<P> Places<'_, P> {
    /// The place of the row with this number.
    pub(crate) fn get(&self, row: u32) -> Option<P> {
        (self.place)(row)
    }

    /// All of them, each with the number of its row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, P)> {
        (0..self.count).filter_map(|row| Some((row, self.get(row)?)))
    }
}

/// A row with its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed<P, S> {
    pub(crate) place: P,
    pub(crate) row: S,
}

impl<P: Plain, S: Plain> Plain for Placed<P, S> {
    const SIZE: usize = P::SIZE + S::SIZE;

    fn put(&self, out: &mut [u8]) {
        self.place.put(out);
        self.row.put(out.get_mut(P::SIZE..).unwrap_or_default());
    }

    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { place: P::get(bytes)?, row: S::get(bytes.get(P::SIZE..)?)? })
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("for");
        self.place.describe(to);
        to.field("row");
        self.row.describe(to);
        to.close();
    }
}

/// Checks the size of a row, for generated code.
///
/// # Panics
/// If it is too long; in a `const`, that is an error at build time.
#[doc(hidden)]
pub const fn fits<S: Row>() {
    const MESSAGE: &str = "CORA0140: a row of a configured table has more than 2,047 bytes with its key; `cargo cora \
                           explain 140` says more";
    const { assert!(MAX_PIECE == 2048, "as the message says") };
    assert!(<Placed<PlaceOf<S>, S> as Plain>::SIZE < MAX_PIECE, "{}", MESSAGE);
}

type PlaceOf<S> = <<S as Row>::Form as Form>::Place;

/// A configured table. Handlers take it as [`Map`], [`Prefixes`] or [`Acl`].
pub struct Configured<S: Row> {
    now: Version<Placed<PlaceOf<S>, S>>,
    /// The version that arrives.
    next: Version<Placed<PlaceOf<S>, S>>,
}

impl<S: Row> Configured<S> {
    /// Maximum number of rows.
    pub const CAPACITY: u32 = S::CAPACITY;

    /// The number of the version in force: see [`Generation`].
    #[inline]
    pub const fn generation(&self) -> Generation {
        self.now.generation
    }

    /// Number of rows.
    #[inline]
    pub const fn len(&self) -> usize {
        self.now.rows.len()
    }

    /// Whether it has no rows, as before any file was read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of its index in use, for measurements.
    #[doc(hidden)]
    pub const fn index_bytes(&self) -> usize {
        self.now.used * size_of::<u32>()
    }

    #[inline(always)]
    fn placed(&self, number: u32) -> Option<&Placed<PlaceOf<S>, S>> {
        self.now.rows.get(number)
    }

    #[inline(always)]
    fn index(&self) -> &[u32] {
        self.now.index()
    }

    /// Puts the rows of a file in force. After a fault, which is reported to the file, the version
    /// before stays.
    #[cfg(not(target_os = "none"))]
    pub fn configure(&mut self, file: &mut dyn config::File) {
        file.begin(&[PlaceOf::<S>::COLUMNS, S::COLUMNS]);
        self.next.clear();
        let mut row = 0;
        while file.next_row() {
            let place = PlaceOf::<S>::from_columns(file);
            let fields = S::from_columns(file);
            if let (Some(place), Some(fields)) = (place, fields)
                && self.next.rows.push(Placed { place, row: fields }).is_err()
            {
                let room = S::CAPACITY;
                let more = format_args!("the table has room for {room} rows: raise its `capacity`");
                file.fault_of(row, &more);
                break;
            }
            row += 1;
        }
        if !file.is_sound() {
            return;
        }
        let Version { rows, words, .. } = &mut self.next;
        let place = |number| rows.get(number).map(|placed| placed.place);
        let places = Places { count: rows.len() as u32, place: &place };
        let Some(used) = S::Form::build(&places, words, file) else {
            // Whatever was built is in the way of the next version.
            self.next.words.fill(0);
            return;
        };
        (self.next.used, self.next.generation) = (used, Generation::FIRST);
        core::mem::swap(&mut self.now, &mut self.next);
    }
}

impl<S: Row> fmt::Debug for Configured<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = format_args!("{} rows, version {}", self.len(), self.generation().number());
        f.debug_tuple(S::NAME).field(&rows).finish()
    }
}

impl<S: Row> Stored for Configured<S> {
    const NAME: &'static str = S::NAME;
    const KIND: Kind = Kind::ReadMostly;
    const BYTES: usize = 2 * Version::<Placed<PlaceOf<S>, S>>::bytes(S::CAPACITY, S::WORDS);
    type Home = Self;

    fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let create = |memory: &mut Memory| Version::create(memory, S::CAPACITY, S::WORDS);
        Ok(Self { now: create(memory)?, next: create(memory)? })
    }

    #[inline(always)]
    fn borrow(home: &mut Self) -> &mut Self {
        home
    }
}

impl<S: Row> Announced for Configured<S> {}

impl<S: Row> Home for Configured<S> {
    fn kind(&self) -> Kind {
        Kind::ReadMostly
    }

    #[inline]
    fn begin(&mut self, _: Visit) {}
    #[inline]
    fn commit(&mut self, _: bool) {}
    #[inline]
    fn rollback(&mut self) {}

    fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
        self.now.export(piece);
    }

    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        if self.next.import(piece)? {
            core::mem::swap(&mut self.now, &mut self.next);
        }
        Ok(())
    }

    fn entries(&self, _: u64) -> u64 {
        self.len() as u64
    }
}

impl<S: Row> Described for Configured<S> {
    fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
        for (number, placed) in self.now.rows().enumerate() {
            item(&(number as u32).to_be_bytes(), &mut |to| placed.describe(to));
        }
    }

    fn begin_generation(&mut self, generation: Generation) {
        self.now.generation = generation;
    }

    fn each_service(&self, visit: &mut dyn FnMut(Endpoint)) {
        for placed in self.now.rows() {
            S::services(&placed.place, &placed.row).into_iter().flatten().for_each(&mut *visit);
        }
    }
}

// No unsafe code is near, and an interpreter takes minutes for each index.
#[cfg(all(test, not(miri)))]
mod tests;
