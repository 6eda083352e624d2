//! The threads of a log: one collects lines, the other writes them, and may stall. A half has the
//! other alone.

use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::events::Events;
use super::halves::{Left, Pipe, Source};
use super::levels::{InForce, Level, Part};
use super::limit::Limit;
use super::place::{Form, Place, StandardError};
use super::{EVENTS, LEVELS, LOST, Line, is_read, reads};

/// Maximum number of lines that wait in each queue.
const MOST_WAITING: usize = 256;
/// Pause after a pipe gave as much as it holds: a flood does not take a whole processor.
const BREATH: Duration = Duration::from_millis(1);
/// How often the queue is looked at without a descriptor that wakes its reader.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A message to the threads.
#[derive(Debug)]
pub(super) enum Entry {
    Line(Line),
    /// A barrier: dropped once everything before it is written.
    Mark(SyncSender<()>),
}

/// The way to the threads.
#[derive(Debug)]
pub(super) struct Log {
    /// To the collector, or to the writer if there is no collector.
    entries: SyncSender<Entry>,
    /// Wakes the collector.
    bell: Option<Arc<OwnedFd>>,
    /// Pipes that it does not read yet.
    pipes: Arc<Mutex<Vec<Pipe>>>,
}

impl Log {
    pub(super) fn begin(place: Place) -> std::io::Result<Self> {
        let (lines, to_write) = sync_channel(MOST_WAITING);
        thread("log-writer", move || write_all(&to_write, place))?;
        if is_read() && !reads() {
            // Nothing is to be decided here.
            return Ok(Self { entries: lines, bell: None, pipes: Arc::default() });
        }
        let (entries, passed) = sync_channel(MOST_WAITING);
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok().map(Arc::new);
        let pipes = Arc::new(Mutex::new(Vec::new()));
        let mut collector = Collector {
            passed,
            bell: bell.clone(),
            new: Arc::clone(&pipes),
            pipes: Vec::new(),
            lines,
            levels: (!is_read()).then_some(&LEVELS),
            events: &EVENTS,
            limit: Limit::default(),
            begun: Instant::now(),
        };
        thread("log", move || while collector.turn() {})?;
        Ok(Self { entries, bell, pipes })
    }

    /// Returns whether there was room.
    pub(super) fn send(&self, entry: Entry) -> bool {
        let sent = self.entries.try_send(entry).is_ok();
        self.ring();
        sent
    }

    /// Reads this pipe from now on.
    pub(super) fn hear(&self, pipe: OwnedFd, source: Source) {
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.push(Pipe::new(pipe, source));
        drop(pipes);
        self.ring();
    }

    fn ring(&self) {
        if let Some(bell) = &self.bell {
            // A full counter has rung before.
            let _rung = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
    }
}

/// Starts a thread. It blocks the signals that this one blocks, as all of a supervisor.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work).map(drop)
}

/// Decides which lines are written.
struct Collector {
    passed: Receiver<Entry>,
    bell: Option<Arc<OwnedFd>>,
    new: Arc<Mutex<Vec<Pipe>>>,
    pipes: Vec<Pipe>,
    lines: SyncSender<Entry>,
    /// `None` in a process whose words another one reads: that one decides.
    levels: Option<&'static InForce>,
    events: &'static Mutex<Events>,
    limit: Limit,
    begun: Instant,
}

impl Collector {
    /// Waits for lines, and passes them on. Returns whether more can come.
    fn turn(&mut self) -> bool {
        self.wait();
        let mut entries = Vec::new();
        let goes_on = loop {
            match self.passed.try_recv() {
                Ok(entry) if entries.len() < MOST_WAITING => entries.push(entry),
                // The bell has been heard, and must ring for the rest.
                Ok(entry) => {
                    entries.push(entry);
                    if let Some(bell) = &self.bell {
                        let _rung = rustix::io::write(bell, &1_u64.to_ne_bytes());
                    }
                    break true;
                }
                Err(TryRecvError::Empty) => break true,
                Err(TryRecvError::Disconnected) => break false,
            }
        };
        // The last words of a half come before those about its end.
        self.read_pipes();
        for entry in entries {
            match entry {
                Entry::Line(line) => self.pass(line),
                Entry::Mark(mark) => {
                    self.tell_suppressed(true);
                    self.send(Entry::Mark(mark));
                }
            }
        }
        self.tell_suppressed(false);
        goes_on
    }

