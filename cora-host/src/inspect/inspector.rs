//! The thread that answers questions about entries, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use cora_core::app::App;
use cora_runtime::steering::Deal;
use serde_json::json;

use crate::ingress::clock::Clock;
use crate::ingress::versions::Version;
use crate::inspect::caller::Caller;
use crate::inspect::events;
use crate::inspect::line::Lines;
use crate::inspect::question::Question;
use crate::inspect::rehearsal::Rehearsal;
use crate::inspect::row::Answered;
use crate::inspect::tapping::Tapping;
use crate::inspect::tracing::{TRACE, Tracing, Values};
use crate::inspect::watching::Watching;

/// Pause between two looks at tapped packets.
const TAPPED: Duration = Duration::from_millis(2);

/// A question, and for some the version of the read-mostly states in force.
type Order = (Question, Option<Arc<Version>>);

/// The run that is asked about.
#[derive(Debug)]
pub(crate) struct Inspected {
    /// The rings of its host halves.
    pub(crate) lines: Arc<Lines>,
    pub(crate) shards: u16,
    pub(crate) clock: Clock,
    /// By which it deals buckets to shards.
    pub(crate) seed: u64,
    pub(crate) deal: Deal,
}

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct Inspector {
    asked: Sender<Order>,
    answers: Receiver<(Question, Arc<str>)>,
    /// Questions without an answer.
    open: usize,
    /// The tap under way should end.
    end_tap: Arc<AtomicBool>,
}

impl Inspector {
    /// Starts the thread.
    pub(crate) fn begin<A: App>(run: Inspected) -> Self {
        let (asked, asks) = channel();
        let (answered, answers) = channel();
        let ends = Arc::new(AtomicBool::new(false));
        let end_tap = Arc::clone(&ends);
        std::thread::spawn(move || {
            let mut thread = Thread::<A>::new(run, ends);
            while thread.serve(&asks, &answered) {}
        });
        Self { asked, answers, open: 0, end_tap }
    }

    /// Ends a tap before its time: nobody waits for it any more.
    pub(crate) fn end_tap(&self) {
        self.end_tap.store(true, Ordering::Relaxed);
    }

    /// Asks. The answer comes by [`Self::look`]. A trace needs the version in force of the
    /// read-mostly states.
    pub(crate) fn ask(&mut self, asked: Question, version: Option<Arc<Version>>) {
        self.open += usize::from(self.asked.send((asked, version)).is_ok());
    }

    /// The next answer, if there is one.
    pub(crate) fn look(&mut self) -> Option<(Question, Arc<str>)> {
        let answered = self.answers.try_recv().ok()?;
        self.open = self.open.saturating_sub(1);
        Some(answered)
    }

    /// Whether host halves are to answer, and may sleep.
    pub(crate) const fn is_asking(&self) -> bool {
        self.open > 0
    }
}

pub(super) struct Thread<A> {
    pub(super) run: Inspected,
    pub(super) callers: Vec<Caller>,
    /// The program with empty states, which knows their types.
    pub(super) rehearsal: Option<Rehearsal<A>>,
    /// The tap under way, its request, and values of states at its beginning.
    watching: Option<(Question, Watching, Values)>,
    end_tap: Arc<AtomicBool>,
    /// Taps so far.
    taps: u16,
}

impl<A: App> Thread<A> {
    fn new(run: Inspected, end_tap: Arc<AtomicBool>) -> Self {
        let callers = (0..run.shards).map(Caller::new).collect();
        Self { run, callers, rehearsal: None, watching: None, end_tap, taps: 0 }
    }

    /// The program with empty states.
    pub(super) fn rehearsal(&mut self) -> Result<&mut Rehearsal<A>, String> {
        if self.rehearsal.is_none() {
            self.rehearsal =
                Some(Rehearsal::create(self.run.seed).map_err(|error| error.to_string())?);
        }
        self.rehearsal.as_mut().ok_or_else(String::new)
    }

    /// Answers the next question, or goes on with a tap. Returns whether anybody may ask more.
    fn serve(&mut self, asks: &Receiver<Order>, answered: &Sender<(Question, Arc<str>)>) -> bool {
        let asked = match &self.watching {
            None => asks.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => asks.recv_timeout(TAPPED),
        };
        let answer = match asked {
            Ok((asked, version)) if asked.watches() => {
                let begun = self.begin_watch(&asked, version.as_deref());
                begun.err().map(|why| (asked, Err(why)))
            }
            Ok((asked, version)) => {
                let answer = self.answer(&asked, version.as_deref());
                Some((asked, answer))
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        [answer, self.watch()].into_iter().flatten().all(|(asked, answer)| {
            events::answered(&asked, &answer);
            // A long answer becomes text here, beside the wire.
            let mut line = match answer {
                Ok(answer) => serde_json::to_string(&answer).unwrap_or_default(),
                Err(why) => json!({ "error": why }).to_string(),
            };
            line.push('\n');
            answered.send((asked, line.into())).is_ok()
        })
    }

    /// Begins a tap at all shards.
    fn begin_watch(&mut self, asked: &Question, version: Option<&Version>) -> Result<(), String> {
        if self.watching.is_some() {
            return Err("a tap or a trace is under way: wait for its end".into());
        }
        self.taps = self.taps.wrapping_add(1);
        let (watching, values) = match asked {
            Question::Trace(request) => {
                let tracing = Tracing::begin(request, self.taps)?;
                self.configure(version)?;
                (Watching::Trace(tracing), self.values(0..self.run.shards)?)
            }
            Question::Tap(request) => {
                (Watching::Tap(Box::new(Tapping::begin(request, self.taps)?)), Values::new())
            }
            _ => return Err(String::new()),
        };
        self.end_tap.store(false, Ordering::Relaxed);
        for caller in &mut self.callers {
            // A shard without a host half taps from its next one on.
            let _answered = caller.ask(&self.run.lines, watching.order(), &mut |_| {});
        }
        events::watch_begins(asked);
        self.watching = Some((asked.clone(), watching, values));
        Ok(())
    }

    /// Goes on with the tap, if one is under way. Returns its answer, once it is over.
    fn watch(&mut self) -> Option<(Question, Result<Answered, String>)> {
        let (_, watching, _) = self.watching.as_mut()?;
        for caller in &mut self.callers {
            let shard = caller.shard;
            let same = caller.taps(&self.run.lines, &mut |told| watching.take(shard, &told));
            if same != Ok(true) {
                let _answered = caller.ask(&self.run.lines, watching.order(), &mut |_| {});
            }
        }
        if !watching.is_over() && !self.end_tap.load(Ordering::Relaxed) {
            return None;
        }
        for caller in &mut self.callers {
            let _answered = caller.ask(&self.run.lines, Watching::end(), &mut |_| {});
        }
        let (asked, watching, values) = self.watching.take()?;
        let answer = match watching {
            Watching::Tap(tapping) => tapping.end(),
            Watching::Trace(tracing) => self.rehearsal().map(|rehearsal| {
                let (packets, lost) = tracing.end(rehearsal, &values);
                let (missed, passed_by) = (lost.missed(), lost.passed_by());
                Answered::Traced { schema: TRACE, packets, missed, passed_by }
            }),
        };
        Some((asked, answer))
    }
}
