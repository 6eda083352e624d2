//! The log of a run. Each line has a part of the run and a level, and only lines up to the part's
//! level are written.
//!
//! ```text
//! halves ── a pipe each ──┐ all their lines, with headers
//!                         ▼
//! supervisor ─ queue ─ collector ─ up to the level, some of a kind ─ queue ─ writer ─ place
//! ```
//!
//! - **No half writes to the log.** In a live run the supervisor reads the words of its other
//!   processes from pipes ([`halves`]). They write all their lines: which ones count, and how many,
//!   is decided at one place, which a control socket can reach. So a half knows no levels. The
//!   collector does nothing but read and decide, so pipes don't get full.
//! - **The log holds nobody up.** The reader of a log may disappear or stall, and its disk may be
//!   full. None of that ends a run, and no packet waits for it: a line that can't be written is
//!   dropped and counted. The next written line reports how many were lost before it.
//! - **A flood is cut.** Lines of one kind, which are those of a call site, are limited
//!   ([`limit`]). The number of the others is told.
//! - **Events.** The newest lines stay in memory, whatever the levels are ([`events`]).
//! - **Order.** The last words of a half stand before the supervisor's words about it: the
//!   collector empties pipes before it passes on lines that are in the queue.
//!
//! Runs on captures have no pipes: all their processes write to standard error. All other code of
//! this crate logs through this module, which clippy enforces (`print_stderr`).

mod collector;
mod events;
mod halves;
mod levels;
mod limit;
mod place;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::panic::Location;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use collector::{Entry, Log, Lost};
use events::{Events, Page};
pub(crate) use halves::Source;
use levels::{InForce, Level};
pub(crate) use levels::{Levels, Part};
use limit::Site;
pub(crate) use place::LogTo;
pub use place::utc;
use place::{Form, Place};

use crate::RunError;

/// How long the end of a process waits for its last lines.
const AT_THE_END: Duration = Duration::from_secs(1);

/// The log of this process; `None` if its threads can't be started.
static LOG: OnceLock<Option<Log>> = OnceLock::new();
/// The place that the options of a run name, until the log begins.
static PLACE: Mutex<Option<Place>> = Mutex::new(None);
/// The levels of this process. A process whose words another one reads has no say.
static LEVELS: InForce = InForce::new();
/// The part that the last words of this process are about.
static OWN: AtomicU8 = AtomicU8::new(Part::Run as u8);
static LOST: Lost = Lost::new();
/// The events of this run.
static EVENTS: Mutex<Events> = Mutex::new(Events::new());
/// Set once the log has [begun](begin).
static READS: AtomicBool = AtomicBool::new(false);

/// A line.
#[derive(Clone, Debug)]
struct Line {
    when: SystemTime,
    part: Part,
    level: Level,
    site: Site,
    text: String,
    /// It came without a header, or from a process that nobody trusts.
    is_bare: bool,
    /// The reason of a failure: it is written whatever the levels are, and on standard error, too.
    is_last: bool,
    /// It is an event at any level.
    is_event: bool,
}

impl Line {
    fn now(part: Part, level: Level, text: String) -> Self {
        let (when, is_event) = (SystemTime::now(), level <= Level::Info);
        Self { when, part, level, site: 0, text, is_bare: false, is_last: false, is_event }
    }
}

/// The levels and the place of the log, as options.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LogOptions {
    /// Which lines the log has: a level for all parts, and others for some, as in
    /// info,ports=debug. Levels are off, error, warn, info, debug; parts are run, nic, host, ports,
    /// control, configuration, card, moves, records [default: info].
    #[arg(long, value_name = "LEVELS")]
    log: Option<Levels>,
    /// Where the log goes: stderr or a file, with time, level and part in front of each line, or
    /// journal: standard error with the priorities of systemd [default: standard error with the
    /// text alone, or as journal if systemd reads it].
    #[arg(long, value_name = "WHERE")]
    log_to: Option<LogTo>,
}

impl LogOptions {
    pub(crate) const fn is_given(&self) -> bool {
        self.log.is_some() || self.log_to.is_some()
    }
}

/// Makes this the log of the process and of those that it starts. Must come before its first line.
///
/// # Errors
/// If a file can't be opened.
pub(crate) fn begin(options: &LogOptions) -> Result<(), RunError> {
    READS.store(true, Ordering::Relaxed);
    let place = Place::of(options.log_to.as_ref())?;
    if let Some(levels) = &options.log {
        LEVELS.set(levels);
    }
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
    Ok(())
}

/// This process is such a part of a run.
pub(crate) fn speak_for(part: Part) {
    OWN.store(part as u8, Ordering::Relaxed);
}

