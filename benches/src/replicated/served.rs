//! Servers as processes, each with others behind it, and their processor time.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Nanoseconds of a tick of `/proc` (`USER_HZ` is 100 on all of Linux's machines that Cora is for).
const TICK: u64 = 10_000_000;

/// Servers, ended when dropped.
#[derive(Debug, Default)]
pub(super) struct Served(Vec<Child>);

impl Served {
    /// Starts one more.
    pub(super) fn start(&mut self, command: &mut Command) -> Result<()> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.push(quiet.spawn()?);
        Ok(())
    }

    /// The processor time of all of them and of their children, as users and in the kernel, by all
    /// of their threads, also of those that ended.
    ///
    /// # Errors
    /// If one has ended.
    pub(super) fn cpu(&mut self) -> Result<Duration> {
        for child in &mut self.0 {
            if let Some(status) = child.try_wait()? {
                return Err(Error::other(format!("a server has ended with {status}")));
            }
        }
        let mut all: Vec<u32> = self.0.iter().map(Child::id).collect();
        let mut ticks = 0;
        while let Some(process) = all.pop() {
            let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
            let bad =
                || Error::new(ErrorKind::InvalidData, format!("/proc/{process}/stat: {stat}"));
            ticks += ticks_of(&stat).ok_or_else(bad)?;
            for task in fs::read_dir(format!("/proc/{process}/task"))? {
                let children = fs::read_to_string(task?.path().join("children"));
                // A thread may have ended since.
                all.extend(children.unwrap_or_default().split_whitespace().filter_map(number));
            }
        }
        Ok(Duration::from_nanos(ticks * TICK))
    }
}

fn number(word: &str) -> Option<u32> {
    word.parse().ok()
}

/// User time and system time of a process, in ticks, with those of children that ended
/// (`proc_pid_stat(5)`).
fn ticks_of(stat: &str) -> Option<u64> {
    // The name may have blanks and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    let words = rest.split_whitespace().skip(11).take(4).map(|word| word.parse::<u64>().ok());
    let times = words.collect::<Option<Vec<u64>>>()?;
    (times.len() == 4).then(|| times.iter().sum())
}

impl Drop for Served {
    fn drop(&mut self) {
        for child in &self.0 {
            // A program of Cora's ends its halves.
            let id = rustix::process::Pid::from_child(child);
            let _ended = rustix::process::kill_process(id, rustix::process::Signal::INT);
        }
        for child in &mut self.0 {
            let _status = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) S (b)) S 1 7 7 0 -1 4194560 120 0 3 0 21 4 300 5000 20 0 9 0 1000 1 1";
        assert_eq!(ticks_of(stat), Some(21 + 4 + 300 + 5_000));
        assert_eq!(ticks_of("7 (a) S 1 7 7 0 -1 4194560 120 0 3 0 21 4 300"), None);
        assert_eq!(ticks_of("7 (a) S 1 7 7 0 -1 4194560 120 0 3 0 21 x 300 1"), None);
        assert_eq!(ticks_of(""), None);
    }

    #[test]
    fn processor_time_of_a_child_of_a_child_counts() {
        let mut served = Served::default();
        // It hands a signal on to its child, which works.
        let words = ["60", "sh", "-c", "while :; do :; done"];
        served.start(Command::new("timeout").args(words)).expect("coreutils");
        let begin = Instant::now();
        while served.cpu().expect("it runs") < Duration::from_millis(100) {
            assert!(begin.elapsed() < Duration::from_mins(1), "nothing is counted");
        }
    }
}
