//! Hooks of expired entries (`#[on_expire]`) and timers (`#[every]`), under a plan with two sides.
//!
//! Timers run with the hooks, in the order of their times. A hook runs where every state is: at the
//! host, and under nic-only at the NIC. It runs [`DELAY`] after its entry's end, before the first
//! packet from then on. So before the NIC passes on a packet of time t, the host must know each
//! entry that ended by t − `DELAY`:
//!
//! - The NIC's own: it expires them and tells the host, in front of the packet ([`tell_ends`]).
//! - The host's own: it expires them itself, up to the packet's time.
//! - Those on their way to the NIC: at the offer's fence they were alive. The NIC tells its time in
//!   front of the fence, and the host ends the entries that expired by then. As long as t is less
//!   than `DELAY` later, their ends don't matter. Otherwise the packet waits for the transfer
//!   ([`Transit`](crate::ownership::nic::Transit)).
//! - Those on their way to the host are in front of the packet on the ring.
//!
//! Packets for the host leave the NIC in order of arrival (`host_ordered`), so t never runs
//! backwards. The NIC also tells its time ([`TICK`]) while it passes nothing on, so that hooks run
//! in time. Before a change of read-mostly states is in force it does so, too.
//!
//! With several shards, timers have to begin at the same time at each of them, and none may take
//! its own silence for the program's. So the wire tells all shards when an epoch begins, as it does
//! for [merges](crate::merges): at least that time has passed. A host runs timers for the buckets
//! of its shard.

#[cfg(test)]
mod tests;

use cora_core::app::App;
use cora_core::state::table::Hooked;
use cora_core::state::table::hooked::DELAY;

use crate::channel::PeerOutbox;
use crate::link::message::Hooks;
use crate::state_hash::{Say, say_words};

/// The NIC tells its time to the host at this interval (ns of packet time).
pub(crate) const TICK: u64 = DELAY / 10;

/// Visits the tables whose entries' ends have a hook, with their state numbers.
pub(crate) fn each_hooked<A: App>(app: &mut A, visit: &mut dyn FnMut(u16, &mut dyn Hooked)) {
    for number in A::HOOKED {
        if let Some(table) = app.state(*number).as_travelling().and_then(|table| table.as_hooked())
        {
            visit(*number as u16, table);
        }
    }
}

/// Expires the entries at the NIC that ended by `now`, and tells the host of all that ended.
#[inline(never)]
pub(crate) fn tell_ends<A: App>(app: &mut A, now: u64, out: &mut impl PeerOutbox) {
    each_hooked(app, &mut |state, table| {
        // Each round makes room for the next.
        while {
            let all = table.expire_by(now);
            tell(state, table, out);
            !all
        } {}
    });
}

/// Expires the flow's entries that ended by `now`, before the others move: the flow's replicas then
/// are of these alone.
#[inline(never)]
pub(crate) fn end_of_flow<A: App>(app: &mut A, flow: u32, now: u64) {
    each_hooked(app, &mut |_, table| table.expire_flow(flow, now));
}

/// Tells the host of the ends that were noticed, before their replicas are erased.
pub(crate) fn tell_noticed<A: App>(app: &mut A, out: &mut impl PeerOutbox) {
    each_hooked(app, &mut |state, table| tell(state, table, out));
}

/// Tells the host of the ended entries of one table.
fn tell(state: u16, table: &mut dyn Hooked, out: &mut impl PeerOutbox) {
    table.tell_expired(&mut |piece| out.send(&Hooks::Over { state, piece }.into()));
}

/// Gives the ended entries to `say`, for an explorer of all schedules.
pub(crate) fn hash<A: App>(app: &mut A, say: &mut Say<'_>) {
    each_hooked(app, &mut |state, table| {
        say_words(say, &[state.into()]);
        table.each_expired(say);
    });
}

/// Forgets the ended entries: the states that their hooks would change are gone.
#[cold]
pub(crate) fn discard<A: App>(app: &mut A) {
    each_hooked(app, &mut |_, table| table.discard_expired());
}
