//! Variants of the programs: the plan of a run, and sabotage of the program.

use cora_core::app::Sides;

/// Parameters of a program's run.
pub trait Variant: std::fmt::Debug + 'static {
    /// The sides that run packets.
    const SIDES: Sides = Sides::Split;
    /// Number of flows, of 1024, that the NIC may own.
    const SHARE: u16 = 1024;
    /// Packets of a flow that the host handles before it offers the flow.
    const OFFER_AFTER: u32 = 1;
    /// Whether packets reach the host in the order of their arrival.
    const ORDERED: bool = true;
    /// Whether a punt rolls back the packet's writes to tables.
    const ROLLS_BACK: bool = true;
    /// Numbers of durable singletons.
    const KEPT: &'static [usize] = &[];
    /// Host states that flows depend on and that are not durable.
    const RESTS_ON: &'static [&'static str] = &[];
    /// Whether a packet finds only the entries of its own group.
    const KEEPS_APART: bool = true;
    /// Whether handlers send copies of their packets.
    const COPIES: bool = false;
    /// The periods of timers (ns).
    const PERIODS: &'static [u64] = &[];
}

/// The correct variant, with a share for the NIC.
#[derive(Debug)]
pub struct Share<const OF_1024: u16>;

impl<const OF_1024: u16> Variant for Share<OF_1024> {
    const SHARE: u16 = OF_1024;
}

/// The correct variant, with flows that are offered after this many packets.
#[derive(Debug)]
pub struct OfferedAfter<const PACKETS: u32>;

impl<const PACKETS: u32> Variant for OfferedAfter<PACKETS> {
    const OFFER_AFTER: u32 = PACKETS;
}

/// The correct variant, with handlers that send copies of their packets.
#[derive(Debug)]
pub struct Copying;

impl Variant for Copying {
    const COPIES: bool = true;
}

/// Each side receives its own buckets.
#[derive(Debug)]
pub struct Dealt;

impl Variant for Dealt {
    const SIDES: Sides = Sides::Dealt;
}

/// The NIC alone.
#[derive(Debug)]
pub struct AtNic;

impl Variant for AtNic {
    const SIDES: Sides = Sides::NicOnly;
}

/// The host alone.
#[derive(Debug)]
pub struct Alone;

impl Variant for Alone {
    const SIDES: Sides = Sides::HostOnly;
}

/// The same, with a timer of this period (ns).
#[derive(Debug)]
pub struct Ticking<V, const PERIOD: u64>(std::marker::PhantomData<V>);

impl<V: Variant, const PERIOD: u64> Variant for Ticking<V, PERIOD> {
    const SIDES: Sides = V::SIDES;
    const PERIODS: &'static [u64] = &[PERIOD];
}

/// Sabotage: the host sees flows out of their order of arrival.
#[derive(Debug)]
pub struct Unordered;

impl Variant for Unordered {
    const ORDERED: bool = false;
}

/// Sabotage: the writes of a punting packet stay.
#[derive(Debug)]
pub struct NoRollback;

impl Variant for NoRollback {
    const ROLLS_BACK: bool = false;
}

/// Sabotage: groups find each other's entries at the same side.
#[derive(Debug)]
pub struct Mixing;

impl Variant for Mixing {
    const KEEPS_APART: bool = false;
}
