//! Bounds that a controller keeps on moves under all conditions. They are checked from outside: by
//! the messages of moves, and by its orders.
//!
//! 1. A flow goes to the NIC once per `rest_ns` at most. Orders of the controller keep this by the
//!    clock, offers by the host itself by the time of packets, so one of both must have passed.
//! 2. A flow that is recalled was at the NIC for `stay_ns`.
//! 3. Orders to move are no more than `moves` per millisecond, beside a bucket of two milliseconds.

use std::collections::HashMap;
use std::time::Duration;

use cora_control::Move;
use cora_control::adaptive::{FlowId, Settings, flow_id};
use cora_core::key::Key;
use cora_runtime::ownership::Order;

/// Times of a flow's last move to the NIC: by the clock, and by the host's packets (ns).
#[derive(Clone, Copy, Debug)]
struct Went {
    clock: u64,
    packets: u64,
    there: bool,
}

/// Moves and orders so far.
#[derive(Debug)]
pub(super) struct Bounds {
    settings: Settings,
    /// Only looked up, never iterated.
    went: HashMap<FlowId, Went>,
    begun: Option<u64>,
    orders: u32,
}

impl Bounds {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, went: HashMap::new(), begun: None, orders: 0 }
    }

    /// Checks a move of a flow, at this time by the clock and by the host's packets.
    pub(super) fn moved<K: Key>(
        &mut self,
        Move { flow, to_nic }: &Move<K>,
        clock: u64,
        packets: u64,
    ) -> Result<(), String> {
        let rest = self.settings.rest_ns;
        let (id, there) = (flow_id(flow), *to_nic);
        let before = self.went.get(&id).copied();
        let Some(before) = before.filter(|_| there) else {
            if let Some(went) = self.went.get_mut(&id) {
                went.there = false;
            }
            if there {
                self.went.insert(id, Went { clock, packets, there });
            }
            return Ok(());
        };
        self.went.insert(id, Went { clock, packets, there });
        let (by_clock, by_packets) = (clock - before.clock, packets - before.packets);
        if by_clock < rest && by_packets < rest {
            return Err(format!(
                "thrashing: {flow:?} goes to the NIC {by_clock} ns after it went there last ({by_packets} ns of \
                 packets), and should rest for {rest}"
            ));
        }
        Ok(())
    }

    /// Checks an order of the controller.
    pub(super) fn ordered<K: Key>(&mut self, order: &Order<K>, clock: u64) -> Result<(), String> {
        let begun = *self.begun.get_or_insert(clock);
        if let Order::Recall(flow) = order
            && let Some(went) = self.went.get(&flow_id(flow)).filter(|went| went.there)
            && clock - went.clock < self.settings.stay_ns
        {
            let stayed = clock - went.clock;
            return Err(format!("{flow:?} is recalled after {stayed} ns at the NIC"));
        }
        self.orders += u32::from(!matches!(order, Order::Admit(_)));
        let ms = 1e3 * Duration::from_nanos(clock - begun).as_secs_f64();
        let most = self.settings.moves * (ms + 2.0) + 1.0;
        if f64::from(self.orders) > most {
            return Err(format!("{} orders to move within {ms:.3} ms", self.orders));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cora_control::adaptive::Admitted;
    use cora_core::key::FiveTuple;

    use super::*;

    const MS: u64 = 1_000_000;

    fn bounds() -> Bounds {
        let settings = Settings::new(Admitted::share(1024, 1));
        Bounds::new(Settings { rest_ns: 10 * MS, stay_ns: MS, moves: 2.0, ..settings })
    }

    fn flow() -> FiveTuple {
        FiveTuple {
            source: crate::frames::address([0, 1], true),
            destination: crate::frames::address([0, 2], false),
            source_port: 1,
            destination_port: 2,
            protocol: 17,
        }
    }

    #[test]
    fn a_flow_that_returns_too_soon_is_told_whichever_direction_names_it() {
        let to = |flow, to_nic| Move { flow, to_nic };
        let mut bounds = bounds();
        bounds.moved(&to(flow(), true), MS, MS).unwrap();
        bounds.moved(&to(flow().reversed(), false), 5 * MS, 5 * MS).unwrap();
        let soon = bounds.moved(&to(flow().reversed(), true), 9 * MS, 9 * MS);
        assert!(soon.is_err_and(|what| what.contains("thrashing")));
        // A rest by either clock is enough.
        bounds.moved(&to(flow(), true), 12 * MS, 19 * MS).unwrap();
        bounds.moved(&to(flow(), true), 29 * MS, 20 * MS).unwrap();
    }

    #[test]
    fn a_recall_too_soon_and_orders_too_many_are_told() {
        let mut bounds = bounds();
        bounds.moved(&Move { flow: flow(), to_nic: true }, 20 * MS, 20 * MS).unwrap();
        assert!(bounds.ordered(&Order::Recall(flow()), 20 * MS + 5).is_err());
        let mut all = (0..40).map(|_| bounds.ordered(&Order::Offer(flow()), 21 * MS));
        assert!(all.any(|kept| kept.is_err()));
    }
}
