//! Buckets that move between shards, at a half that [receives its own](Sides::Dealt).
//!
//! The wire says which buckets are whose, in records between the frames. A move of some buckets
//! from one shard to another, as the two see it:
//!
//! ```text
//!   the one that gives                     the one that gets
//!   Leaving  goes on; its time stops       Coming   holds packets of these buckets
//!   Going    no more packets come:
//!            Entry…, Value…, Gone    →     Entry…, Value…
//!                                          Arrived  runs what it held; they are its own
//! ```
//!
//! The wire gets what is given behind all output of the one that gives, and passes it on. So the
//! packets of a flow leave in order.
//!
//! Each bucket is a flow, by its number: its entries are in the tables' lists of that flow.
//!
//! Time: a packet that is held at one shard is older than others that run meanwhile, at both. An
//! entry that it finds must not be freed by their time. So from `Leaving` and `Coming` on, the
//! [low watermark](cora_core::state::Visit::horizon) stays where it is, until the move is over.
//!
//! A packet of a bucket that is neither owned nor expected goes back to the wire, as a stray.
//!
//! [`Sides::Dealt`]: cora_core::app::Sides::Dealt

use cora_core::app::{App, Sides};
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::state::table::transfer::ImportError;
use cora_core::state::{MAX_PIECE, NO_FLOW};

use crate::channel::ProtocolError;
use crate::link::message::{Deals, Kind, Message};
use crate::ownership::entries;
use crate::state_hash::{Say, say_words};

/// Entries that a half gives in a row, between two bursts.
const AT_ONCE: u32 = 64;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// It runs.
    Own,
    /// It is held until the bucket is here.
    Expected,
    /// It is another shard's.
    Strange,
}

/// The half's part in a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// None.
    Rests,
    /// These buckets are to be given.
    Leaves,
    /// They are being given.
    Gives,
    /// They are to come.
    Expects,
}

/// What the run loop has to do after a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// The move is over: held packets run, as far as their buckets are here.
    Drain,
}

/// The buckets of a half.
#[derive(Debug)]
pub(crate) struct Dealing {
    own: BucketSet,
    part: Part,
    epoch: u64,
    /// The buckets that move.
    moving: BucketSet,
    /// The low watermark while they do.
    floor: u64,
    /// Entries and values that came or went, and entries for which there was no room.
    pub(crate) moved: u64,
    pub(crate) refused: u64,
}

impl Dealing {
    /// All buckets are the half's, until the wire says otherwise.
    pub(crate) const fn all() -> Self {
        Self {
            own: BucketSet::ALL,
            part: Part::Rests,
            epoch: 0,
            moving: BucketSet::EMPTY,
            floor: u64::MAX,
            moved: 0,
            refused: 0,
        }
    }

    /// What becomes of a packet of this bucket.
    #[inline(always)]
    pub(crate) const fn whose(&self, bucket: Bucket) -> Whose {
        if self.own.has(bucket) { Whose::Own } else { self.of_others(bucket) }
    }

    #[cold]
    const fn of_others(&self, bucket: Bucket) -> Whose {
        if matches!(self.part, Part::Expects) && self.moving.has(bucket) {
            Whose::Expected
        } else {
            Whose::Strange
        }
    }

    /// The low watermark for a packet of this time.
    #[inline(always)]
    pub(crate) const fn horizon(&self, now: u64) -> u64 {
        if now < self.floor { now } else { self.floor }
    }

    /// The flow of a bucket's entries.
    #[inline(always)]
    pub(crate) const fn flow<A: App>(bucket: Bucket) -> u32 {
        if const { matches!(A::PLAN.sides, Sides::Dealt) } {
            bucket.number() as u32
        } else {
            NO_FLOW
        }
    }

    /// Whether [`Self::give`] has work.
    #[inline]
    pub(crate) const fn is_giving(&self) -> bool {
        matches!(self.part, Part::Gives)
    }

    /// Whether no bucket is to come or to go.
    pub(crate) const fn is_settled(&self) -> bool {
        matches!(self.part, Part::Rests)
    }