/// Logs that something is lost.
#[track_caller]
pub(crate) fn error(part: Part, text: impl Display) {
    say((part, Level::Error), true, text);
}

/// Logs a fault that the run deals with.
#[track_caller]
pub(crate) fn warn(part: Part, text: impl Display) {
    say((part, Level::Warn), true, text);
}

/// Logs a change.
#[track_caller]
pub(crate) fn info(part: Part, text: impl Display) {
    say((part, Level::Info), true, text);
}

/// Logs a step. Not for work on each packet.
#[track_caller]
pub(crate) fn debug(part: Part, text: impl Display) {
    say((part, Level::Debug), false, text);
}

/// Logs a step that an operator wants to know of later: it is an event, too, and the log has it at
/// the level `debug`.
#[track_caller]
pub(crate) fn note(part: Part, text: impl Display) {
    say((part, Level::Debug), true, text);
}

/// Logs the reason why this process, or its command, fails.
#[track_caller]
pub(crate) fn last_words(text: impl Display) {
    let own = Part::ALL.get(usize::from(OWN.load(Ordering::Relaxed))).copied();
    let part = own.unwrap_or(Part::Run);
    let line = Line::now(part, Level::Error, text.to_string());
    pass(Line { is_last: true, site: site(Location::caller()), ..line });
    flush();
}

#[track_caller]
fn say((part, level): (Part, Level), is_event: bool, text: impl Display) {
    if is_read() || LEVELS.admits(part, level) || is_event && reads() {
        let line = Line::now(part, level, text.to_string());
        pass(Line { site: site(Location::caller()), is_event, ..line });
    }
}

fn pass(line: Line) {
    let sent = log().is_some_and(|log| log.send(Entry::Line(line)));
    if !sent {
        LOST.add(1);
    }
}

/// The number of a place in the source: the same in all processes of a build.
fn site(at: &Location<'_>) -> Site {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((at.file(), at.line(), at.column()))
}

/// Makes this log, if it has [begun](begin), read the words of a command that is about to start:
/// its standard error, and its standard output, too, if it `prints`.
pub(crate) fn read_words(command: &mut Command, source: Source, prints: bool) {
    if !reads() {
        return;
    }
    let Some(log) = log() else { return };
    match halves::pipe_of(command, prints) {
        Some(pipe) => log.hear(pipe, source),
        None => warn(Part::Run, "the words of a process are lost: no descriptor is free"),
    }
}

/// The name of each part's level.
pub(crate) type LevelNames = BTreeMap<&'static str, &'static str>;

/// Changes levels, if any are told; returns what is in force now, and the number of lost lines.
pub(crate) fn change(told: Option<&str>) -> Result<(LevelNames, u64), String> {
    if let Some(told) = told {
        let levels: Levels = told.parse()?;
        LEVELS.set(&levels);
        info(Part::Control, format_args!("levels of the log are changed: {levels}"));
    }
    Ok((LEVELS.names(), LOST.in_all()))
}

/// The oldest events behind the one with the number `after`, or of the `last` ones of these.
pub(crate) fn events(after: u64, last: Option<u64>) -> Page {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner).page(after, last)
}

/// The events so far, for the program that takes the place of this one.
pub(crate) fn events_to_leave() -> Vec<u8> {
    let events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
    serde_json::to_vec(&*events).unwrap_or_default()
}

/// Goes on with the events that the program before left.
pub(crate) fn follow_events(left: &[u8]) {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner).follow(left);
}

/// Waits until all lines are written, for at most a second. For use before the process ends or
/// executes another program.
pub(crate) fn flush() {
    let Some(Some(log)) = LOG.get() else { return };
    let (mark, written) = sync_channel(0);
    if log.send(Entry::Mark(mark)) {
        // Both the dropped barrier and the time-out are errors.
        let _written = written.recv_timeout(AT_THE_END);
    }
}

/// Whether another process reads the words of this one.
fn is_read() -> bool {
    static IS_READ: OnceLock<bool> = OnceLock::new();
    *IS_READ.get_or_init(|| std::env::var_os(halves::VARIABLE).is_some())
}

/// Whether this process reads the words of those that it starts.
fn reads() -> bool {
    READS.load(Ordering::Relaxed)
}

fn log() -> Option<&'static Log> {
    let log = LOG.get_or_init(|| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let form = if is_read() { Form::Header } else { Form::Bare };
        let place = place.filter(|_| !is_read());
        Log::begin(place.unwrap_or_else(|| Place::standard_error(form))).ok()
    });
    log.as_ref()
}
