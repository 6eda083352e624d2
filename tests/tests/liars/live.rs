//! A live run on traffic from memory, its halves, and its report.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::control;
use cora_tests::process::{self, Running, children, start, wait_until};
use cora_tests::workshop::room;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Upper bound on the start of a half and on an answer.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Upper bound on the time until a run works after any deed of its NIC: a new one has 30 s to reach
/// its region.
const WORKS: Duration = Duration::from_secs(50);

/// The run, and its control socket.
pub(crate) struct Live {
    /// The process, until its end.
    running: Cell<Option<Running>>,
    supervisor: u32,
    socket: PathBuf,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) report: Value,
    pub(crate) stderr: String,
}

impl Live {
    /// Starts a run with these further options, and waits until it works.
    pub(crate) fn start(name: &str, program: &Path, words: &[&str]) -> Self {
        let socket = room(&format!("liars-{name}")).join("control");
        let mut command = Command::new(program);
        let ports = "inside=mem:flows=50;size=60,outside=mem:flows=5;size=60";
        command.args(["run", "--json", "--live", ports, "--control"]).arg(&socket).args(words);
        let running = start(&mut command);
        let live = Self { supervisor: running.id(), running: Cell::new(Some(running)), socket };
        live.wait_until_it_works();
        live
    }

    pub(crate) fn wait_until_it_works(&self) {
        let mut works = false;
        wait_until(WORKS, || {
            works = self.works() == Some(true);
            works || !self.is_alive()
        });
        assert!(works, "{:?}, {:#?}", self.status(), self.last_words());
    }

    /// Returns the end of the run, if it has ended.
    fn last_words(&self) -> Option<process::Ended> {
        let running = if self.is_alive() { None } else { self.running.take() };
        running.map(|running| running.end(SOON))
    }

    pub(crate) fn status(&self) -> Option<Value> {
        control::ask(&self.socket, "status")
    }

    pub(crate) fn works(&self) -> Option<bool> {
        self.status()?["works"].as_bool()
    }

    /// Returns the number of frames that left so far.
    pub(crate) fn left(&self) -> u64 {
        self.status().and_then(|status| status["packets_out"].as_u64()).unwrap_or(0)
    }

    pub(crate) const fn supervisor(&self) -> u32 {
        self.supervisor
    }

    /// Waits for the process of a half, and returns it.
    pub(crate) fn half(&self, half: &str) -> u32 {
        let mut found = None;
        wait_until(SOON, || {
            found = children(self.supervisor).into_iter().find(|child| {
                words_of(*child).get(1).is_some_and(|word| word == &format!("__{half}"))
            });
            found.is_some()
        });
        found.unwrap_or_else(|| {
            panic!("there is no {half}: {:?}, {:#?}", self.status(), self.last_words())
        })
    }

    /// Waits until a new process is this half and both work, and returns it.
    pub(crate) fn next(&self, half: &str, before: u32) -> u32 {
        let mut now = before;
        let came = wait_until(SOON, || {
            now = self.half(half);
            now != before && self.works() == Some(true)
        });
        assert!(came, "{half} {before} was not replaced: {:?}", self.status());
        now
    }

    pub(crate) fn is_alive(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.supervisor))
            .is_ok_and(|stat| !stat.contains(") Z"))
    }

    /// Waits until frames pass, ends the run, and checks that each frame has an outcome.
    pub(crate) fn end(self) -> Ended {
        self.wait_until_it_works();
        let before = self.left();
        assert!(wait_until(SOON, || self.left() > before), "nothing passes: {:?}", self.status());
        self.stop()
    }

    /// Ends the run, in any state.
    pub(crate) fn stop(self) -> Ended {
        signal(self.supervisor, Signal::INT);
        let ended = self.running.take().expect("it ends once").end(3 * SOON);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let report = ended.json();
        let sum = |counts: &Value| -> u64 {
            counts.as_object().into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum()
        };
        let came = report["packets_in"].as_u64();
        assert_eq!(came, Some(sum(&report["outcomes"])), "{report:#}");
        Ended { report, stderr: ended.stderr }
    }
}

/// A failing test leaves no run behind.
impl Drop for Live {
    fn drop(&mut self) {
        if self.running.get_mut().is_some() {
            signal(self.supervisor, Signal::KILL);
        }
    }
}

impl Ended {
    pub(crate) fn count(&self, pointer: &str) -> u64 {
        self.report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    }
}

pub(crate) fn signal(process: u32, signal: Signal) {
    let process = Pid::from_raw(process.cast_signed()).expect("a process");
    // The process may have ended meanwhile.
    let _sent = kill_process(process, signal);
}

/// Returns the command line of a process.
pub(crate) fn words_of(process: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns the resident memory of a process, in kilobytes.
pub(crate) fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
