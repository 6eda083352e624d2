//! Commands with a time limit, and their output.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The end of a command.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Duration of the command.
    pub took: Duration,
}

/// A command under way, its output being read.
#[derive(Debug)]
pub struct Running {
    child: Child,
    shown: String,
    begun: Instant,
    /// Until it has ended.
    stdout: Option<JoinHandle<()>>,
    stderr: Option<JoinHandle<()>>,
    /// Its output and its standard error so far.
    said: [Arc<Mutex<Vec<u8>>>; 2],
}

/// Starts a command without input.
pub fn start(command: &mut Command) -> Running {
    launch(command.stdin(Stdio::null()))
}

/// Starts a command; a thread writes its standard input.
pub fn start_fed(command: &mut Command, feed: impl FnOnce(ChildStdin) + Send + 'static) -> Running {
    let mut running = launch(command.stdin(Stdio::piped()));
    if let Some(input) = running.child.stdin.take() {
        // The thread ends with the command at the latest: the write then fails.
        drop(spawn(move || feed(input)));
    }
    running
}

fn launch(command: &mut Command) -> Running {
    let shown = format!("{command:?}");
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| panic!("{shown} doesn't start: {error}"));
    let said = [Arc::default(), Arc::default()];
    let stdout = Some(listen(child.stdout.take(), &said[0]));
    let stderr = Some(listen(child.stderr.take(), &said[1]));
    Running { child, shown, begun: Instant::now(), stdout, stderr, said }
}

/// Runs a command to its end, which must come within `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Ended {
    start(command).end(limit)
}

fn listen(
    stream: Option<impl Read + Send + 'static>,
    said: &Arc<Mutex<Vec<u8>>>,
) -> JoinHandle<()> {
    let said = Arc::clone(said);
    spawn(move || {
        let mut part = [0; 1 << 14];
        // The bytes read before a failure count.
        let mut stream = stream;
        while let Some(Ok(length @ 1..)) = stream.as_mut().map(|stream| stream.read(&mut part)) {
            said.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..length]);
        }
    })
}

fn text(said: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

impl Running {
    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its output so far.
    pub fn output(&self) -> String {
        text(&self.said[0])
    }

    /// Returns what it has written to standard error so far.
    pub fn log(&self) -> String {
        text(&self.said[1])
    }

    /// Kills it, unless it has ended.
    pub fn kill(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }

    /// Waits for the end of the command, which must come within `limit`.
    pub fn end(mut self, limit: Duration) -> Ended {
        self.wait(limit)
    }

    /// The same, for a command that another one follows in its place.
    pub fn wait(&mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(2)),
                Ok(None) => {
                    let _ended = self.child.kill();
                    let _status = self.child.wait();
                    panic!("after {limit:?} still running: {}", self.shown);
                }
                Err(error) => panic!("{}: {error}", self.shown),
            }
        };
        let took = self.begun.elapsed();
        for reader in [self.stdout.take(), self.stderr.take()].into_iter().flatten() {
            // One that panicked has left what it read.
            let _read = reader.join();
        }
        let [stdout, stderr] = &self.said;
        let (stdout, stderr) = (text(stdout), text(stderr));
        Ended { code: status.code(), stdout, stderr, took }
    }
}

/// A test that fails leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Ended {
    /// Asserts that the command succeeded; otherwise the test shows its output.
    #[must_use]
    pub fn well(self, what: &str) -> Self {
        assert_eq!(self.code, Some(0), "{what}\n{}{}", self.stdout, self.stderr);
        self
    }

    /// Returns the standard output, as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}{}", self.stdout, self.stderr))
    }
}

/// Returns the processes that have `mark` in their initial environment: a command with that
/// variable and all its descendants.
pub fn marked(mark: &str) -> Vec<u32> {
    let Ok(directory) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = directory.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // The environment of a zombie is empty.
    let is_marked = |id: &u32| {
        std::fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|bytes| bytes.windows(mark.len()).any(|part| part == mark.as_bytes()))
    };
    ids.filter(is_marked).collect()
}

/// Returns the child processes of all threads of a process.
pub fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let children = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    children.collect::<String>().split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Returns the emulator of a whole card below this process.
pub fn emulator_of(process: u32) -> Option<u32> {
    children(process).into_iter().find_map(|child| {
        let name = std::fs::read_to_string(format!("/proc/{child}/comm"));
        let is_it = name.is_ok_and(|name| name.starts_with("qemu-system"));
        if is_it { Some(child) } else { emulator_of(child) }
    })
}

/// Returns the child processes that were started under this hidden command.
pub fn halves(parent: u32, command: &str) -> Vec<u32> {
    let is_one = |child: &u32| {
        let words = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == command.as_bytes())
    };
    children(parent).into_iter().filter(is_one).collect()
}

/// Returns the first child of [`halves`], if there is one.
pub fn child(parent: u32, command: &str) -> Option<u32> {
    halves(parent, command).into_iter().next()
}

/// Sends a signal to a process that exists.
pub fn send(process: u32, signal: Signal) {
    let to = Pid::from_raw(process.cast_signed()).expect("a process");
    kill_process(to, signal).unwrap_or_else(|error| panic!("{process}: {error}"));
}

/// Waits until `done`, at most `limit`, and returns whether it came.
pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    true
}
