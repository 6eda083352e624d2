//! The log of a run: lines on standard error, written by a separate thread.
//!
//! The reader of a log may disappear or stall, and its disk may be full. None of that ends a run,
//! and no packet waits for it: a line that can't be written is dropped and counted. The next
//! written line reports how many were lost before it. All other code of this crate logs through
//! this module, which clippy enforces (`print_stderr`).

use std::fmt::Display;
use std::io::Write;
use std::os::fd::AsFd as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Maximum number of lines that wait to be written.
const MOST_WAITING: usize = 256;
/// How long the end of a process waits for its last lines.
const AT_THE_END: Duration = Duration::from_secs(1);

/// Messages to the writing thread.
enum Entry {
    Line(String),
    /// A barrier: dropped once everything before it is written.
    Mark(#[expect(dead_code, reason = "its end is the message")] SyncSender<()>),
}

/// The channel to the writing thread; `None` if it can't be started.
static LOG: OnceLock<Option<SyncSender<Entry>>> = OnceLock::new();
/// Lines dropped since the last one written.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Logs a line.
pub(crate) fn say(line: impl Display) {
    let sent = log().is_some_and(|log| log.try_send(Entry::Line(line.to_string())).is_ok());
    if !sent {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until all lines are written, for at most a second. For use before the process ends or
/// executes another program.
pub(crate) fn flush() {
    let Some(Some(log)) = LOG.get() else { return };
    let (mark, written) = sync_channel(0);
    if log.try_send(Entry::Mark(mark)).is_ok() {
        // Both the dropped barrier and the time-out are errors.
        let _written = written.recv_timeout(AT_THE_END);
    }
}

fn log() -> Option<&'static SyncSender<Entry>> {
    let log = LOG.get_or_init(|| {
        let (log, entries) = sync_channel(MOST_WAITING);
        let write = move || write_all(&entries, &mut StandardError, &DROPPED);
        let thread = std::thread::Builder::new().name("log".into()).spawn(write);
        thread.is_ok().then_some(log)
    });
    log.as_ref()
}

fn write_all(entries: &Receiver<Entry>, to: &mut impl Write, dropped: &AtomicU64) {
    for entry in entries {
        let Entry::Line(line) = entry else { continue };
        let before = dropped.swap(0, Ordering::Relaxed);
        let text = match before {
            0 => format!("{line}\n"),
            before => format!("({before} lines of this log were lost)\n{line}\n"),
        };
        if to.write_all(text.as_bytes()).is_err() {
            dropped.fetch_add(before + 1, Ordering::Relaxed);
        }
    }
}

/// Standard error without the lock of the standard library: a blocking write stalls only this
/// thread.
struct StandardError;

impl Write for StandardError {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(std::io::stderr().as_fd(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with space for `room` lines, and space again after `full` more.
    struct Disk {
        room: usize,
        full: usize,
        written: String,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.room == 0 && self.full > 0 {
                self.full -= 1;
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.room = self.room.saturating_sub(1);
            self.written += &String::from_utf8_lossy(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_are_lost_are_counted_and_told() {
        let (log, entries) = sync_channel(16);
        for line in ["a", "b", "c", "d", "e"] {
            assert!(log.try_send(Entry::Line(line.into())).is_ok());
        }
        drop(log);
        let mut disk = Disk { room: 1, full: 2, written: String::new() };
        let dropped = AtomicU64::new(0);
        write_all(&entries, &mut disk, &dropped);
        assert_eq!(disk.written, "a\n(2 lines of this log were lost)\nd\ne\n");
        assert_eq!(dropped.into_inner(), 0);
        let (log, entries) = sync_channel(16);
        assert!(log.try_send(Entry::Line("f".into())).is_ok());
        drop(log);
        let (mut disk, dropped) = (Disk { room: 0, full: 9, written: String::new() }, 7.into());
        write_all(&entries, &mut disk, &dropped);
        assert_eq!(dropped.into_inner(), 8, "none is counted twice or forgotten");
    }

    #[test]
    fn a_mark_is_passed_once_the_lines_before_it_are_written() {
        let (log, entries) = sync_channel(16);
        let (mark, written) = sync_channel(0);
        assert!(log.try_send(Entry::Line("a".into())).is_ok());
        assert!(log.try_send(Entry::Mark(mark)).is_ok());
        assert!(written.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty));
        drop(log);
        let mut disk = Disk { room: 9, full: 0, written: String::new() };
        write_all(&entries, &mut disk, &AtomicU64::new(0));
        assert_eq!(disk.written, "a\n");
        assert!(written.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected));
    }
}
