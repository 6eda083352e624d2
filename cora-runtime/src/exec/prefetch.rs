//! Prefetching for a burst: the entries and flow records that its packets will look up.

use cora_core::app::App;
use cora_core::key::PacketKey as _;

use crate::exec::burst::{Arrival, BURST, Burst};
use crate::exec::engine::Engine;
use crate::ownership::records::{FlowRecord, Flows};

/// Prefetches the entries that the packets will look up in the states and, if given, in `flows`.
/// The first stage prefetches index lines, the second the entries that they name. Hashing is not
/// part of parsing, because one loop with both has too few registers.
#[inline(always)]
pub(crate) fn prefetch_burst<A: App, R: FlowRecord>(
    burst: &Burst<'_>,
    engine: &mut Engine<A>,
    mut flows: Option<&mut Flows<A, R>>,
) {
    const { assert!(BURST <= u32::BITS as usize) };
    for (number, Arrival { packet, .. }) in burst.numbered() {
        if let Some(flows) = &mut flows {
            flows.prefetch_index(number, packet);
        }
        engine.app().prefetch_index(number, packet);
    }
    let mut unknown = 0_u32;
    for (number, Arrival { packet, .. }) in burst.numbered() {
        if let Some(flows) = &mut flows {
            flows.prefetch_record(number, || A::Group::of_packet(packet).ok());
        }
        let known = engine.app().prefetch_entry(number, packet);
        if const { A::FURTHER } {
            unknown |= u32::from(!known) << number;
        }
    }
    if const { A::FURTHER } {
        prefetch_further(burst, engine, unknown);
    }
    if let Some(flows) = flows {
        prefetch_owners(all_of(burst.len()), engine, flows);
    }
}

/// [`prefetch_burst`] for the NIC under a split plan. The NIC runs only packets of its own flows,
/// so states prefetch only for packets that may belong to one. Stale predictions of the other
/// packets are harmless: a prediction counts only if its entry has the key.
#[inline(always)]
pub(crate) fn prefetch_at_nic<A: App, R: FlowRecord>(
    burst: &Burst<'_>,
    engine: &mut Engine<A>,
    flows: &mut Flows<A, R>,
) {
    for (number, Arrival { packet, .. }) in burst.numbered() {
        flows.prefetch_index(number, packet);
    }
    let owned = prefetch_records(burst, flows);
    let packet = |number: u8| burst.arrivals().get(usize::from(number));
    for number in bits(owned) {
        if let Some(arrival) = packet(number) {
            engine.app().prefetch_index(number, &arrival.packet);
        }
    }
    let mut unknown = 0_u32;
    for number in bits(owned) {
        if let Some(arrival) = packet(number) {
            let known = engine.app().prefetch_entry(number, &arrival.packet);
            if const { A::FURTHER } {
                unknown |= u32::from(!known) << number;
            }
        }
    }
    if const { A::FURTHER } {
        prefetch_further(burst, engine, unknown);
    }
    prefetch_owners(owned, engine, flows);
}

/// The second stage for the flows' records. Returns the packets that may belong to a known flow, a
/// bit each.
#[inline(always)]
fn prefetch_records<A: App, R: FlowRecord>(burst: &Burst<'_>, flows: &mut Flows<A, R>) -> u32 {
    let (mut all, mut unknown) = (0_u32, 0_u32);
    for (number, Arrival { packet, .. }) in burst.numbered() {
        let is_unknown = flows.prefetch_and_probe(number, || A::Group::of_packet(packet).ok());
        all |= 1 << number;
        unknown |= u32::from(is_unknown) << number;
    }
    flows.note_unknown(all, unknown)
}

/// Prefetches the owner of each candidate entry, its flow's entry list, and its flow record. The
/// group key of a translated reply does not find that record.
#[inline(never)]
fn prefetch_owners<A: App, R: FlowRecord>(
    packets: u32,
    engine: &mut Engine<A>,
    flows: &Flows<A, R>,
) {
    let app = engine.app();
    for number in bits(packets) {
        app.prefetch_owner(number);
    }
    for number in bits(packets) {
        if let Some(flow) = app.predicted_owner(number) {
            flows.prefetch(flow);
        }
    }
}

/// The first `packets` packets, a bit each.
#[inline(always)]
const fn all_of(packets: usize) -> u32 {
    if packets < BURST { (1 << packets) - 1 } else { u32::MAX }
}

/// The numbers of the set bits, lowest first.
fn bits(mut set: u32) -> impl Iterator<Item = u8> {
    core::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as u8);
        set &= set.wrapping_sub(1);
        lowest
    })
}

/// Prefetches in the further states for the packets with flows that have no entry: one bit of
/// `unknown` each, from the lowest.
#[inline(never)]
fn prefetch_further<A: App>(burst: &Burst<'_>, engine: &mut Engine<A>, unknown: u32) {
    let app = engine.app();
    app.drop_further();
    let packet = |number: u8| burst.arrivals().get(usize::from(number));
    for number in bits(unknown) {
        if let Some(arrival) = packet(number) {
            app.prefetch_further_index(number, &arrival.packet);
        }
    }
    for number in bits(unknown) {
        if let Some(arrival) = packet(number) {
            app.prefetch_further_entry(number, &arrival.packet);
        }
    }
}
