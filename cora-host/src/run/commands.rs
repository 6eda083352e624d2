//! Executes orders and requests of a live run, from signals or its socket.
//!
//! Whether another build could replace this one is checked beside the wire, one build at a time.
//! Identical requests meanwhile get the same answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cora_core::app::App;
use serde_json::{Map, Value, json};

use crate::control::endpoint::{Endpoint, Wanted};
use crate::control::socket::{Asked, Control};
use crate::control::{beside, upgrade};
use crate::ingress::clock::Clock;
use crate::inspect::inspector::{Inspected, Inspector};
use crate::inspect::question::Question;
use crate::process::inquiry::Inquiry;
use crate::process::log::{self, Part};
use crate::run::live::{Live, Operator};
use crate::supervisor::Shard;

/// Most bytes of a state's value that is told, and of one that is scraped: a half encodes all of it
/// between two bursts.
const TOLD: usize = 1 << 20;
const SCRAPED: usize = 8192;
/// How long a scrape waits for these.
const VALUES_WITHIN: Duration = Duration::from_secs(1);

/// A scrape of the run.
#[derive(Debug, Default)]
pub(super) enum Scrape {
    #[default]
    Idle,
    /// The values of its states are asked for.
    Asked(Instant),
    Answered(Map<String, Value>),
}

/// The origin of a check for a replacement build: a request, or SIGHUP.
type Wants = Option<Asked>;

/// Builds to be checked, in order.
#[derive(Debug, Default)]
pub(super) struct Checks {
    waiting: VecDeque<Wants>,
    /// The build being checked.
    current: Option<Wants>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

impl Checks {
    fn want(&mut self, wants: Wants) {
        if !self.waiting.contains(&wants) && self.current.as_ref() != Some(&wants) {
            self.waiting.push_back(wants);
        }
    }

    /// Starts the check of the next build with `look`; returns a new outcome, if there is one.
    fn advance(
        &mut self,
        look: impl FnOnce(&Wants) -> JoinHandle<Result<(), String>>,
    ) -> Option<(Wants, Result<(), String>)> {
        if self.current.is_none() {
            let next = self.waiting.pop_front()?;
            self.thread = Some(look(&next));
            self.current = Some(next);
        }
        let outcome = beside::outcome(&mut self.thread)?;
        Some((self.current.take()?, outcome))
    }
}

impl Operator<'_> {
    /// Executes the orders from signals and from the socket. Returns whether to execute the program
    /// in this file.
    pub(super) fn obey<A: App>(&mut self, live: &mut Live<'_>) -> bool {
        let asked = self.control.as_mut().map(Control::look).unwrap_or_default();
        for asked in asked {
            // Those who follow events must not make some.
            if !matches!(asked, Asked::Events { .. }) {
                log::debug(Part::Control, format_args!("asked: {asked:?}"));
            }
            match &asked {
                Asked::Status | Asked::Outcomes | Asked::Tables | Asked::Snapshot => {
                    let answer = self.snapshot::<A>(live).answer(&asked);
                    self.answer(&asked, &answer);
                }
                Asked::Values => self.inspect::<A>(Question::Values { most: TOLD }, live),
                Asked::Flows(it) => self.inspect::<A>(Question::Flows(it.clone()), live),
                Asked::Delete(it) => self.inspect::<A>(Question::Delete(it.clone()), live),
                Asked::Move(it) => self.inspect::<A>(Question::Move(it.clone()), live),
                Asked::Trace(it) if it.is_made() => {
                    self.inspect::<A>(Question::Trace(it.clone()), live);
                }
                // Whoever asks for the tap under way waits for its end, too.
                Asked::Tap(_) | Asked::Trace(_) if self.tap.as_ref() == Some(&asked) => {}
                Asked::Tap(it) => {
                    self.inspect::<A>(Question::Tap(it.clone()), live);
                    self.tap.get_or_insert(asked);
                }
                Asked::Trace(it) => {
                    self.inspect::<A>(Question::Trace(it.clone()), live);
                    self.tap.get_or_insert(asked);
                }
                Asked::Log { levels } => {
                    let answer = match log::change(levels.as_deref()) {
                        Ok((levels, lost)) => levels_in_force(&levels, lost),
                        Err(why) => json!({ "error": why }),
                    };
                    self.answer(&asked, &answer);
                }
                Asked::Events { after, last } => {
                    let page = serde_json::to_string(&log::events(*after, *last));
                    self.answer_line(&asked, &format!("{}\n", page.unwrap_or_default()).into());
                }
                Asked::Configure => live.configuration.ask(),
                Asked::Check { .. } => self.checks.want(Some(asked)),
                Asked::Upgrade { drop_connections } => {
                    match self.refuses_upgrade(live, *drop_connections) {
                        Some(why) => {
                            log::note(Part::Run, goes_on(&why));
                            self.answer(&asked, &json!({ "error": why }));
                        }
                        None => self.checks.want(Some(asked)),
                    }
                }
            }
        }
        self.inspected(live);
        if self.stop.replaces() {
            match self.refuses_upgrade(live, false) {
                Some(why) => log::warn(Part::Run, goes_on(&why)),
                None => self.checks.want(None),
            }
        }
        self.check(live)
    }

