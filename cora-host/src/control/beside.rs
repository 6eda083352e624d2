//! Runs a command beside the wire and reads its output, with limits of time and length.
//!
//! User-specified files may be on storage that hangs, and user-specified programs may sleep or
//! print without end. So these are accessed by a process, which a separate thread waits for, and
//! which is ended when it takes too long.
#![expect(unsafe_code, reason = "asks, between fork and exec, to be ended with this process")]

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};

use crate::process::child;

/// Interval between checks for its end.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// How long its children may hold its output open after its end.
const LINGER: Duration = Duration::from_millis(100);

/// Limits of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// Bytes of output, including standard error.
    pub(crate) bytes: usize,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Runs this work on a separate thread.
pub(crate) fn begin<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> JoinHandle<Result<T, String>> {
    std::thread::spawn(work)
}

/// The outcome of such work, if it is finished.
pub(crate) fn outcome<T>(
    work: &mut Option<JoinHandle<Result<T, String>>>,
) -> Option<Result<T, String>> {
    let work = work.take_if(|work| work.is_finished())?;
    Some(work.join().unwrap_or_else(|_| Err("it can't be found out".into())))
}

/// Runs the command to its end. An error is a sentence without the command's name.
pub(crate) fn run(mut command: Command, limits: Limits) -> Result<Told, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    child::gets(&mut command, &[]);
    let die_with_us = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: the closure only makes a system call, which is allowed between fork and exec.
    unsafe { command.pre_exec(die_with_us) };
    let child = command.spawn().map_err(|error| error.to_string())?;
    let mut group = Group(child);
    let (stdout, stderr) = (group.0.stdout.take(), group.0.stderr.take());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Err("its output is not to be had".into());
    };
    let mut streams = [Stream::new(stdout)?, Stream::new(stderr)?];
    let status = group.listen(&mut streams, limits)?;
    let [stdout, stderr] = streams.map(|stream| stream.bytes);
    Ok(Told { status, stdout, stderr })
}

/// The process and its children. Dropping it ends them all.
struct Group(Child);

impl Group {
    fn listen(&mut self, streams: &mut [Stream; 2], limits: Limits) -> Result<ExitStatus, String> {
        let begun = Instant::now();
        let mut ended: Option<(ExitStatus, Instant)> = None;
        loop {
            wait_for(streams);
            for stream in &mut *streams {
                stream.take_in(limits.bytes)?;
            }
            let said: usize = streams.iter().map(|stream| stream.bytes.len()).sum();
            if said > limits.bytes {
                return Err(format!("it says more than {} KiB", limits.bytes >> 10));
            }
            if ended.is_none() {
                let status = self.0.try_wait().map_err(|error| error.to_string())?;
                ended = status.map(|status| (status, Instant::now()));
            }
            let silent = streams.iter().all(|stream| stream.is_closed);
            match ended {
                Some((status, since)) if silent || since.elapsed() > LINGER => return Ok(status),
                _ if begun.elapsed() > limits.time => {
                    return Err(format!("it has not ended within {} s", limits.time.as_secs()));
                }
                _ => {}
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // Processes that have already ended are no longer part of it.
            let _ended = kill_process_group(group, Signal::KILL);
        }
        let _status = self.0.wait();
    }
}

/// One of its output streams.
struct Stream {
    from: Box<dyn Output>,
    bytes: Vec<u8>,
    is_closed: bool,
}

trait Output: Read + AsFd {}
impl<T: Read + AsFd> Output for T {}

impl Stream {
    fn new(from: impl Output + 'static) -> Result<Self, String> {
        fcntl_setfl(&from, OFlags::NONBLOCK).map_err(|errno| errno.to_string())?;
        Ok(Self { from: Box::new(from), bytes: Vec::new(), is_closed: false })
    }

    fn file(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    /// Reads the available bytes, up to just over the limit.
    fn take_in(&mut self, most: usize) -> Result<(), String> {
        let mut part = [0; 4096];
        while !self.is_closed && self.bytes.len() <= most {
            match self.from.read(&mut part) {
                Ok(0) => self.is_closed = true,
                Ok(length) => self.bytes.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }
}

fn wait_for(streams: &[Stream; 2]) {
    let open = streams.iter().filter(|stream| !stream.is_closed);
    let mut files: Vec<_> =
        open.map(|stream| PollFd::from_borrowed_fd(stream.file(), PollFlags::IN)).collect();
    // Ready or not, the caller checks again.
    let _ready = poll(&mut files, Some(&LOOK_EVERY));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, limits: Limits) -> Result<Told, String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]).stdin(Stdio::null());
        run(command, limits)
    }

    /// More time than a shell takes on a busy machine.
    const LIMITS: Limits = Limits { time: Duration::from_secs(20), bytes: 10_000 };

    #[test]
    fn what_is_said_in_time_is_told() {
        let told = shell("echo yes; echo no >&2; exit 3", LIMITS).expect("it ends");
        assert_eq!(
            (told.status.code(), &told.stdout[..], &told.stderr[..]),
            (Some(3), &b"yes\n"[..], &b"no\n"[..])
        );
        let missing = run(Command::new("/nowhere/program"), LIMITS).expect_err("there is none");
        assert!(missing.contains("No such file"), "{missing}");
    }

    #[test]
    fn nobody_sleeps_or_talks_for_longer() {
        for (text, why) in [
            ("sleep 20", "not ended within"),
            ("sleep 20 & wait", "not ended within"),
            ("while :; do echo yes; done", "it says more than 9 KiB"),
            ("while :; do echo yes >&2; done", "it says more than 9 KiB"),
            ("exec >&- 2>&-; sleep 20", "not ended within"),
        ] {
            let begun = Instant::now();
            let error =
                shell(text, Limits { time: Duration::from_millis(400), ..LIMITS }).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{text}");
        }
    }

    #[test]
    fn whoever_holds_the_output_of_one_that_ended_is_not_waited_for() {
        let begun = Instant::now();
        let told = shell("sleep 20 & echo yes", LIMITS);
        assert_eq!(told.expect("it ends").stdout, b"yes\n");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}
