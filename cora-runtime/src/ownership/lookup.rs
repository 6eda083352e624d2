//! Flow lookup: the known flow that a packet belongs to.
//!
//! A flow is found by its group key in either direction: both are the same flow, even if no state
//! has a reply key. It is also found by any key of its entries, since a NAT's replies carry a key
//! of their own, or by a key that is announced for entries on their way. Such an exact key has
//! precedence over the flow that the packet's group key would be a reply of. While no entry has a
//! key of its own, the records alone decide. Then a packet without a record for its group key has
//! no known flow. Mostly one line of the records' index shows that, in the prefetch stage.
//!
//! If flows are [grouped](App::GROUPED) by an address, the records alone always decide: a packet
//! finds only entries of its own group.

use cora_core::app::App;
use cora_core::key::{Key as _, PacketKey as _};
use cora_core::packet::Packet;
use cora_core::state::table::Direction;
use cora_core::state::table::prefetch::Probed;
use cora_core::state::{NO_FLOW, Visit};

use crate::ownership::entries::each_travelling;
use crate::ownership::records::{FlowRecord, Flows};

/// The flow that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// Its number.
    pub(crate) flow: u32,
    /// Otherwise its group key is only what a reply of the flow would have. No entry here has it,
    /// but one of another flow may at the other side.
    pub(crate) is_sure: bool,
}

impl Match {
    const fn sure(flow: u32) -> Self {
        Self { flow, is_sure: true }
    }
}

impl<A: App, R: FlowRecord> Flows<A, R> {
    /// Begins a packet at `now`, number `ahead` of its burst. No packet older than `horizon` will
    /// come.
    #[inline]
    pub(crate) fn begin(&mut self, now: u64, horizon: u64, ahead: u8) {
        self.records.begin(Visit { now, horizon, undo: false, flow: NO_FLOW, ahead });
    }

    /// Prefetches the index line for packet `number` of the burst.
    #[inline(always)]
    pub(crate) fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        self.records.prefetch_index_by(number, |hasher, undirected| {
            A::Group::hash_of_packet(packet, hasher, undirected)
        });
    }

    /// Prefetches the record that the index line names. By now, all packets of the burst had their
    /// [`Self::prefetch_index`].
    #[inline]
    pub(crate) fn prefetch_record(&mut self, number: u8, group: impl FnOnce() -> Option<A::Group>) {
        self.records.prefetch_entry(number, group);
    }

    /// [`Self::prefetch_record`]. Returns whether the index line shows that there is no record for
    /// the group key.
    #[inline(always)]
    pub(crate) fn prefetch_and_probe(
        &mut self,
        number: u8,
        group: impl FnOnce() -> Option<A::Group>,
    ) -> bool {
        self.records.prefetch_and_probe(number, group) == Probed::Nowhere
    }

    /// Notes the packets of the burst without a record for their group key, a bit each. Returns
    /// those of `all` that may belong to a known flow.
    #[inline(always)]
    pub(crate) fn note_unknown(&mut self, all: u32, unknown: u32) -> u32 {
        self.unknown = unknown.into();
        if self.other_keys { all } else { all & !unknown }
    }

    /// Prefetches the record with this number.
    #[inline(always)]
    pub(crate) fn prefetch(&self, flow: u32) {
        self.records.prefetch(flow);
    }

    /// Prefetches the places for the record of a new flow with this group key, and for an entry
    /// with that key.
    pub(crate) fn prefetch_new(&self, app: &mut A, group: &A::Group) {
        self.records.prefetch_new(group);
        each_travelling(app, &mut |_, table| table.prefetch_new(group.in_table().0));
    }

    /// Whether the prefetch stage showed that packet `number` of the burst belongs to no known
    /// flow.
    #[inline(always)]
    pub(crate) fn is_unknown(&self, number: u8) -> bool {
        // The bit of `ALONE` is never set.
        self.unknown >> (number % 64) & 1 != 0 && !self.other_keys
    }

    /// The flow of a packet with this group key. An idle flow counts as unknown, unless packets of
    /// it are [held](FlowRecord::is_held): `left` is the number of packets that ever left the hold
    /// queue. `announced` finds the flow of an entry with this key that is on its way.
    #[inline]
    pub(crate) fn find(
        &mut self,
        app: &mut A,
        group: &A::Group,
        now: u64,
        left: u64,
        announced: impl FnOnce() -> Option<u32>,
    ) -> Option<Match> {
        self.seek(app, group, now, left, announced).ok()
    }

    /// As [`Self::find`]; the error is the flow that it would give if that were not idle.
    #[inline]
    pub(crate) fn seek(
        &mut self,
        app: &mut A,
        group: &A::Group,
        now: u64,
        left: u64,
        announced: impl FnOnce() -> Option<u32>,
    ) -> Result<Match, Option<u32>> {
        let found = match self.records.find(group) {
            Some((flow, Direction::Original)) => Match::sure(flow),
            // All entries have the keys of their flows, so their packets find the record.
            other if !self.other_keys => Match::sure(other.ok_or(None)?.0),
            other => match self.find_by_entry(app, group, now).or_else(announced) {
                Some(flow) => Match::sure(flow),
                None => Match { flow: other.ok_or(None)?.0, is_sure: false },
            },
        };
        let record = self.records.entry(found.flow).ok_or(None)?;
        let recent = now.saturating_sub(record.used.get()) < self.idle;
        if !recent && !record.value.0.is_held(left) {
            return Err(Some(found.flow));
        }
        record.used.set(now.max(record.used.get()));
        Ok(found)
    }

    fn find_by_entry(&self, app: &mut A, group: &A::Group, now: u64) -> Option<u32> {
        let (mut found, ahead) = (None, self.records.ahead());
        each_travelling(app, &mut |_, table| {
            found = found.or_else(|| table.flow_of(group.in_table(), now, ahead));
        });
        found
    }

    /// Notes the keys of the entries of a flow that will come, in addition to its group key.
    pub(crate) fn expect_keys(
        &mut self,
        group: &A::Group,
        mut keys: impl Iterator<Item = [u64; 5]>,
    ) {
        let reply = group.reply().map(|reply| reply.words());
        if const { A::GROUPED } {
            return;
        }
        self.other_keys |= keys.any(|words| Some(words) != reply);
    }

    /// Notes that entries with keys of any kind may have joined a flow.
    pub(crate) const fn may_have_other_keys(&mut self, joined: bool) {
        self.other_keys |= joined && !A::GROUPED;
    }

    /// Entries joined the flow: notes whether one of them has a key that does not find the flow's
    /// record.
    #[inline(never)]
    pub(crate) fn note_keys(&mut self, app: &mut A, flow: u32) {
        let known = self.other_keys || const { A::GROUPED };
        let Some(group) = self.group(flow).filter(|_| !known) else { return };
        let (own, reply) = (group.words(), group.reply().map(|reply| reply.words()));
        each_travelling(app, &mut |_, table| {
            if table.key_type() == A::Group::type_in_table() {
                table.each_key(flow, &mut |words| {
                    self.other_keys |= *words != own && Some(*words) != reply;
                });
            }
        });
    }
}
