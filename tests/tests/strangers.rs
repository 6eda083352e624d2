//! An answer reaches only the client that asked, behind a NAT with killed halves, an upgrade, or a
//! damaged copy of its pool. A port that the pool does not know may go to another client; a port
//! that it knows may not.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use cora_tests::process::child;
use cora_tests::site::{SOON, Site};
use cora_tests::tell;
use cora_tests::workshop::{self, Programs, changed, cora, program};
use rustix::process::Signal;

/// Number of clients at each of the two inside hosts.
const CLIENTS: usize = 10;
/// The ports of a host's clients, in buckets that both halves have some of.
const FIRST_PORT: u16 = 20_000;
const APART: u16 = 50;
const SERVER: &str = "203.0.113.1:5353";
/// Upper bound on the time until a client has repeated a lost request.
const LONG: Duration = Duration::from_secs(4);

/// A server that returns the address of the client, as it sees it.
struct Server {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    fn begin(site: &Site) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let bound = site.outside.within(|| UdpSocket::bind(SERVER).unwrap()).join().unwrap();
        bound.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let thread = site.outside.within(move || {
            let mut asked = [0; 64];
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((length, from)) = bound.recv_from(&mut asked) {
                    let name = String::from_utf8_lossy(&asked[..length]);
                    let _gone = bound.send_to(format!("{name} {from}").as_bytes(), from);
                }
            }
        });
        Self { stop, thread }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// Clients at one address.
struct Clients(Vec<(String, UdpSocket)>);

/// Received answers: for each client with its own answer, the address that the server saw last; and
/// the answers to other clients.
#[derive(Debug, Default)]
struct Heard {
    own: BTreeMap<String, String>,
    strange: Vec<String>,
}

impl Clients {
    fn at(site: &Site, host: u8, letter: char) -> Self {
        let bind = move || {
            let client = |number| {
                // The same of both hosts: a pool that forgot the first one's ports would give them
                // to the second one.
                let port = FIRST_PORT + APART * number as u16;
                let socket = UdpSocket::bind((format!("10.77.0.{host}"), port)).unwrap();
                socket.connect(SERVER).unwrap();
                socket.set_nonblocking(true).unwrap();
                (format!("{letter}{number}"), socket)
            };
            (0..CLIENTS).map(client).collect()
        };
        Self(site.inside.within(bind).join().unwrap())
    }

    /// Sends a request from each client that has heard nothing yet.
    fn ask(&self, heard: &Heard) {
        for (name, socket) in self.0.iter().filter(|(name, _)| !heard.own.contains_key(name)) {
            // A half may be away.
            let _lost = socket.send(name.as_bytes());
        }
    }

    fn listen(&self, heard: &mut Heard) {
        let mut answer = [0; 128];
        for (name, socket) in &self.0 {
            while let Ok(length) = socket.recv(&mut answer) {
                let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
                match answer.split_once(' ') {
                    Some((to, seen)) if to == name => {
                        heard.own.insert(name.clone(), seen.to_owned());
                    }
                    _ => heard.strange.push(format!("{name} heard {answer}")),
                }
            }
        }
    }

    /// Asks until all have their answer, or the time is over; listens for the other clients, too.
    fn converse(&self, others: &Self) -> Heard {
        let (mut heard, mut of_others) = (Heard::default(), Heard::default());
        let end = Instant::now() + LONG;
        while heard.own.len() < CLIENTS && Instant::now() < end {
            self.ask(&heard);
            for _ in 0..10 {
                sleep(Duration::from_millis(10));
                self.listen(&mut heard);
                others.listen(&mut of_others);
            }
        }
        heard.strange.append(&mut of_others.strange);
        heard
    }
}

/// The addresses of the first clients before and after an event; others ask in between.
struct Scene {
    /// The first clients, as the server saw them before.
    before: Heard,
    /// The other clients.
    others: Heard,
    /// The first clients, as it sees them afterwards.
    behind: Heard,
    /// The report of the run.
    report: serde_json::Value,
}

impl Scene {
    fn play(label: &str, program: &Path, happen: impl FnOnce(&Site)) -> Result<Self, String> {
        let socket = socket(label).display().to_string();
        let site = Site::build_with(label, program, &["--control", &socket])?;
        let server = Server::begin(&site);
        let (first, second) = (Clients::at(&site, 1, 'A'), Clients::at(&site, 2, 'B'));
        let before = first.converse(&second);
        // Their second packets go by the NIC.
        let _again = first.converse(&second);
        happen(&site);
        let others = second.converse(&first);
        let behind = first.converse(&second);
        server.end();
        let report = site.end();
        Ok(Self { before, others, behind, report })
    }

    /// Asserts that every client heard its own answer, and no other.
    fn holds(&self) {
        let Self { before, others, behind, report } = self;
        for heard in [before, others, behind] {
            assert!(heard.strange.is_empty(), "{:?}; {report}", heard.strange);
            assert_eq!(heard.own.len(), CLIENTS, "{heard:?}; {report}");
        }
    }

    /// Asserts that they go on from the same ports, and that the others have ports of their own.
    fn goes_on(&self) {
        self.holds();
        assert_eq!(self.before.own, self.behind.own, "{}", self.report);
        let ports: BTreeSet<&String> = self.before.own.values().collect();
        assert!(self.others.own.values().all(|port| !ports.contains(port)), "{:?}", self.others);
    }
}

/// Returns the control socket of a run.
fn socket(label: &str) -> PathBuf {
    std::env::temp_dir().join(format!("strangers-{label}-{}", std::process::id()))
}

