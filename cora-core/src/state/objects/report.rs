//! Objects in reports: per flow their number, their bytes, and a digest of all that they are.

use super::super::table::Told;
use super::super::{DescribeItem, Described, Malformed};
use super::{ObjectState, Objects};
use crate::plain::Plain;

/// The first byte of an exported piece: none of a flow that travels begins so.
const SUMMARY: u8 = 2;

/// A flow's objects, as reports have them.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    words: [u64; 5],
    objects: u32,
    bytes: u64,
    digest: u64,
}

impl Summary {
    const SIZE: usize = 1 + 40 + 4 + 8 + 8;

    fn put(&self) -> [u8; Self::SIZE] {
        let mut piece = [0; Self::SIZE];
        piece[0] = SUMMARY;
        self.words.put(&mut piece[1..]);
        self.objects.put(&mut piece[41..]);
        self.bytes.put(&mut piece[45..]);
        self.digest.put(&mut piece[53..]);
        piece
    }

    fn get(piece: &[u8]) -> Option<Self> {
        let [SUMMARY, bytes @ ..] = <&[u8; Self::SIZE]>::try_from(piece).ok()? else {
            return None;
        };
        Some(Self {
            words: <[u64; 5]>::get(bytes)?,
            objects: u32::get(&bytes[40..])?,
            bytes: u64::get(&bytes[44..])?,
            digest: u64::get(&bytes[52..])?,
        })
    }

    fn describe(&self, item: &mut DescribeItem<'_>) {
        let mut key = [0; 40];
        self.words.put(&mut key);
        item(&key, &mut |to| {
            to.open();
            to.field("flow");
            self.words.describe(to);
            to.field("objects");
            to.number(self.objects.into());
            to.field("bytes");
            to.number(self.bytes.into());
            to.field("digest");
            to.text(&format_args!("{:016x}", self.digest));
            to.close();
        });
    }
}

/// A digest of bytes that follows another one.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(before ^ bytes.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (digest ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

impl<S: ObjectState> Objects<S> {
    /// Visits the flows with objects that are alive at `now`.
    pub(super) fn each_alive(&self, now: u64, visit: &mut dyn FnMut(u32)) {
        for number in 0..self.store.owners.made() {
            let has_some = self.store.owners.get(number).is_some_and(|owner| owner.objects > 0);
            if has_some && !self.has_expired(number, now) {
                visit(number);
            }
        }
    }

    fn summary(&self, number: u32) -> Summary {
        let Some(owner) = self.store.owners.get(number) else { return Summary::default() };
        let mut summary = Summary { words: owner.words, objects: owner.objects, ..<_>::default() };
        let mut head = [0; super::LONGEST_HEAD];
        self.store.each(number, &mut |place| {
            let object = self.store.blocks.object(place);
            object.head.put(&mut head);
            let serial = self.store.blocks.head(place).serial;
            let of_head = digest(u64::from(serial), head.get(..S::SIZE).unwrap_or_default());
            // In any order: the sides need not keep one.
            summary.digest = summary.digest.wrapping_add(digest(of_head, &object.bytes));
            summary.bytes += object.bytes.len() as u64;
        });
        summary
    }

    pub(super) fn export_summaries(&self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.each_alive(now, &mut |number| piece(&self.summary(number).put()));
    }
}

/// Ids stand in messages, which are their payload.
impl<S: ObjectState> Told for Objects<S> {
    const READS_PAYLOAD: bool = true;
}

impl<S: ObjectState> Described for Objects<S> {
    fn describe(&self, now: u64, item: &mut DescribeItem<'_>) {
        self.each_alive(now, &mut |number| self.summary(number).describe(item));
    }

    fn import(
        &mut self,
        piece: &[u8],
        _: u64,
        item: &mut DescribeItem<'_>,
    ) -> Result<(), Malformed> {
        Summary::get(piece).ok_or(Malformed)?.describe(item);
        Ok(())
    }
}