    /// Handles a record of the wire. `now` is the time of the latest packet here.
    ///
    /// # Errors
    /// If it has no place here.
    #[cold]
    #[inline(never)]
    pub(crate) fn message<A: App>(
        &mut self,
        message: Deals<'_>,
        now: u64,
        app: &mut A,
    ) -> Result<Then, ProtocolError> {
        let unexpected = ProtocolError::unexpected(&message.into());
        match (message, self.part) {
            (Deals::Owns { buckets }, Part::Rests) => self.own = set(buckets, Kind::Owns)?,
            (Deals::Leaving { epoch, buckets }, Part::Rests) => {
                self.begin(Part::Leaves, epoch, set(buckets, Kind::Leaving)?, now);
            }
            (Deals::Coming { epoch, buckets }, Part::Rests) => {
                self.begin(Part::Expects, epoch, set(buckets, Kind::Coming)?, now);
            }
            (Deals::Going { epoch }, Part::Leaves) if epoch == self.epoch => {
                self.part = Part::Gives;
                self.own = self.own.without(self.moving);
            }
            (Deals::Stays { epoch, buckets }, Part::Leaves | Part::Expects)
                if epoch == self.epoch =>
            {
                self.moving = self.moving.without(set(buckets, Kind::Stays)?);
                if self.moving.is_empty() {
                    return Ok(Then::Drain);
                }
            }
            (Deals::Moved { epoch, bucket, state, piece }, Part::Expects)
                if epoch == self.epoch =>
            {
                self.entry(bucket, (state, piece), app)?;
            }
            (Deals::Value { epoch, state, piece }, Part::Expects) if epoch == self.epoch => {
                self.value((state, piece), app)?;
            }
            (Deals::Void { epoch }, Part::Expects) if epoch == self.epoch => {
                for bucket in self.moving.iter() {
                    entries::each_travelling(app, &mut |_, table| {
                        table.remove_flow(bucket.number() as u32);
                    });
                }
            }
            (Deals::Arrived { epoch }, Part::Expects) if epoch == self.epoch => {
                self.own = self.own.or(self.moving);
                return Ok(Then::Drain);
            }
            _ => return Err(unexpected),
        }
        Ok(Then::Nothing)
    }

    const fn begin(&mut self, part: Part, epoch: u64, buckets: BucketSet, now: u64) {
        (self.part, self.epoch, self.moving, self.floor) = (part, epoch, buckets, now);
    }

    /// The move is over here.
    pub(crate) const fn settle(&mut self) {
        (self.part, self.moving, self.floor) = (Part::Rests, BucketSet::EMPTY, u64::MAX);
    }

    /// Installs an entry of a bucket that comes. Without room for it, it is refused and counted:
    /// the other shard had more room than this one.
    fn entry<A: App>(
        &mut self,
        bucket: u16,
        (state, piece): (u16, &[u8]),
        app: &mut A,
    ) -> Result<(), ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        let number = u8::try_from(bucket).map_err(|_| bad)?;
        if !self.moving.has(Bucket::new(number)) || usize::from(state) >= A::STATES {
            return Err(bad);
        }
        let table = app.state(usize::from(state)).as_travelling().ok_or(bad)?;
        let capacity = table.capacity();
        match table.import_entry(piece, number.into(), capacity) {
            Ok(_) => self.moved += 1,
            Err(ImportError::Refused(_)) => self.refused += 1,
            Err(ImportError::Malformed(_)) => return Err(bad),
        }
        Ok(())
    }

    /// Takes a piece of the value of a bucket that comes.
    fn value<A: App>(
        &mut self,
        (state, piece): (u16, &[u8]),
        app: &mut A,
    ) -> Result<(), ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES || piece.len() > MAX_PIECE {
            return Err(bad);
        }
        let home = app.state(usize::from(state));
        let bucket = home.bucket_of(piece).ok_or(bad)?;
        if !self.moving.has(bucket) {
            return Err(bad);
        }
        self.moved += 1;
        home.merge(piece).map_err(|_| bad)
    }

    /// Gives entries of the buckets that go, some at a time, and behind the last one their values.
    #[cold]
    #[inline(never)]
    pub(crate) fn give<A: App>(&mut self, app: &mut A, say: &mut dyn FnMut(&Message<'_>)) {
        let (mut left, epoch) = (AT_ONCE, self.epoch);
        for bucket in self.moving.iter() {
            let number = bucket.number() as u16;
            let given =
                entries::take_out(app, number.into(), self.floor, left, &mut |state, piece| {
                    say(&Deals::Moved { epoch, bucket: number, state, piece }.into());
                });
            self.moved += u64::from(given);
            left -= given;
            if left == 0 {
                return;
            }
        }
        for bucket in self.moving.iter() {
            each_value(app, bucket, &mut |state, piece| {
                self.moved += 1;
                say(&Deals::Value { epoch, state, piece }.into());
            });
        }
        say(&Deals::Gone { epoch }.into());
        self.settle();
    }

    /// Gives everything that decides later packets to `say`.
    pub(crate) fn hash(&self, say: &mut Say<'_>) {
        say(&self.own.to_bytes());
        say(&self.moving.to_bytes());
        say_words(say, &[self.part as u64, self.epoch, self.floor]);
    }
}

/// Visits the pieces of a bucket's values, each with the number of its state.
pub fn each_value<A: App>(app: &mut A, bucket: Bucket, visit: &mut dyn FnMut(u16, &[u8])) {
    for number in 0..A::STATES {
        app.state(number).export_bucket(bucket, &mut |piece| visit(number as u16, piece));
    }
}

/// The set of buckets with this encoding.
fn set(bytes: &[u8], kind: Kind) -> Result<BucketSet, ProtocolError> {
    let bytes = bytes.try_into().map_err(|_| ProtocolError::Undecodable(kind))?;
    Ok(BucketSet::from_bytes(bytes))
}
