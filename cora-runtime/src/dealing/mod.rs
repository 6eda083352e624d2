//! Buckets that move between shards, at a half that [receives its own](Sides::Dealt).
//!
//! The wire says which buckets are whose, in records between the frames. A move of some buckets
//! from one shard to another, as the two see it:
//!
//! ```text
//!   the one that gives                     the one that gets
//!   Leaving  goes on; its time stops       Coming   holds packets of these buckets
//!   Going    no more packets come:
//!            Moved…, Waits…, Value…, Gone  → …
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
//! [low watermark](cora_core::state::Visit::horizon) stays at the wire's time, until the move is
//! over.
//!
//! For the same reason, entries that ended and wait for their hooks are kept
//! [apart](cora_core::state::table::apart) meanwhile. By the wire's limit, a move takes less packet
//! time than passes between an end and its hook. So no hook is due of an entry that is not known to
//! have ended. The wire lets no tick of a timer pass amid a move.
//!
//! A packet of a bucket that is neither owned nor expected goes back to the wire, as a stray.
//!
//! [`Sides::Dealt`]: cora_core::app::Sides::Dealt

use cora_core::app::{App, Sides};
use cora_core::bucket::{Bucket, BucketSet};
use cora_core::packet::Meta;
use cora_core::state::table::EndedIn;
use cora_core::state::table::transfer::ImportError;
use cora_core::state::{MAX_PIECE, NO_FLOW};

