//! Two networks and a program between them under supervision, either half of which may be killed.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::namespace::Namespace;
use crate::process::{Running, child, send, start};

/// Upper bound on the time until a process is up again.
pub const SOON: Duration = Duration::from_secs(10);
/// The public address of the examples, and the inside MAC address for its frames: no host answers.
const PUBLIC: &str = "192.0.2.1";
const INSIDE: &str = "02:00:00:00:77:01";

/// Waits until the run has made the interface.
fn wait_for_interface(name: &str, since: Instant) {
    while !Path::new("/sys/class/net").join(name).exists() {
        assert!(since.elapsed() < SOON, "there is no interface {name}");
        sleep(Duration::from_millis(5));
    }
}

/// Returns the lines of a run's log, without the two that each upgrade writes when all goes well.
pub fn unexpected(log: &str) -> Vec<&str> {
    let upgrade = [" takes over: all halves end first", "` has taken over as "];
    log.lines().filter(|line| !upgrade.iter().any(|words| line.contains(words))).collect()
}

/// Two networks, and a program between them under supervision.
#[derive(Debug)]
pub struct Site {
    running: Running,
    /// The namespace that opens connections.
    pub inside: Namespace,
    /// The namespace of 203.0.113.1.
    pub outside: Namespace,
}

impl Site {
    /// Starts the program between two TAP interfaces.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build(label: &str, program: &Path) -> Result<Self, String> {
        Self::build_with(label, program, &[])
    }

    /// Adds these words to the command line of [`Self::build`].
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build_with(label: &str, program: &Path, words: &[&str]) -> Result<Self, String> {
        Self::build_live(label, program, "", words)
    }

    /// The same, where packets that pass leave at the opposite port.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build_passing(label: &str, program: &Path, words: &[&str]) -> Result<Self, String> {
        Self::build_live(label, program, ",pass=opposite", words)
    }

    fn build_live(label: &str, program: &Path, more: &str, words: &[&str]) -> Result<Self, String> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("no /dev/net/tun".into());
        }
        let inside = Namespace::create(&format!("{label}-in"))?;
        let outside = Namespace::create(&format!("{label}-out"))?;
        let taps = ["i", "o"].map(|end| format!("k{end}{label}{}", std::process::id()));
        let mut command = Command::new(program);
        let live = format!("inside=tap:{},outside=tap:{}{more}", taps[0], taps[1]);
        let running = start(command.args(["run", "--json", "--live", &live]).args(words));
        let up = Instant::now();
        for (namespace, tap) in [(&inside, &taps[0]), (&outside, &taps[1])] {
            wait_for_interface(tap, up);
            namespace.take(tap)?;
            namespace.ip(&format!("link set {tap} up"))?;
        }
        inside.ip(&format!("link set {} address {INSIDE}", taps[0]))?;
        for host in 1..3 {
            inside.ip(&format!("address add 10.77.0.{host}/24 dev {}", taps[0]))?;
        }
        inside.ip(&format!("route add default dev {}", taps[0]))?;
        outside.ip(&format!("address add 203.0.113.1/32 dev {}", taps[1]))?;
        outside.ip(&format!("route add 10.0.0.0/8 dev {}", taps[1]))?;
        outside.ip(&format!("route add {PUBLIC} dev {}", taps[1]))?;
        outside.ip(&format!("neighbor add {PUBLIC} lladdr {INSIDE} dev {}", taps[1]))?;
        Ok(Self { running, inside, outside })
    }

    /// Kills one half as soon as it runs.
    pub fn kill(&self, half: &str) {
        let deadline = Instant::now() + SOON;
        while Instant::now() < deadline {
            if let Some(pid) = child(self.running.id(), half) {
                send(pid, Signal::KILL);
                return;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("nothing to kill: {half} is not there");
    }

    /// Stops the host, runs `meanwhile`, and kills the host before it reads its input.
    pub fn kill_host_behind<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let Some(host) = child(self.running.id(), "__host") else {
            panic!("the host is not there")
        };
        send(host, Signal::STOP);
        let done = meanwhile();
        sleep(Duration::from_millis(100));
        send(host, Signal::KILL);
        done
    }

    /// Returns the process id of the supervisor.
    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// Sends the supervisor a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.running.id(), signal);
    }

    /// Ends the run and returns its report.
    pub fn end(self) -> Value {
        self.end_telling(&[])
    }

    /// Ends the run, whatever it logged; returns its report and its log.
    pub fn end_with_log(self) -> (Value, String) {
        self.signal(Signal::INT);
        let ended = self.running.end(Duration::from_secs(40));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        (ended.json(), ended.stderr)
    }

    /// Ends the run; its messages about versions must be these, line by line.
    pub fn end_telling(self, versions: &[&str]) -> Value {
        let (report, log) = self.end_with_log();
        // Neither half exits by itself, in any state that the other half left.
        let told = unexpected(&log).into_iter().filter(|line| !line.contains("(signal: 9"));
        let told: Vec<_> = told.collect();
        let is_it = |(told, said): (&&str, &&str)| told.starts_with(said);
        let all = told.len() == versions.len() && told.iter().zip(versions).all(is_it);
        assert!(all, "{told:#?}: {report:#}");
        report
    }
}
