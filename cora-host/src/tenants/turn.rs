//! A tenant's turns: packets go to its NIC half, time passes, output leaves.

use std::time::{Duration, Instant};

use cora_runtime::link::region::sleep;

use crate::ingress::ports::LiveWire;
use crate::tenants::gate::Gated;
use crate::tenants::tenant::{Fault, Given, Tenant};
use crate::{RunError, SharedFutex};

/// How long others wait for a turn to end. A longer one goes on beside theirs.
const SLICE: Duration = Duration::from_micros(500);
/// A tenant that takes more of a processor in a turn hangs, and is ended.
const MOST_TURN: Duration = Duration::from_millis(10);
/// The same by the time that passes, for a turn in a process that others have turns in before.
const MOST_TURN_BEHIND: Duration = Duration::from_millis(50);
/// The same for a turn in which the process waits.
const MOST_WAIT: Duration = Duration::from_secs(2);
/// Debts of time outside of turns (ns) beyond which a tenant is ended.
const MOST_OUTSIDE: i64 = 200_000_000;
/// Frames of output that are sent behind a turn, in bursts. More wait for the next one.
const MOST_DRAINED: usize = 4;

impl Tenant {
    /// Gives it a turn. A process that it shares is to be woken then.
    pub(super) fn give(&mut self) -> Result<(), Fault> {
        let most = self.account.packets();
        self.wire.feed_first()?;
        let mut packets = 0;
        while packets < most
            && let Some((stamp, frame)) = self.queue.front()
            && self.wire.feed(stamp, frame)?
        {
            self.wire.offers.took();
            self.queue.pop();
            packets += 1;
        }
        self.wire.publish();
        self.has_more = false;
        self.turns += 1;
        self.last_turn = Instant::now();
        let time = self.charged;
        self.given = Some(Given { begun: self.last_turn, time, packets });
        self.region.give_turn(self.turns);
        self.worker.call(&self.region);
        Ok(())
    }

    fn has_ended_turn(&self) -> bool {
        self.region.turn_ended() == self.turns
    }

    /// Waits for the end of its turn, if that comes soon. With so many turns before it, it may take
    /// as many times as long.
    pub(super) fn wait(&self, turns: usize) -> Result<(), Fault> {
        let begun = Instant::now();
        let most = SLICE.saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX));
        let bell = self.region.agent_bell(SharedFutex);
        loop {
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() || self.has_ended_turn() {
                return Ok(());
            }
            sleep(&bell, left, || Ok::<_, RunError>(!self.has_ended_turn()))?;
        }
    }

    /// The length of the turn as its process tells it (ns), if that is shared; zero before its end.
    pub(super) fn told(&self) -> u64 {
        if self.given.is_some() && self.has_ended_turn() { self.region.turn_ns() } else { 0 }
    }

    /// Sends the output of its turn, and charges the time: `took` (ns), or that of its own process.
    /// Returns whether the turn is over.
    pub(super) fn settle(
        &mut self,
        ports: &mut LiveWire,
        took: Option<u64>,
    ) -> Result<bool, Fault> {
        let is_over = self.has_ended_turn();
        self.drain(ports)?;
        let Some(given) = self.given else { return Ok(true) };
        let took = took.unwrap_or_else(|| {
            let time = self.worker.time();
            let took = time.saturating_sub(self.charged);
            if is_over {
                self.charged = self.charged.max(time);
            }
            took
        });
        if is_over {
            self.given = None;
            self.worker.rests();
            self.account.charge(took, given.packets);
        } else if self.worker.is_at_it() {
            self.check(given)?;
        }
        Ok(is_over)
    }

    /// Whether a turn that goes on may go on.
    fn check(&mut self, given: Given) -> Result<(), Fault> {
        let hangs = if self.worker.image().is_some() {
            // Others had turns before it, in the same process, and one of them may have ended that.
            given.begun.elapsed() > MOST_TURN_BEHIND && self.worker.look(&self.region)?.is_none()
        } else {
            let took = self.worker.time().saturating_sub(given.time);
            Duration::from_nanos(took) > MOST_TURN
        };
        if hangs {
            let hangs = format!("its NIC half did not end a turn within {MOST_TURN:?}");
            return Err(Fault::Breaks(hangs));
        }
        if given.begun.elapsed() > MOST_WAIT {
            let stands = format!("its NIC half stood still in a turn for {MOST_WAIT:?}");
            return Err(Fault::Breaks(stands));
        }
        Ok(())
    }

    /// Sends its output. The agent's time for that is the tenant's, too.
    pub(super) fn drain(&mut self, ports: &mut LiveWire) -> Result<(), Fault> {
        let Self { wire, gate, account, .. } = self;
        let begun = Instant::now();
        let mut any = false;
        for _ in 0..MOST_DRAINED {
            if !wire.drain(&mut Gated { ports, gate })? {
                break;
            }
            any = true;
        }
        if any {
            account.charge(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX), 0);
        }
        Ok(())
    }

    /// Work for its host half is done outside of turns, and costs as much.
    pub(super) fn charge_outside(&mut self) -> Result<(), Fault> {
        let time = self.worker.time();
        self.account.charge(time.saturating_sub(self.charged), 0);
        self.charged = self.charged.max(time);
        if self.account.debt() > MOST_OUTSIDE {
            return Err(Fault::Breaks(
                "its NIC half works outside of its turns, for longer than its share".to_owned(),
            ));
        }
        Ok(())
    }
}
