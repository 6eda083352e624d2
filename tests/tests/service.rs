//! Live runs as a service: messages to a service manager, and the unit file under docs. Frames come
//! from memory.
#![expect(clippy::unwrap_used, reason = "a failure in a helper fails the test")]

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cora_tests::process::{child, send, wait_until};
use cora_tests::workshop::{program, room, root};
use rustix::process::Signal;

/// Upper bound on the time until something is heard.
const SOON: Duration = Duration::from_secs(20);

/// Endless frames at both ports.
const MEMORY: &str = "inside=mem:flows=50;size=60,outside=mem:flows=5;size=60";

/// Rules of the firewall that differ from none.
const RULES: &str = "destination,allow\n203.0.113.1,false\n";

/// A live run, and the service manager that it tells how it stands.
struct Service {
    child: Child,
    manager: UnixDatagram,
    room: PathBuf,
    heard: Vec<String>,
}

impl Service {
    /// Starts a program with rules, and a watchdog of 400 ms.
    fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let room = room(&format!("service-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let socket = room.join("notify");
        let manager = UnixDatagram::bind(&socket).unwrap();
        manager.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        fs::write(room.join("rules.txt"), "").unwrap();
        let mut command = Command::new(program("stateful-firewall"));
        command.args(["run", "--json", "--nic", "native", "--live", MEMORY]);
        command.args(["--config", "Rule=rules.txt"]).current_dir(&room);
        command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "400000");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(room.join("log")).unwrap());
        Self { child: command.spawn().unwrap(), manager, room, heard: Vec::new() }
    }

    /// Takes the datagrams since the last call.
    fn listen(&mut self) {
        let mut bytes = [0; 4096];
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(100)
            && let Ok(length) = self.manager.recv(&mut bytes)
        {
            self.heard.push(String::from_utf8(bytes[..length].to_vec()).unwrap());
        }
    }

    /// Waits for a datagram that begins so, and returns it; those before it are forgotten.
    fn hears(&mut self, start: &str) -> String {
        self.hears_within(SOON, start)
            .unwrap_or_else(|| panic!("no {start}: {:?}; {}", self.heard, self.log()))
    }

    /// The same; `None` if none comes within this time.
    fn hears_within(&mut self, time: Duration, start: &str) -> Option<String> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.listen();
            if let Some(at) = self.heard.iter().position(|it| it.starts_with(start)) {
                return self.heard.drain(..=at).next_back();
            }
        }
        None
    }

    /// How often it is told within this time that the run's loop turns.
    fn beats(&mut self, time: Duration) -> usize {
        self.listen();
        self.heard.clear();
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.listen();
        }
        self.heard.iter().filter(|it| *it == "WATCHDOG=1").count()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.room.join("log")).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

#[test]
fn a_service_manager_hears_how_a_run_stands_from_its_begin_to_its_end() {
    let mut service = Service::start();
    let run = service.child.id();
    let ready = service.hears("READY=1");
    assert_eq!(ready, "READY=1\nSTATUS=all halves work, version 1 is in force");

    // Half of 400 ms, on a machine that may be busy.
    let beats = service.beats(Duration::from_secs(2));
    assert!((3..=11).contains(&beats), "{beats} in 2 s");

    // A half dies, and the next one works. On a busy machine that may be before anybody is told.
    let is_told = (0..3).any(|_| {
        send(child(run, "__host").unwrap(), Signal::KILL);
        let away = "STATUS=the host half does not work";
        service.hears_within(Duration::from_secs(3), away).is_some()
    });
    assert!(is_told, "{:?}; {}", service.heard, service.log());
    service.hears("STATUS=all halves work, version 1 is in force");

    // A configuration that is right, and one that is wrong.
    fs::write(service.room.join("rules.txt"), RULES).unwrap();
    send(run, Signal::USR1);
    assert!(service.hears("RELOADING=1\nMONOTONIC_USEC=").lines().count() == 3);
    assert_eq!(service.hears("READY=1"), "READY=1\nSTATUS=version 2 is in force");
    fs::write(service.room.join("rules.txt"), "deny everything\n").unwrap();
    send(run, Signal::USR1);
    service.hears("RELOADING=1\nMONOTONIC_USEC=");
    let refused = service.hears("READY=1");
    assert!(refused.contains("STATUS=version 2 stays in force: ") && refused.contains("rules.txt"));
    assert_eq!(refused.lines().count(), 2, "{refused}");

    send(run, Signal::TERM);
    assert_eq!(service.hears("STOPPING=1"), "STOPPING=1\nSTATUS=the run ends");
    let ended = wait_until(SOON, || matches!(service.child.try_wait(), Ok(Some(_))));
    assert!(ended && service.child.wait().unwrap().success(), "{}", service.log());
    service.listen();
    let later = service.heard.iter().find(|it| *it != "WATCHDOG=1");
    assert_eq!(later, None, "the end is the last word");
}

#[test]
fn a_supervisor_that_stands_still_is_missed_and_dead_halves_are_not() {
    let mut service = Service::start();
    let run = service.child.id();
    service.hears("READY=1");
    // Halves die again and again, within their limits: the loop goes on.
    for _ in 0..3 {
        send(child(run, "__host").unwrap(), Signal::KILL);
        assert!(service.beats(Duration::from_millis(900)) >= 1, "{}", service.log());
    }
    send(run, Signal::STOP);
    // Datagrams on their way.
    service.beats(Duration::from_millis(100));
    assert_eq!(service.beats(Duration::from_secs(1)), 0);
    send(run, Signal::CONT);
    service.hears("WATCHDOG=1");
}

/// The lines of the unit file that set something.
fn unit() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs/cora@.service")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(['#', '[']) && !line.is_empty());
    let pairs = lines.map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line}")));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn the_unit_file_starts_a_run_that_there_is_with_the_rights_that_ports_need() {
    let unit = unit();
    let value = |name: &str| {
        let mut values = unit.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str());
        let value = values.next().unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(values.next(), None, "{name} is set once");
        value.to_owned()
    };
    let start = value("ExecStart").replace("%i", "nat");
    let words = start.split(' ').map(Into::into);
    let read = cora_host::read_command_line(cora_host::command_line("nat"), words);
    let read = read.unwrap_or_else(|error| panic!("{start}: {error}"));
    let (command, run) = read.subcommand().unwrap();
    assert_eq!(command, "run");
    let file = run.get_raw("file").and_then(|mut it| it.next()).unwrap();
    assert_eq!(file, "/etc/cora/nat.toml");
    assert_eq!((value("Type").as_str(), value("NotifyAccess").as_str()), ("notify", "main"));
    assert_eq!(value("ExecReload"), "/bin/kill -USR1 $MAINPID");
    // A port below 1024 is an exception, and not worth a right of all runs.
    let page = fs::read_to_string(root().join("docs/ports.md")).unwrap();
    let names = page.split(|letter: char| !(letter.is_ascii_uppercase() || letter == '_'));
    let mut named: Vec<&str> = names.filter(|name| name.starts_with("CAP_")).collect();
    named.sort_unstable();
    named.dedup();
    named.retain(|name| *name != "CAP_NET_BIND_SERVICE");
    for rights in [value("AmbientCapabilities"), value("CapabilityBoundingSet")] {
        let mut rights: Vec<&str> = rights.split(' ').collect();
        rights.sort_unstable();
        assert_eq!(rights, named);
    }
}
