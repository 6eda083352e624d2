//! Live runs of programs, as an operator has them: started, asked, ended.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::process::{child, send, wait_until};
use crate::workshop::{program, room};
use crate::{control, executable, tell};

/// Upper bound on a run; a longer one hangs.
pub const LIMIT: Duration = Duration::from_secs(25);
/// Upper bound on the time until both halves work.
pub const SOON: Duration = Duration::from_secs(10);

/// Fifty flows from inside, and endless frames from outside.
pub const MEMORY: &str = "inside=mem:flows=50;size=60;count=5000,outside=mem:flows=5;size=60";

/// A program that runs live, in a process group of its own.
#[derive(Debug)]
pub struct Live {
    /// The supervisor.
    pub child: Child,
    /// Its working directory, with its `socket`.
    pub room: PathBuf,
    /// The program's file.
    pub place: PathBuf,
}

/// The end of such a run: its exit status, its report, and its log.
#[derive(Debug)]
pub struct Report {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its report.
    pub json: Value,
    /// Its log.
    pub log: String,
}

impl Live {
    /// Copies the program, so that other builds may replace it, and returns its command.
    pub fn command(name: &str, ports: &str, words: &[&str]) -> (Command, PathBuf, PathBuf) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let room = room(&format!("live-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let place = room.join(name);
        executable::copy(program(name), &place);
        let mut command = Command::new(&place);
        command.args(["run", "--json", "--nic", "native", "--live", ports]).args(words);
        command.arg("--control").arg(room.join("socket")).current_dir(&room).process_group(0);
        let log = fs::File::create(room.join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        (command, room, place)
    }

    /// Starts it, and waits until both halves work.
    pub fn start(name: &str, ports: &str, words: &[&str]) -> Self {
        let (mut command, room, place) = Self::command(name, ports, words);
        Self { child: command.spawn().unwrap(), room, place }.ready()
    }

    /// Starts it between two TAP interfaces without frames; `None` if the machine can't have any.
    pub fn quiet(name: &str, words: &[&str]) -> Option<Self> {
        taps().map(|ports| Self::start(name, &ports, words))
    }

    /// Waits until both halves work.
    #[must_use]
    pub fn ready(mut self) -> Self {
        let works = wait_until(SOON, || self.works());
        if !works {
            let _ended = self.child.kill();
            panic!("it does not work: {}", self.end().log);
        }
        self
    }

    /// Whether both halves work.
    pub fn works(&self) -> bool {
        self.try_ask("status").is_some_and(|status| status["works"] == true)
    }

    /// The answer to a request, if there is one.
    pub fn try_ask(&self, request: &str) -> Option<Value> {
        control::ask(&self.room.join("socket"), request)
    }

    /// The answer to a request.
    pub fn ask(&self, request: &str) -> Value {
        self.try_ask(request).unwrap_or_else(|| panic!("`{request}` is not answered"))
    }

    /// The answer to a request that has more than a name.
    pub fn ask_for(&self, request: &Value) -> Value {
        let answer = control::ask_for(&self.room.join("socket"), request);
        answer.unwrap_or_else(|| panic!("`{request}` is not answered"))
    }

    /// The supervisor's process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }

    /// Sends the supervisor a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Sends a signal to all processes, as a terminal does by Ctrl-C.
    pub fn signal_all(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    /// Makes a shell script under the name of the running program.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.room.join(name);
        executable::script(&path, text);
        path
    }

    /// Returns the log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.room.join("log")).unwrap_or_default()
    }

    /// Ends the run as an operator does, and returns its report.
    pub fn finish(self) -> Report {
        self.signal(Signal::INT);
        self.end()
    }

    /// Waits for its end, and returns its report.
    pub fn end(mut self) -> Report {
        let stdout = self.child.stdout.take();
        let json = std::thread::spawn(move || text(stdout));
        let ended = wait_until(LIMIT, || matches!(self.child.try_wait(), Ok(Some(_))));
        assert!(ended, "it does not end: {}", self.log());
        let code = self.child.wait().unwrap().code();
        let (log, json) = (self.log(), json.join().unwrap());
        Report { code, json: serde_json::from_str(&json).unwrap_or_default(), log }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Returns two interfaces for a run; `None` if the machine can't have any.
pub fn taps() -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    if !Path::new("/dev/net/tun").exists() || !rustix::process::geteuid().is_root() {
        tell("SKIPPED live: TAP interfaces need root and /dev/net/tun");
        return None;
    }
    let run =
        format!("{}p{}", NUMBER.fetch_add(1, Ordering::Relaxed), std::process::id() % 1_000_000);
    Some(format!("inside=tap:li{run},outside=tap:lo{run}"))
}

/// All that comes from a stream.
pub fn text(stream: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    let _read = stream.map(|mut stream| stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Kills a half, and waits until both work again.
pub fn kill_half(run: &Live, command: &str) {
    let before = run.ask("status")["generation"].as_u64();
    send(child(run.child.id(), command).unwrap(), Signal::KILL);
    let again = wait_until(SOON, || {
        run.try_ask("status")
            .is_some_and(|status| status["works"] == true && status["generation"].as_u64() > before)
    });
    assert!(again, "{command} is not started again");
}
