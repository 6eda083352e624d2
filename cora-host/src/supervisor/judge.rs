//! Ends halves that hang, and NIC halves that broke the protocol.
//!
//! A half makes progress as long as its heartbeat changes. The host's is on a separate page, since
//! the NIC can write anything in the region. A NIC that only sends heartbeats is detected by
//! missing work: it does not reach the current region, or reads nothing from the host.
//!
//! | half | time without progress | result |
//! | --- | --- | --- |
//! | either, working | `--patience` | ended, and restarted |
//! | either, starting | [`BEGINNING`] | the same |
//! | the NIC, not at the current region | `--patience`; [`BEGINNING`] on its way | the same |
//! | the host, writing its final state | [`ENDING`] | the same |
//! | either, after the end of the wire | [`END`] in all | ended for good; the host still reports |

use std::time::{Duration, Instant};

use crate::RunError;
use crate::ingress::feed::WireEnd;
use crate::ingress::ports::LiveWire;
use crate::process::log;
use crate::supervisor::Supervisor;
use crate::supervisor::host_page::Phase;
use crate::supervisor::process::NIC;

/// How long a half may take to make its states, and to take over those of its predecessor.
pub(super) const BEGINNING: Duration = Duration::from_secs(30);
/// How long a host may take to write its final state.
const ENDING: Duration = Duration::from_mins(2);
/// How long both halves may take to end.
const END: Duration = Duration::from_secs(30);
/// Maximum number of NIC deaths after the end of the wire.
const MOST_DEATHS_AT_END: u32 = 3;

impl Supervisor<'_> {
    /// How long a working half may make no progress.
    pub(super) fn patience(&self) -> Duration {
        self.request.run.options.patience()
    }

    /// Whether both halves work: attached to the current region, with recent heartbeats. Callers
    /// may rely on it: a NIC that dies from then on is restarted without limit.
    pub(super) fn works(&self) -> bool {
        let patience = self.patience();
        let have_worked = self.nic.has_worked && self.host.has_worked;
        have_worked
            && self.nic_works()
            && self.nic.moves(patience)
            && self.host_works()
            && self.host.moves(patience)
    }

    /// Detects dead halves, and ends those that hang and a NIC that broke the protocol.
    pub(super) fn judge(&mut self) -> Result<(), RunError> {
        self.judge_nic()?;
        let patience = match self.page.phase() {
            Phase::Starts => BEGINNING.max(self.patience()),
            Phase::Serves => self.patience(),
            Phase::Ends => ENDING.max(self.patience()),
        };
        let died = self.host.look(self.page.heartbeat(), patience)?;
        if died && self.host.fell_in(self.page.packet()) {
            self.outcomes.panicked();
        }
        if died && !self.host.has_finished() {
            self.away_since.get_or_insert_with(Instant::now);
        }
        if self.wire.cable.stopped {
            self.judge_end()?;
        }
        Ok(())
    }

    fn judge_nic(&mut self) -> Result<(), RunError> {
        if self.page.accused() >= self.nic_since {
            self.nic_broke_protocol("told the host what makes no sense")?;
        }
        let patience = self.patience();
        let on_its_way = if self.nic_arrived { patience } else { BEGINNING.max(patience) };
        let mut died = self.nic.look(self.region.nic_heartbeat(), on_its_way)?;
        if died && self.nic.fell_in(self.region.nic_packet()) {
            self.outcomes.panicked();
        }
        if self.nic_works() || !self.nic.is_alive() {
            self.nic_arrived |= self.nic.is_alive();
            self.nic_astray = None;
        } else if self.nic_astray.get_or_insert_with(Instant::now).elapsed() > on_its_way
            && !self.wire.cable.stopped
        {
            self.nic.stood_still += 1;
            let seconds = on_its_way.as_secs();
            self.nic.end(format!("was not at the current region for {seconds} s and was ended"))?;
            died = true;
        }
        // It may have been ended elsewhere.
        died |= !self.nic.is_alive() && !self.nic_dead;
        self.nic_dead = !self.nic.is_alive();
        if died && !self.nic.has_finished() {
            self.away_since.get_or_insert_with(Instant::now);
            self.deaths_at_end += u32::from(self.wire.cable.stopped);
        }
        Ok(())
    }

    /// After the end of the wire, halves end by themselves, or are ended.
    fn judge_end(&mut self) -> Result<(), RunError> {
        let over = self.stopped_since.get_or_insert_with(Instant::now).elapsed() > END;
        let dies = self.deaths_at_end > MOST_DEATHS_AT_END;
        if !self.ends_alone && (over || dies) && (self.nic.is_alive() || self.host.is_alive()) {
            self.ends_alone = true;
            self.page.finish_alone();
            log::say(
                "the NIC half does not come to its end: the host half ends without its account",
            );
            self.nic.end("did not come to its end and was ended".into())?;
        }
        Ok(())
    }

    /// Ends a NIC half that violated the protocol; nothing more is read from it.
    fn nic_broke_protocol(&mut self, how: &str) -> Result<(), RunError> {
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
        mut work: impl FnMut(&mut WireEnd<LiveWire>) -> Result<bool, RunError>,
    ) -> Result<bool, RunError> {
        match work(&mut self.wire) {
            Err(error) if error.is_nics_fault() => {
                log::say(format_args!("at the wire: {error}"));
                self.nic_broke_protocol("sent to the wire what makes no sense")?;
                Ok(false)
            }
            done => done,
        }
    }

    /// Logs dead halves, with a rate limit, and the states lost with the host.
    pub(super) fn tell_deaths(&mut self, lost: &[String]) {
        for half in [&mut self.nic, &mut self.host] {
            let with_it = if half.name == NIC { String::new() } else { with_it(lost) };
            if !half.is_alive()
                && let Some(news) = half.news()
            {
                log::say(format_args!("{news}: it is started again{with_it}"));
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