use crate::channel::ProtocolError;
use crate::hooks;
use crate::link::message::{Deals, Kind, Message, Stamp};
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
    /// Entries for which there was no room here, since the half was last asked.
    refused: u64,
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

    /// The low watermark for a packet of this time, and for what is due before it.
    #[inline(always)]
    pub(crate) const fn horizon<A: App>(&self, now: u64) -> u64 {
        let stays = const { matches!(A::PLAN.sides, Sides::Dealt) } && now >= self.floor;
        if stays { self.floor } else { now }
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

    /// The name of a bucket among replicas, as that of the flow of its entries; `None` if flows are
    /// no buckets.
    pub(crate) const fn name<A: App>(flow: u32) -> Option<[u8; 1]> {
        if Self::flow::<A>(Bucket::new(0)) == NO_FLOW { None } else { Some([flow as u8]) }
    }

    /// The flow with this name.
    pub(crate) fn named<A: App>(name: &[u8]) -> Option<u32> {
        let number = name.first()?;
        (Self::flow::<A>(Bucket::new(0)) != NO_FLOW).then_some((*number).into())
    }

    /// A packet is about to run. Of a bucket that is about to go, it brings about what waits for
    /// such packets alone.
    #[inline(always)]
    pub(crate) fn time_comes<A: App>(&self, stamp: &Stamp, app: &mut A) {
        let Meta { now, mark, .. } = stamp.meta;
        if const { matches!(A::PLAN.sides, Sides::Dealt) && !A::HOOKED.is_empty() }
            && matches!(self.part, Part::Leaves)
            && self.moving.has(mark.bucket)
        {
            app.each_apart(&mut |_, table| table.join_due(now));
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

    /// Handles a record of the wire. What is due by the [time](begins) of one that begins a move
    /// has run.
    ///
    /// # Errors
    /// If it has no place here.
    #[cold]
    #[inline(never)]
    pub(crate) fn message<A: App>(
        &mut self,
        message: Deals<'_>,
        app: &mut A,
    ) -> Result<Then, ProtocolError> {
        let unexpected = ProtocolError::unexpected(&message.into());
        match (message, self.part) {
            (Deals::Owns { buckets }, Part::Rests) => {
                self.owns(set(buckets, Kind::Owns)?, app);
                // Replicas that a half found may be of buckets that it no longer has.
                forget(app, BucketSet::ALL.without(self.own));
                keep_apart(app, BucketSet::EMPTY);
            }
            (Deals::Leaving { epoch, now, buckets }, Part::Rests) => {
                self.begin(Part::Leaves, epoch, set(buckets, Kind::Leaving)?, now, app);
            }
            (Deals::Coming { epoch, now, buckets }, Part::Rests) => {
                self.begin(Part::Expects, epoch, set(buckets, Kind::Coming)?, now, app);
            }
            (Deals::Going { epoch }, Part::Leaves) if epoch == self.epoch => {
                self.part = Part::Gives;
                self.owns(self.own.without(self.moving), app);
            }
            (Deals::Stays { epoch, buckets }, Part::Leaves | Part::Expects)
                if epoch == self.epoch =>
            {
                self.moving = self.moving.without(set(buckets, Kind::Stays)?);
                keep_apart(app, self.moving);
                if self.moving.is_empty() {
                    return Ok(Then::Drain);
                }
            }
            (Deals::Moved { epoch, bucket, state, piece }, Part::Expects)
                if epoch == self.epoch =>
            {
                self.entry(bucket, (state, piece), app)?;
            }
            (Deals::Waits { epoch, bucket, state, end, piece }, Part::Expects)
                if epoch == self.epoch =>
            {
                self.over(state, (bucket, end, piece), app)?;
            }
            (Deals::Value { epoch, state, piece }, Part::Expects) if epoch == self.epoch => {
                self.value((state, piece), app)?;
            }
            (Deals::Void { epoch }, Part::Expects) if epoch == self.epoch => {
                forget(app, self.moving);
            }
            (Deals::Arrived { epoch }, Part::Expects) if epoch == self.epoch => {
                self.owns(self.own.or(self.moving), app);
                keep_apart(app, BucketSet::EMPTY);
                return Ok(Then::Drain);
            }
            _ => return Err(unexpected),
        }
        Ok(Then::Nothing)
    }

    /// These are its own from now on. Timers run for them.
    fn owns<A: App>(&mut self, own: BucketSet, app: &mut A) {
        self.own = own;
        app.own_buckets(own);
    }

    fn begin<A: App>(&mut self, part: Part, epoch: u64, buckets: BucketSet, now: u64, app: &mut A) {
        (self.part, self.epoch, self.moving, self.floor) = (part, epoch, buckets, now);
        // Hooks that may become due amid the move are of entries that are known to have ended.
        hooks::each_hooked(app, &mut |_, table| _ = table.expire_by(now));
        keep_apart(app, buckets);
    }

    /// Entries for which there was no room since the last call.
    pub(crate) const fn take_refused(&mut self) -> u64 {
        core::mem::replace(&mut self.refused, 0)
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
            // A host half keeps a copy, which nothing else would have it make before a packet
            // changes the entry. A NIC half keeps none.
            Ok(_) if cfg!(not(target_os = "none")) && A::DURABLE => {
                if let Some(durable) = table.as_durable() {
                    durable.changed(piece);
                }
            }
            Ok(_) => {}
            Err(ImportError::Refused(_)) => self.refused += 1,
            Err(ImportError::Malformed(_)) => return Err(bad),
        }
        Ok(())
    }

    /// Takes an entry of a bucket that comes, whose hook has not run.
    fn over<A: App>(
        &mut self,
        of: u16,
        (bucket, end, piece): (u16, u64, &[u8]),
        app: &mut A,
    ) -> Result<(), ProtocolError> {
        let bad = ProtocolError::BadPiece(of);
        let bucket = Bucket::new(u8::try_from(bucket).map_err(|_| bad)?);
        if !self.moving.has(bucket) {
            return Err(bad);
        }
        let mut taken = Err(bad);
        app.each_apart(&mut |state, table| {
            if state == of {
                taken = table.take(EndedIn { bucket, end, piece }).map_err(|_| bad);
            }
        });
        taken
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
        home.merge(piece).map_err(|_| bad)
    }

    /// Gives entries of the buckets that go, some at a time, and behind the last one those that
    /// have ended, and the values.
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
            left -= given;
            if left == 0 {
                return;
            }
        }
        app.each_apart(&mut |state, table| {
            table.give(&mut |EndedIn { bucket, end, piece }| {
                let bucket = bucket.number() as u16;
                say(&Deals::Waits { epoch, bucket, state, end, piece }.into());
            });
        });
        keep_apart(app, BucketSet::EMPTY);
        for bucket in self.moving.iter() {
            each_value(app, bucket, &mut |state, piece| {
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

/// Expired entries of these buckets wait for packets of their own.
fn keep_apart<A: App>(app: &mut A, buckets: BucketSet) {
    app.each_apart(&mut |_, table| table.keep_apart(buckets));
}

/// Whatever the half has of these buckets is void: nothing happens because of it.
fn forget<A: App>(app: &mut A, buckets: BucketSet) {
    for bucket in buckets.iter() {
        // At time 0 every entry is alive, so none ends.
        entries::take_out(app, bucket.number() as u32, 0, u32::MAX, &mut |_, _| {});
    }
    app.each_apart(&mut |_, table| {
        table.keep_apart(buckets);
        table.give(&mut |_| {});
    });
}

/// The time at the wire when a move begins with this record. No packet that the half gets later is
/// older, and whatever is due by then happens before. `None` before the first packet, too: with
/// that one time begins.
pub(crate) const fn begins(message: &Deals<'_>) -> Option<u64> {
    match *message {
        Deals::Leaving { now, .. } | Deals::Coming { now, .. } if now > 0 => Some(now),
        _ => None,
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
