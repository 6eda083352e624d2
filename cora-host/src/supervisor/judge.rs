//! Which half is ended, and why: one that stands still, and a NIC half that broke the protocol.
//!
//! A half moves as long as its heartbeat changes: the host's stands on a page of its own, for the
//! NIC can write anything in the region. A NIC that beats, and does nothing else, is found by what
//! it leaves undone: it does not come to the current region, or takes nothing from the host.
//!
//! | half | stands still for | is |
//! | --- | --- | --- |
//! | either, at work | `--patience` | ended, and started again |
//! | either, as it begins | [`BEGINNING`] | the same |
//! | the NIC, not at the current region | `--patience`; [`BEGINNING`] on its way | the same |
//! | the host, as it writes its final state | [`ENDING`] | the same |
//! | either, behind the end of the wire | [`END`] in all | ended for good; the host still tells |

use std::time::{Duration, Instant};

use super::Supervisor;
use super::host_page::Phase;
use super::live::LiveWire;
use super::process::NIC;
use crate::wire_end::WireEnd;
use crate::{RunError, log};

/// How long a half may take to make its states, and to take over those of the one before.
pub(super) const BEGINNING: Duration = Duration::from_secs(30);
/// How long a host may take to write its final state.
const ENDING: Duration = Duration::from_mins(2);
/// How long both halves may take to come to their end.
const END: Duration = Duration::from_secs(30);
/// So many NICs may die behind the end of the wire.
const MOST_DEATHS_AT_END: u32 = 3;

impl Supervisor<'_> {
    /// How long a half at work may stand still.
    pub(super) fn patience(&self) -> Duration {
        self.request.run.options.patience()
    }

    /// Whether both halves are at work: at the current region, with heartbeats of late. Who is told
    /// so may rely on it: a NIC that dies from then on is started again without end.
    pub(super) fn works(&self) -> bool {
        let patience = self.patience();
        let have_worked = self.nic.has_worked && self.host.has_worked;
        have_worked
            && self.nic_works()
            && self.nic.moves(patience)
            && self.host_works()
            && self.host.moves(patience)
    }

    /// Notes which half died, and ends those that stand still and a NIC that broke the protocol.
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

    /// Behind the end of the wire, halves end by themselves, or are ended.
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

    /// The NIC half did what no sound one does: it is ended, and nothing more of it is taken.
    fn nic_broke_protocol(&mut self, how: &str) -> Result<(), RunError> {
        self.wire.distrust();
        if self.nic.is_alive() {
            self.nic.lied += 1;
            self.nic.end(format!("broke the protocol and was ended: it {how}"))?;
        }
        Ok(())
    }

    /// Does something at the wire's end of the rings, where the NIC's fault is its own.
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

    /// Tells of the halves that are dead, unless there was much of that of late, and of the states
    /// that are lost with the host.
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

/// What is lost with a host that had these states, in words.
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
