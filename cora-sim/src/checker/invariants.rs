//! Invariants of every state, also after kills.

use super::world::{App, FLOWS, World, tuple};
use crate::frames::op;

impl World<'_> {
    /// Checks the invariants: a single owner, no update twice, none late, packets leave in order.
    /// When no message is on its way, only packets that ended with a side may be lost.
    pub(super) fn check(&mut self) -> Result<(), String> {
        let is_quiet = self.punt.is_empty() && self.back.is_empty();
        let is_fed = (0..FLOWS).all(|flow| self.fed[flow] == self.scenario.asks[flow].len());
        if is_quiet && is_fed && !(self.nic.half.is_drained() && self.host.is_drained()) {
            return Err("deadlock: nothing is on its way, and yet somebody waits".to_owned());
        }
        if is_quiet && !is_fed && !self.nic.half.takes_packets() {
            return Err("deadlock: nothing is on its way, and yet the wire waits".to_owned());
        }
        if self.host.report.refused > 0 {
            return Err("the key of an entry that came back was another's".to_owned());
        }
        for flow in 0..FLOWS {
            self.check_flow(flow, is_quiet && is_fed)
                .map_err(|what| format!("flow {flow}: {what}"))?;
        }
        Ok(())
    }

    fn check_flow(&mut self, flow: usize, through: bool) -> Result<(), String> {
        let tuple = tuple(flow);
        let at = |app: &mut App| app.marks_of(&tuple);
        let (nic, host) = (at(self.nic.half.engine().app()), at(self.host.engine().app()));
        if nic.is_some() && host.is_some() {
            return Err("two owners: both sides hold its entry".to_owned());
        }
        for marks in [nic, host].into_iter().flatten() {
            if marks.doubled > 0 {
                return Err("an update was made twice".to_owned());
            }
            if marks.disordered > 0 {
                return Err("its packets were handled out of order".to_owned());
            }
        }
        let (left, lost) = (&self.left[flow], &self.lost[flow]);
        if !left.is_sorted_by(|one, next| one < next) {
            return Err(format!("packets left out of order, or twice: {left:?}"));
        }
        if let Some(number) = left.iter().find(|number| lost.contains(number)) {
            return Err(format!("packet {number} was gone with its side, and left"));
        }
        if !through {
            return Ok(());
        }
        let asks = &self.scenario.asks[flow];
        if left.len() + lost.len() != asks.len() {
            return Err(format!(
                "a packet was lost: of {} left {left:?}, {lost:?} ended with a side",
                asks.len()
            ));
        }
        let seen = nic.or(host).map_or(0, |marks| marks.seen);
        let wanted = expected(asks, left);
        if seen != wanted {
            return Err(format!("an update was lost: {seen:#b}, on the host alone {wanted:#b}"));
        }
        Ok(())
    }
}

/// Returns the marks that the host alone would leave of a flow, after the packets `came` with these
/// requests. A kill between two steps removes no update, and leaves none of a packet that did not
/// leave.
fn expected(asks: &[u8], came: &[u32]) -> u64 {
    let mut marks = 0;
    for number in came {
        marks |= 1 << number;
        if asks[*number as usize] == op::CLOSE {
            marks = 0;
        }
    }
    marks
}
