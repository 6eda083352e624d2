//! Ends halves that hang, and NIC halves that broke the protocol.
//!
//! A half makes progress as long as its heartbeat changes. The host's is on a separate page, since
//! the NIC can write anything in the region. A NIC that only sends heartbeats is detected by
//! missing work: it does not reach the current region, or reads nothing from the host.
//!
//! | half | time without progress | result |
//! | --- | --- | --- |
//! | either, working | `--patience` | ended, and restarted |
//! | either, starting | [`BEGINNING`], `--patience` on a capture | the same |
//! | the NIC, not at the current region | `--patience`; [`BEGINNING`] on its way | the same |
//! | the host, writing its final state | [`ENDING`] | the same |
//! | either, after the end of a live wire | [`END`] | ended for good; the host still reports |
//!
//! A run on a capture can be repeated, and packets wait for it. So there the host may take its
//! time, and the run ends with a half that ended by its own fault: the cause is more useful than
//! the rest of the packets. Only halves that are killed from outside, or that break the protocol,
//! are followed by others, as often as `--restarts` says.

use std::time::{Duration, Instant};

use crate::RunError;
use crate::ingress::capture::Cable;
use crate::ingress::entrance::Entrance;
use crate::ingress::feed::WireEnd;
use crate::node::host_page::Phase;
use crate::process::log::{self, Part};
use crate::process::notify::Standing;
use crate::supervisor::half::{Half, NIC};
use crate::supervisor::shard::Shard;

/// How long a half may take to make its states, and to take over those of its predecessor.
pub(super) const BEGINNING: Duration = Duration::from_secs(30);
/// How long a host may take to write its final state.
const ENDING: Duration = Duration::from_mins(2);
/// How long both halves may take to end.
const END: Duration = Duration::from_secs(30);
/// Maximum number of NIC deaths after the end of the wire.
const MOST_DEATHS_AT_END: u32 = 3;