    /// Asks the host halves about entries, beside the wire.
    fn inspect<A: App>(&mut self, asked: Question, live: &Live<'_>) {
        let Some(lines) = &self.common.lines else { return };
        let begin = || {
            Inspector::begin::<A>(Inspected {
                lines: Arc::clone(lines),
                shards: self.common.shards,
                clock: self.common.epoch.map_or_else(Clock::begin, Clock::since),
                seed: self.common.seed,
                deal: self.common.deal,
            })
        };
        let version = matches!(asked, Question::Trace(_)).then(|| live.configuration.shared());
        self.inspector.get_or_insert_with(begin).ask(asked, version);
    }

    /// Answers questions about entries.
    fn inspected(&mut self, live: &Live<'_>) {
        let Some(inspector) = &mut self.inspector else { return };
        while let Some((question, answer)) = inspector.look() {
            let asked = match question {
                Question::Values { most: SCRAPED } => {
                    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
                    let values = answer["values"].as_object().cloned().unwrap_or_default();
                    // An answer that comes late is of no use.
                    if matches!(self.scrape, Scrape::Asked(_)) {
                        self.scrape = Scrape::Answered(values);
                    }
                    continue;
                }
                Question::Values { .. } => Asked::Values,
                Question::Flows(it) => Asked::Flows(it),
                Question::Delete(it) => Asked::Delete(it),
                Question::Move(it) => Asked::Move(it),
                Question::Tap(it) => Asked::Tap(it),
                Question::Trace(it) => Asked::Trace(it),
            };
            if self.tap.as_ref() == Some(&asked) {
                self.tap = None;
            }
            if let Some(control) = &mut self.control {
                control.answer_line(&asked, &answer);
            }
        }
        // A client ends its tap by going away.
        if let (Some(tap), Some(control)) = (&self.tap, &self.control)
            && !control.is_waited_for(tap)
        {
            inspector.end_tap();
        }
        if inspector.is_asking() {
            live.shards.iter().for_each(Shard::wake_host);
        }
    }

    /// Answers a scrape of the run: once the values of its states are known, if these are wanted.
    pub(super) fn scrape<A: App>(&mut self, live: &mut Live<'_>) {
        let Some(wanted) = self.endpoint.as_ref().and_then(Endpoint::wants) else { return };
        if wanted == Wanted::Metrics {
            match self.scrape {
                Scrape::Idle => {
                    self.scrape = Scrape::Asked(Instant::now());
                    self.inspect::<A>(Question::Values { most: SCRAPED }, live);
                    return;
                }
                Scrape::Asked(since) if since.elapsed() < VALUES_WITHIN => return,
                Scrape::Asked(_) | Scrape::Answered(_) => {}
            }
        }
        let mut snapshot = self.snapshot::<A>(live);
        if let Scrape::Answered(values) = std::mem::take(&mut self.scrape) {
            snapshot.values = values;
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.give(snapshot);
        }
    }