    fn wait(&self) {
        let in_time = |next: Duration| next.saturating_sub(self.begun.elapsed());
        let next = self.limit.next().map(in_time);
        let next = if self.bell.is_none() { Some(LOOK_EVERY) } else { next };
        let time = next.map(|next| Timespec {
            tv_sec: i64::try_from(next.as_secs()).unwrap_or(i64::MAX),
            // A moment later, so that it is time then.
            tv_nsec: next.subsec_nanos().into(),
        });
        let bell = self.bell.iter().map(|bell| bell.as_fd());
        let files = bell.chain(self.pipes.iter().map(|pipe| pipe.file.as_fd()));
        let mut files: Vec<_> =
            files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        // Ready or not, all are looked at.
        let _ready = poll(&mut files, time.as_ref());
        if let Some(bell) = &self.bell {
            let _heard = rustix::io::read(bell, &mut [0; 8]);
        }
    }

    fn read_pipes(&mut self) {
        self.pipes.append(&mut self.new.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut lines, mut flood) = (Vec::new(), false);
        self.pipes.retain_mut(|pipe| {
            let left = pipe.read(&mut lines);
            flood |= left == Left::More;
            left != Left::Closed
        });
        for line in lines {
            self.pass(line);
        }
        if flood {
            std::thread::sleep(BREATH);
        }
    }

    /// Passes a line to the writer, if it is to be written, and keeps it if it is an event.
    fn pass(&mut self, line: Line) {
        let Some(levels) = self.levels else { return self.send(Entry::Line(line)) };
        let is_wanted = line.is_event || levels.admits(line.part, line.level);
        if line.is_last || is_wanted && self.limit.admits(&line, self.begun.elapsed()) {
            self.keep(levels, line);
        }
    }

    fn tell_suppressed(&mut self, all: bool) {
        let Some(levels) = self.levels else { return };
        for line in self.limit.told(self.begun.elapsed(), all) {
            self.keep(levels, line);
        }
    }

    /// Keeps a line as an event, and passes it to the writer if its level counts.
    fn keep(&self, levels: &InForce, line: Line) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(&line);
        if line.is_last || levels.admits(line.part, line.level) {
            self.send(Entry::Line(line));
        }
    }

    fn send(&self, entry: Entry) {
        let is_line = matches!(entry, Entry::Line(_));
        if self.lines.try_send(entry).is_err() && is_line {
            LOST.add(1);
        }
    }
}

/// Lines that could not be written.
#[derive(Debug)]
pub(super) struct Lost {
    in_all: AtomicU64,
    told: AtomicU64,
}

impl Lost {
    pub(super) const fn new() -> Self {
        Self { in_all: AtomicU64::new(0), told: AtomicU64::new(0) }
    }

    pub(super) fn add(&self, lines: u64) {
        self.in_all.fetch_add(lines, Ordering::Relaxed);
    }

    pub(super) fn in_all(&self) -> u64 {
        self.in_all.load(Ordering::Relaxed)
    }

    /// Those that no line has told yet.
    fn untold(&self) -> u64 {
        self.in_all().saturating_sub(self.told.load(Ordering::Relaxed))
    }
}

/// Writes all lines, until nobody can send any.
fn write_all(entries: &Receiver<Entry>, mut place: Place) {
    write_to(entries, &LOST, |lines| {
        let written = place.write(lines);
        for line in lines.iter().filter(|line| line.is_last && place.is_file()) {
            // Nobody reads a log that can't be written, but somebody may read this.
            let _written = StandardError.write_all(Form::Bare.of(line).as_bytes());
        }
        written
    });
}

