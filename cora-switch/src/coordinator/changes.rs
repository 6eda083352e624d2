//! Steps of the move under way, and effects of deaths on it.

use super::asking::{self, Asking};
use super::moving::{Entries, Held, Move};
use super::report::Phase;
use super::wishes::Wish;
use super::{Coordinator, is_up};
use crate::Shard;
use crate::records::Told;
use crate::rules::Rule;

impl Coordinator {
    /// Takes all steps that can be taken now: ends one move, and begins the next. None begins
    /// before the deal is in force.
    pub(super) fn go_on(&mut self, now_ns: u64) {
        if !self.is_placed() {
            return;
        }
        while self.moving.is_none() || self.is_answered() {
            let phase = self.moving.as_ref().map(|moving| moving.phase);
            let goes_on = match phase {
                None => self.begin(now_ns),
                Some(Phase::Inserting) => self.hand_over(now_ns),
                Some(Phase::Handing) => false,
                Some(Phase::Removing) => self.end(now_ns),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn is_answered(&self) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.asking.unanswered() == 0)
    }

    /// Step 1: both owners learn of the move, before the first rule is asked for. Returns whether
    /// there is a move to begin. The old owner may be down: then its buckets begin afresh.
    fn begin(&mut self, now_ns: u64) -> bool {
        let (peers, owners) = (&self.peers, &self.owners);
        let taken = self.wishes.take(owners, |shard| !is_up(peers, shard));
        let Some((from, Wish { buckets, to })) = taken else { return false };
        self.epoch = self.epoch.next();
        let epoch = self.epoch;
        let rules = buckets.iter().map(|bucket| Rule { bucket, epoch, to });
        self.moving = Some(Move {
            epoch,
            from,
            to,
            buckets,
            phase: Phase::Inserting,
            asking: asking::inserts(rules, now_ns),
            held: Held::default(),
            entries: Entries::default(),
            begun_ns: now_ns,
            packet_ns: self.packet_ns,
        });
        self.tell(from, Told::Leaving { epoch, buckets });
        self.tell(to, Told::Coming { epoch, buckets });
        true
    }

    /// Step 3: all insertions were answered, so the marker is behind all frames that took old
    /// rules. Returns whether anything changed: a new owner that is down is waited for, and the old
    /// one goes on meanwhile.
    fn hand_over(&mut self, now_ns: u64) -> bool {
        self.keep_refused();
        let Some(moving) = &self.moving else { return true };
        let (from, to, epoch) = (moving.from, moving.to, moving.epoch);
        if moving.buckets.is_empty() {
            self.moving = None;
        } else if !self.is_up(from) {
            // No frame will reach it any more, and there are no entries.
            self.arrive(true, now_ns);
        } else if self.is_up(to) {
            self.tell(from, Told::Going { epoch });
            self.set_phase(Phase::Handing, Asking::default());
        } else {
            return false;
        }
        true
    }

    /// Buckets without a rule stay where they are. No frame of theirs took a new rule.
    fn keep_refused(&mut self) {
        let Some(moving) = &mut self.moving else { return };
        let buckets = std::mem::take(&mut moving.asking.refused);
        if buckets.is_empty() {
            return;
        }
        moving.buckets = moving.buckets.without(buckets);
        // The new owner returns those that it holds nevertheless: at most all.
        let (from, to, epoch, frames) = (moving.from, moving.to, moving.epoch, moving.held.frames);
        self.totals.stayed += buckets.len() as u64;
        self.tell(from, Told::Stays { epoch, buckets });
        self.tell(to, Told::Stays { epoch, buckets });
        self.expect_strays(to, frames);
    }

    /// Step 5: the new owner has all entries, or begins afresh. The old rules, of lower priority,
    /// are no longer needed.
    pub(super) fn arrive(&mut self, is_afresh: bool, now_ns: u64) {
        let Some(moving) = &mut self.moving else { return };
        moving.held = Held::default();
        let (to, epoch, buckets) = (moving.to, moving.epoch, moving.buckets);
        self.totals.voids += u64::from(is_afresh || moving.entries.are_void);
        if is_afresh {
            self.tell(to, Told::Void { epoch });
        }
        self.tell(to, Told::Arrived { epoch });
        let change = |bucket| self.owners.change(bucket, to, epoch);
        let old: Vec<Rule> = buckets.iter().map(change).collect();
        self.set_phase(Phase::Removing, asking::removals(old.into_iter(), now_ns));
    }

    /// A shard died. What the move loses, it begins afresh.
    pub(super) fn lose(&mut self, shard: Shard, now_ns: u64) {
        let Some(moving) = &mut self.moving else { return };
        if shard == moving.from && moving.phase == Phase::Handing {
            // All frames of old rules were in front of the marker, and are lost.
            self.arrive(true, now_ns);
        } else if shard == moving.to && moving.is_held() {
            moving.held = Held::default();
            moving.entries.are_void |= moving.entries.are_there;
        }
        // An old owner that dies before the marker begins afresh when it runs again, since old
        // rules still lead to it. If all new rules are in force before, the new owner does.
    }

    /// A shard runs again, and learns of the move in front of all frames.
    pub(super) fn rejoin(&mut self, shard: Shard) {
        let Some(moving) = self.moving.as_ref().filter(|moving| moving.is_held()) else { return };
        let (epoch, buckets, is_void) = (moving.epoch, moving.buckets, moving.entries.are_void);
        if shard == moving.from {
            self.tell(shard, Told::Leaving { epoch, buckets });
        } else if shard == moving.to {
            self.tell(shard, Told::Coming { epoch, buckets });
            if is_void {
                self.tell(shard, Told::Void { epoch });
            }
        }
    }

    fn set_phase(&mut self, phase: Phase, asking: Asking) {
        if let Some(moving) = &mut self.moving {
            (moving.phase, moving.asking) = (phase, asking);
        }
    }

    fn end(&mut self, now_ns: u64) -> bool {
        let Some(moving) = self.moving.take() else { return false };
        let took_ns = now_ns.saturating_sub(moving.begun_ns);
        let totals = &mut self.totals;
        totals.moves += 1;
        totals.last_ns = took_ns;
        totals.longest_ns = totals.longest_ns.max(took_ns);
        totals.all_ns = totals.all_ns.saturating_add(took_ns);
        true
    }
}
