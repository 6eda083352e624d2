//! Items in reports, and on their way to the other side: those that are not all zeroes.

use super::super::reads::Reads;
use super::super::{DescribeItem, Described, Home, Kind, MAX_PIECE, Malformed, Visit};
use super::{LONGEST_ITEM, Region, RegionState};
use crate::plain::Plain;

/// Bytes of an item's number, in front of the item.
const NUMBER: usize = 4;
/// Bytes of a piece.
const PIECE: usize = NUMBER + LONGEST_ITEM;
const _: () = assert!(PIECE <= MAX_PIECE, "an item is a piece");

impl<S: RegionState> Region<S> {
    /// Forgets the items and the reads of the run that has ended.
    #[inline]
    fn forget(&mut self) {
        self.log.clear();
        if let Some(reads) = self.items.reads() {
            reads.clear();
        }
    }
}

impl<S: RegionState> Home for Region<S> {
    fn kind(&self) -> Kind {
        Kind::Region
    }

    /// The log is empty: each run before was committed or rolled back.
    #[inline]
    fn begin(&mut self, _: Visit) {}

    #[inline]
    fn commit(&mut self, _: bool) {
        let Self { items, log } = self;
        for (number, item) in log.written() {
            items.begin_commit();
            items.store(number, item);
        }
        self.forget();
    }

    #[inline]
    fn publish(&mut self) {
        self.items.end_commit();
    }

    #[inline]
    fn rollback(&mut self) {
        self.forget();
    }

    /// Away from its home, a run that was refused something is void, whatever its handler made of
    /// it, and so is one whose copies are of several moments.
    #[inline]
    fn is_void(&self) -> bool {
        self.items.reads().is_some_and(Reads::are_void)
    }

    fn export(&mut self, _: u64, piece: &mut dyn FnMut(&[u8])) {
        let mut bytes = [0; PIECE];
        self.items.each_written(&mut |number, item| {
            let whole = NUMBER + item.len();
            number.put(&mut bytes);
            if let Some(place) = bytes.get_mut(NUMBER..whole) {
                place.copy_from_slice(item);
            }
            piece(bytes.get(..whole).unwrap_or_default());
        });
    }

    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        let (number, item) = piece.split_first_chunk::<NUMBER>().ok_or(Malformed)?;
        let number = u32::from_le_bytes(*number);
        let item = S::get(item).filter(|_| item.len() == S::SIZE).ok_or(Malformed)?;
        if number >= S::LENGTH {
            return Err(Malformed);
        }
        self.items.store(number, &item);
        Ok(())
    }

    fn entries(&self, _: u64) -> u64 {
        S::LENGTH.into()
    }
}

impl<S: RegionState> Described for Region<S> {
    fn describe(&self, _: u64, item: &mut DescribeItem<'_>) {
        self.items.each_written(&mut |number, bytes| {
            let Some(value) = S::get(bytes) else { return };
            item(&number.to_be_bytes(), &mut |to| {
                to.open();
                to.field("number");
                to.number(number.into());
                to.field("item");
                value.describe(to);
                to.close();
            });
        });
    }
}