fn write_to(
    entries: &Receiver<Entry>,
    lost: &Lost,
    mut write: impl FnMut(&[&Line]) -> std::io::Result<()>,
) {
    for entry in entries {
        let Entry::Line(line) = entry else { continue };
        let before = lost.untold();
        let written = match before {
            0 => write(&[&line]),
            before => {
                let text = format!("({before} lines of this log were lost)");
                write(&[&Line::now(Part::Run, Level::Warn, text), &line])
            }
        };
        match written {
            Ok(()) => _ = lost.told.fetch_add(before, Ordering::Relaxed),
            Err(_) => lost.add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    fn line(text: &str) -> Entry {
        Entry::Line(Line::now(Part::Run, Level::Info, text.to_owned()))
    }

    fn texts(lines: &[&Line]) -> Vec<String> {
        lines.iter().map(|line| line.text.clone()).collect()
    }

    /// What is written of these lines to a disk with space for `room` of them, and space again
    /// after `full` more.
    fn written(all: &[&str], mut room: usize, mut full: usize, lost: &Lost) -> Vec<String> {
        let (log, entries) = sync_channel(16);
        for text in all {
            log.try_send(line(text)).expect("room");
        }
        drop(log);
        let mut written = Vec::new();
        write_to(&entries, lost, |lines| {
            if room == 0 && full > 0 {
                full -= 1;
                return Err(Error::from(ErrorKind::StorageFull));
            }
            room = room.saturating_sub(1);
            written.extend(texts(lines));
            Ok(())
        });
        written
    }

    #[test]
    fn lines_that_are_lost_are_counted_and_told() {
        let lost = Lost::new();
        let written_lines = written(&["a", "b", "c", "d", "e"], 1, 2, &lost);
        assert_eq!(written_lines, ["a", "(2 lines of this log were lost)", "d", "e"]);
        assert_eq!((lost.untold(), lost.in_all()), (0, 2));
        lost.add(7);
        assert!(written(&["f"], 0, 9, &lost).is_empty());
        assert_eq!((lost.untold(), lost.in_all()), (8, 10), "none is counted twice or forgotten");
    }

    #[test]
    fn a_mark_is_passed_once_the_lines_before_it_are_written() {
        let (log, entries) = sync_channel(16);
        let (mark, passed) = sync_channel(0);
        assert!(log.try_send(line("a")).is_ok() && log.try_send(Entry::Mark(mark)).is_ok());
        drop(log);
        let mut seen = Vec::new();
        assert_eq!(passed.try_recv(), Err(TryRecvError::Empty));
        write_to(&entries, &Lost::new(), |lines| {
            assert_eq!(passed.try_recv(), Err(TryRecvError::Empty));
            seen.extend(texts(lines));
            Ok(())
        });
        assert_eq!(seen, ["a"]);
        assert_eq!(passed.try_recv(), Err(TryRecvError::Disconnected));
    }

    static DEBUG_OF_CARD: InForce = InForce::new();

    /// A collector of a supervisor, with the queues to it and from it.
    fn collector() -> (Collector, SyncSender<Entry>, Receiver<Entry>) {
        static EVENTS_OF_ALL: Mutex<Events> = Mutex::new(Events::new());
        collector_with(&EVENTS_OF_ALL)
    }

    /// The same, with events of its own.
    fn collector_with(
        events: &'static Mutex<Events>,
    ) -> (Collector, SyncSender<Entry>, Receiver<Entry>) {
        DEBUG_OF_CARD.set(&"info,card=debug".parse().expect("levels"));
        let (entries, passed) = sync_channel(MOST_WAITING);
        let (lines, to_write) = sync_channel(MOST_WAITING);
        let collector = Collector {
            passed,
            bell: None,
            new: Arc::default(),
            pipes: Vec::new(),
            lines,
            levels: Some(&DEBUG_OF_CARD),
            events,
            limit: Limit::default(),
            begun: Instant::now(),
        };
        (collector, entries, to_write)
    }

    fn come(lines: &Receiver<Entry>) -> Vec<String> {
        let text = |entry| match entry {
            Entry::Line(line) => line.text,
            Entry::Mark(_) => "mark".to_owned(),
        };
        lines.try_iter().map(text).collect()
    }

    #[test]
    fn the_words_of_a_half_stand_before_those_about_its_end() {
        let (mut collector, entries, lines) = collector();
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "echo of its own >&2; echo printed"]);
        let pipe = super::super::halves::pipe_of(&mut command, true).expect("a pipe");
        let mut half = command.spawn().expect("it starts");
        drop(command);
        collector.new.lock().expect("nobody fails").push(Pipe::new(pipe, Source::HOST));
        assert!(half.wait().expect("it ends").success());
        entries.try_send(line("it ended")).expect("room");
        assert!(collector.turn());
        assert_eq!(come(&lines), ["of its own", "printed", "it ended"]);
        assert!(collector.pipes.is_empty(), "its end is noticed");
        drop(entries);
        assert!(!collector.turn());
    }

    #[test]
    fn levels_and_limits_are_those_of_the_supervisor() {
        let (mut collector, entries, lines) = collector();
        let of = |part, level, text: &str| Line::now(part, level, text.to_owned());
        for line in [
            of(Part::Card, Level::Debug, "a"),
            of(Part::Run, Level::Debug, "b"),
            Line { is_last: true, ..of(Part::Run, Level::Debug, "c") },
        ] {
            entries.try_send(Entry::Line(line)).expect("room");
        }
        for _ in 0..100 {
            entries.try_send(line("d")).expect("room");
        }
        let (mark, _passed) = sync_channel(0);
        entries.try_send(Entry::Mark(mark)).expect("room");
        assert!(collector.turn());
        let come = come(&lines);
        assert_eq!(come[..3], ["a", "c", "d"]);
        assert_eq!(come.iter().filter(|text| *text == "d").count(), 10);
        let told = "… 90 more like it in the last 0 s, as: d";
        assert_eq!(come[12..], [told, "mark"], "they are told before the end");
    }

    #[test]
    fn events_are_kept_whatever_the_levels_are_and_a_flood_is_one() {
        static EVENTS: Mutex<Events> = Mutex::new(Events::new());
        let (mut collector, entries, lines) = collector_with(&EVENTS);
        collector.levels = Some(&OFF);
        static OFF: InForce = InForce::new();
        OFF.set(&"off,ports=debug".parse().expect("levels"));
        let of = |part, level, text: &str| Line::now(part, level, text.to_owned());
        let noted = Line { is_event: true, ..of(Part::Nic, Level::Debug, "noted") };
        for line in [
            of(Part::Run, Level::Info, "a change"),
            of(Part::Run, Level::Debug, "a step"),
            of(Part::Ports, Level::Debug, "a step that the log has"),
            noted.clone(),
        ] {
            entries.try_send(Entry::Line(line)).expect("room");
        }
        for _ in 0..99 {
            entries.try_send(Entry::Line(noted.clone())).expect("room");
        }
        let (mark, _passed) = sync_channel(0);
        entries.try_send(Entry::Mark(mark)).expect("room");
        assert!(collector.turn());
        assert_eq!(come(&lines), ["a step that the log has", "mark"]);
        let page = EVENTS.lock().expect("nobody fails").page(0, None);
        let page = serde_json::to_value(page).expect("JSON");
        let kept: Vec<_> = page["events"].as_array().expect("a list").iter().collect();
        let texts: Vec<_> = kept.iter().filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(texts[..3], ["a change", "a step that the log has", "noted"]);
        assert_eq!((texts.len(), texts[12]), (13, "… 90 more like it in the last 0 s, as: noted"));
        assert_eq!((&kept[2]["level"], &kept[2]["part"]), (&"debug".into(), &"nic".into()));
    }

    #[test]
    fn a_line_without_room_is_lost_and_holds_nobody_up() {
        let (mut collector, entries, lines) = collector();
        let before = LOST.in_all();
        for number in 0..2 * MOST_WAITING as u64 {
            let more = Line { site: number, ..Line::now(Part::Run, Level::Info, String::new()) };
            entries.try_send(Entry::Line(more)).expect("room");
            if entries.try_send(line("full")).is_err() || number.is_multiple_of(100) {
                assert!(collector.turn());
            }
        }
        assert!(LOST.in_all() > before);
        assert_eq!(come(&lines).len(), MOST_WAITING);
    }
}