impl Shard<'_> {
    /// How long a working half may make no progress.
    fn patience(&self) -> Duration {
        self.common.run.options.patience()
    }

    /// The same for a half that starts. One of a live run allocates all its memory.
    fn patience_at_begin<C: Cable>(&self) -> Duration {
        if C::LIVE {
            BEGINNING.max(self.patience())
        } else {
            self.common.run.options.slow_patience()
        }
    }

    /// The same for a host that works.
    fn host_patience<C: Cable>(&self) -> Duration {
        if C::LIVE { self.patience() } else { self.common.run.options.slow_patience() }
    }

    /// Whether both halves work: attached to the current region, with recent heartbeats. Callers
    /// may rely on it: a NIC that dies from then on is restarted without limit.
    pub(crate) fn works(&self) -> bool {
        let patience = self.patience();
        self.nic_works()
            && self.host_works()
            && self.halves().all(|half| half.has_worked && half.moves(patience))
    }

    /// The state of its halves, for a service manager.
    pub(crate) fn standing(&self) -> Standing {
        let patience = self.patience();
        Standing {
            works: self.works(),
            nic: self.nic_works() && (!self.has_nic() || self.nic.moves(patience)),
            host: self.host_works() && self.host.moves(patience),
        }
    }

    /// Detects dead halves, and ends those that hang and a NIC that broke the protocol.
    pub(super) fn judge<C: Cable>(&mut self, cable: &C) -> Result<(), RunError> {
        if self.has_nic() {
            self.judge_nic(cable)?;
        }
        self.judge_host(cable)?;
        if self.stopped { self.judge_end::<C>() } else { Ok(()) }
    }

    fn judge_host<C: Cable>(&mut self, cable: &C) -> Result<(), RunError> {
        let working = self.host_patience::<C>();
        let patience = match self.page.phase() {
            Phase::Starts => self.patience_at_begin::<C>(),
            Phase::Serves => working,
            Phase::Ends => ENDING.max(working),
        };
        let died = self.host.look(self.page.heartbeat(), patience)?;
        if !died || self.host.has_finished() {
            return Ok(());
        }
        let packet = self.page.packet();
        self.outcomes.panicked(self.host.fell_in(packet));
        self.away_since.get_or_insert_with(Instant::now);
        self.goes_on(|shard| &shard.host, packet, cable)
    }

    fn judge_nic<C: Cable>(&mut self, cable: &C) -> Result<(), RunError> {
        if self.page.accused() >= self.nic_since {
            self.nic_broke_protocol("told the host what makes no sense")?;
        }
        let patience = self.patience();
        let on_its_way = if self.nic_arrived { patience } else { self.patience_at_begin::<C>() };
        let mut died = self.nic.look(self.region.nic_heartbeat(), on_its_way)?;
        if self.nic_works() || !self.nic.is_alive() {
            if self.nic.is_alive() && !self.nic_arrived {
                self.nic.arrived();
                self.nic_arrived = true;
            }
            self.nic_astray = None;
        } else if self.nic_astray.get_or_insert_with(Instant::now).elapsed() > on_its_way
            && !self.stopped
        {
            self.nic.stood_still += 1;
            let seconds = on_its_way.as_secs();
            self.nic.end(format!("was not at the current region for {seconds} s and was ended"))?;
            died = true;
        }
        // It may have been ended elsewhere.
        died |= !self.nic.is_alive() && !self.nic_dead;
        self.nic_dead = !self.nic.is_alive();
        if !died || self.nic.has_finished() {
            return Ok(());
        }
        let packet = self.region.nic_packet();
        self.outcomes.panicked(self.nic.fell_in(packet));
        self.away_since.get_or_insert_with(Instant::now);
        self.deaths_at_end += u32::from(self.stopped);
        self.goes_on(|shard| &shard.nic, packet, cable)
    }

    /// Whether a run on a capture goes on after the death of this half; the error is the cause.
    fn goes_on<C: Cable>(
        &mut self,
        half: impl Fn(&Self) -> &Half,
        packet: Option<u64>,
        cable: &C,
    ) -> Result<(), RunError> {
        if C::LIVE || self.host.has_finished() {
            return Ok(());
        }
        let left = self.wire.tally.from_nic.handled();
        let (handled, was_killed) = (self.page.handled(), half(self).was_killed());
        let through = handled + left;
        self.deaths_in_a_row =
            if through == self.through { self.deaths_in_a_row.saturating_add(1) } else { 1 };
        self.through = through;
        if was_killed && self.deaths_in_a_row <= self.common.restarts {
            return Ok(());
        }
        let cause = half(self).cause(self.wire.offers.taken.saturating_sub(through));
        Err(match packet.filter(|_| !was_killed) {
            None => cause,
            Some(number) => {
                RunError::InPacket { error: Box::new(cause), packet: cable.describe(number) }
            }
        })
    }

    /// After the end of the wire, halves end by themselves, or are ended.
    fn judge_end<C: Cable>(&mut self) -> Result<(), RunError> {
        // The rest of a capture may take its time, as long as both halves make progress.
        if !C::LIVE && self.nic.is_alive() {
            return Ok(());
        }
        let over = self.stopped_since.get_or_insert_with(Instant::now).elapsed() > END;
        let dies = C::LIVE && self.deaths_at_end > MOST_DEATHS_AT_END;
        if !self.ends_alone && (over || dies) && (self.nic.is_alive() || self.host.is_alive()) {
            self.ends_alone = true;
            self.page.finish_alone();
            log::warn(
                Part::Nic,
                "the NIC half does not come to its end: the host half ends without its account",
            );
            self.nic.end("did not come to its end and was ended".into())?;
        }
        Ok(())
    }

    /// Ends a NIC half that violated the protocol; nothing more is read from it.
    pub(super) fn nic_broke_protocol(&mut self, how: &str) -> Result<(), RunError> {
        self.wire.distrust();
        if self.nic.is_alive() {
            self.nic.lied += 1;
            self.nic.end(format!("broke the protocol and was ended: it {how}"))?;
        }
        Ok(())
    }

    /// Does work at the wire's end of the rings, where errors may be the NIC's fault.
    pub(super) fn of_nic(
        &mut self,
        work: impl FnOnce(&mut WireEnd) -> Result<bool, RunError>,
    ) -> Result<bool, RunError> {
        match work(&mut self.wire) {
            Err(error) if error.is_nics_fault() => {
                log::warn(Part::Nic, format_args!("at the wire: {error}"));
                self.nic_broke_protocol("sent to the wire what makes no sense")?;
                Ok(false)
            }
            done => done,
        }
    }

    /// Logs dead halves, with a rate limit, and the states lost with the host.
    pub(super) fn tell_deaths(&mut self, lost: &[String]) {
        let shard = match self.common.shards {
            1 => String::new(),
            _ => format!("shard {}: ", self.number),
        };
        let nic = (self.entrance == Entrance::Nic).then_some(&mut self.nic);
        for half in nic.into_iter().chain([&mut self.host]) {
            let (follows, with_it) = match half.name {
                NIC => (self.bypass.follows(), String::new()),
                _ => ("it is started again", with_it(lost)),
            };
            if !half.is_alive()
                && let Some(news) = half.news()
            {
                let part = if half.name == NIC { Part::Nic } else { Part::Host };
                log::warn(part, format_args!("{shard}{news}: {follows}{with_it}"));
            }
        }
    }
}

/// Describes the losses of a host that had these states.
fn with_it(lost: &[String]) -> String {
    let names: Vec<String> = lost.iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => String::new(),
        1 => format!("; {} is lost with it, and so is every flow that rests on it", names[0]),
        _ => format!(
            "; {} are lost with it, and so is every flow that rests on them",
            names.join(", ")
        ),
    }
}