/// Plays the scene; otherwise prints the reason for the skip.
fn played(label: &str, program: &Path, happen: impl FnOnce(&Site)) -> Option<Scene> {
    match Scene::play(label, program, happen) {
        Ok(scene) => Some(scene),
        Err(why) => {
            tell(&format!("SKIPPED strangers: {why}"));
            None
        }
    }
}

/// Builds the NAT with sessions that are not durable, and these further changes. They have no hook:
/// that of a lost session would never run.
fn nat_with(name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let sessions = [(", durable, on_expire\n", "\n"), ("#[on_expire]", "#[cfg(any())]")];
    changed(name, "nat", &[&sessions, changes].concat())
}

#[test]
fn a_nat_goes_on_from_its_ports_when_its_host_is_killed() {
    if let Some(scene) = played("sh", program("nat"), |site| site.kill("__host")) {
        scene.goes_on();
        assert_eq!(scene.report["restarts"]["host"], 1, "{}", scene.report);
    }
}

/// Returns a NAT whose halves receive buckets of their own.
fn dealt(name: &'static str) -> &'static Path {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    &BUILT.get_or_init(|| workshop::under(Path::new("dealt"), &["nat", "carrier-nat"]))[name]
}

fn upgraded(site: &Site) {
    site.signal(Signal::HUP);
    sleep(Duration::from_millis(1500));
}

/// Half of the sessions and of the pool are at the NIC's half, which ends with the program. The
/// host halves get them before that, and the successor's halves each get their part again.
#[test]
fn each_side_goes_on_from_its_ports_when_the_program_is_upgraded() {
    let Some(scene) = played("du", dealt("nat"), upgraded) else { return };
    assert_eq!(scene.report["upgrades"], 1, "{}", scene.report);
    let at = |side: &str| scene.report["sides"][side]["packets"].as_u64();
    assert!(at("nic") > Some(0) && at("host") > Some(0), "{}", scene.report);
    scene.goes_on();
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn no_half_that_is_killed_gives_a_port_away_that_the_other_has() {
    for (label, half) in [("dn", "__nic"), ("dh", "__host")] {
        for name in ["nat", "carrier-nat"] {
            let label = format!("{label}{}", &name[..1]);
            let Some(scene) = played(&label, dealt(name), |site| site.kill(half)) else { return };
            scene.holds();
        }
    }
    let Some(scene) = played("duc", dealt("carrier-nat"), upgraded) else { return };
    scene.goes_on();
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn so_it_does_whichever_half_is_killed_and_when_it_is_upgraded() {
    let both = |site: &Site| {
        site.kill("__nic");
        site.kill("__host");
    };
    let again = |site: &Site| {
        for _ in 0..3 {
            site.kill("__host");
            sleep(Duration::from_millis(200));
        }
    };
    for (label, happen) in [
        ("sn", &(|site: &Site| site.kill("__nic")) as &dyn Fn(&Site)),
        ("sb", &both),
        ("sa", &again),
        ("su", &upgraded),
    ] {
        for name in ["nat", "carrier-nat"] {
            let label = format!("{label}{}", &name[..1]);
            let Some(scene) = played(&label, program(name), happen) else { return };
            scene.goes_on();
        }
    }
}

/// Nothing is durable: the first clients lose their sessions, and no client hears an answer for
/// another one. (The NIC went on with the old sessions, and a new pool gave their ports away.)
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn sessions_end_with_a_pool_of_which_there_is_no_copy() {
    let forgetful = nat_with("strangers-forgetful", &[(", durable)]", ")]")]);
    let upgraded = |_: &Site| {
        let mut command = cora();
        command.arg("upgrade").arg(socket("fu")).arg("--drop-connections");
        let _ended = cora_tests::process::run(&mut command, SOON).well("upgrade");
    };
    if let Some(scene) = played("fh", &forgetful, |site| site.kill("__host")) {
        scene.holds();
        let ended = scene.report["sides"]["nic"]["ended_with_host"].as_u64();
        assert!(ended >= Some(1), "{}", scene.report);
    }
    for (label, happen) in
        [("fn", &(|site: &Site| site.kill("__nic")) as &dyn Fn(&Site)), ("fu", &upgraded)]
    {
        let Some(scene) = played(label, &forgetful, happen) else { return };
        scene.holds();
    }
}

/// The pool alone is durable: the NIC's sessions go on, and none of their ports is given away.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_durable_pool_alone_gives_no_port_away() {
    let pool = nat_with("strangers-pool", &[]);
    if let Some(scene) = played("ph", &pool, |site| site.kill("__host")) {
        scene.holds();
    }
}

/// The pool's copy is damaged while its host is dead. The run notices it, reports the name, and
/// treats the pool as lost, with every session.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_damaged_copy_of_the_pool_is_as_good_as_none() {
    let damage = |site: &Site| {
        let host = child(site.pid(), "__host").expect("the host is there");
        site.signal(Signal::STOP);
        let words = std::fs::read(format!("/proc/{host}/cmdline")).unwrap();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        let at = words.iter().position(|word| *word == b"__host").unwrap();
        let memory = String::from_utf8_lossy(words[at + 3]).into_owned();
        let path = format!("/proc/{host}/fd/{memory}");
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        site.kill("__host");
        // A block of the pool, behind the layout and a header.
        let place = 8 * (1024 + 8 + 20);
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).unwrap();
        file.write_all_at(&[byte[0] ^ 4], place).unwrap();
        site.signal(Signal::CONT);
    };
    if let Some(scene) = played("dh", program("nat"), damage) {
        scene.holds();
        let ended = scene.report["sides"]["nic"]["ended_with_host"].as_u64();
        assert!(ended >= Some(1), "{}", scene.report);
    }
}