    /// Why no build at all could replace the program.
    fn refuses_upgrade(&self, live: &Live<'_>, drop_connections: bool) -> Option<String> {
        if let Some(port) = live.cable.stays() {
            return Some(format!("{port} would begin anew under another program"));
        }
        if drop_connections || self.forgotten.is_empty() {
            return None;
        }
        Some(format!(
            "no state of it is durable, and all entries of `{}` would be lost: to have them dropped, say \
             `\"drop_connections\":true` (`cargo cora upgrade --drop-connections`)",
            self.forgotten.join("`, `")
        ))
    }

    /// Continues to check other builds. Returns whether the one in this program's file replaces it.
    fn check(&mut self, live: &Live<'_>) -> bool {
        let (entries, own) = (&self.common.entries, &self.own);
        // A card that is away has no session to ask in, and none to lose.
        let card =
            self.common.inquiry.as_ref().filter(|_| live.shards.iter().all(Shard::nic_works));
        let stays =
            live.cable.stays().map(|port| format!("{port} would begin anew under another program"));
        // Another program begins with its card, and packets would wait for that.
        let away = live.shards.iter().any(Shard::takes_bypass).then(|| {
            "the card is away, and packets take the bypass: upgrade when it is back".to_owned()
        });
        let stays = stays.or(away);
        let look = |wants: &Wants| {
            let program = match wants {
                Some(Asked::Check { program }) => program.clone(),
                _ => own.clone(),
            };
            let (entries, card) = (entries.clone(), card.map(Inquiry::asker));
            log::debug(Part::Control, format_args!("{} is checked", program.display()));
            beside::begin(move || match stays {
                Some(why) => Err(why),
                None => upgrade::check(&program, &entries, card),
            })
        };
        let Some((wants, outcome)) = self.checks.advance(look) else { return false };
        let Some(asked) = wants else {
            if let Err(why) = &outcome {
                log::warn(Part::Run, goes_on(why));
            }
            return outcome.is_ok();
        };
        let replaces = outcome.is_ok() && matches!(asked, Asked::Upgrade { .. });
        if let (Asked::Upgrade { .. }, Err(why)) = (&asked, &outcome) {
            log::note(Part::Run, goes_on(why));
        }
        let answer = match outcome {
            Err(why) => json!({ "error": why }),
            Ok(()) if replaces => json!({ "upgrades": self.upgrades() }),
            Ok(()) => json!({ "drops": self.forgotten }),
        };
        self.answer(&asked, &answer);
        replaces
    }

    fn answer_line(&mut self, asked: &Asked, line: &Arc<str>) {
        if let Some(control) = &mut self.control {
            control.answer_line(asked, line);
        }
    }

    fn answer(&mut self, asked: &Asked, answer: &Value) {
        if let Some(control) = &mut self.control {
            control.answer(asked, answer);
        }
    }

    /// Starts a change to another version of read-mostly states, if there is one.
    pub(super) fn configure(&mut self, live: &mut Live<'_>) {
        if self.stop.reads_again() {
            live.configuration.ask();
        }
        if live.configuration.is_changing() {
            self.manager.reloads();
        }
        let in_force = live.version_in_force();
        live.configuration.arrived(in_force);
        let change = live.configuration.advance();
        if let Some(change) = &change {
            live.intake.door.change(&change.services);
        }
        for shard in &mut live.shards {
            shard.wire.in_force(u32::try_from(shard.page.version()).unwrap_or(0));
            if let Some(change) = &change {
                shard.wire.change(change.clone());
            }
        }
        if let Some(outcome) = live.configuration.outcome() {
            self.manager.reloaded(&outcome);
            let answer = outcome.map(|version| json!({ "version": version }));
            let answer = answer.unwrap_or_else(|why| json!({ "error": why }));
            self.answer(&Asked::Configure, &answer);
        }
    }
}

/// The event of an upgrade that is not done.
fn goes_on(why: &str) -> String {
    format!("the program goes on as it is: {why}")
}

/// The answer to a request about the log.
fn levels_in_force(levels: &log::LevelNames, lost: u64) -> Value {
    json!({ "schema": "cora-log/1", "levels": levels, "lost": lost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;

    /// docs/json.md has its fields.
    #[test]
    fn the_answer_about_the_log_is_as_the_page_says() {
        let levels = [("nic", "debug"), ("ports", "off")].into();
        golden::json("log", &levels_in_force(&levels, 3));
    }
}
