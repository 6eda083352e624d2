//! A program that runs at a UDP socket.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::control;
use crate::process::{Running, child, send, start, wait_until};
use crate::workshop::{Programs, programs, room, root};
use rustix::process::Signal;
use serde_json::Value;

/// Upper bound on the time until both halves work.
const SOON: Duration = Duration::from_secs(15);

/// The program of this name under the plan of this name, or in this file of the workspace.
pub fn built(name: &str, plan: &str) -> PathBuf {
    static BUILT: OnceLock<Mutex<BTreeMap<String, Programs>>> = OnceLock::new();
    let mut built = BUILT.get_or_init(Mutex::default).lock().expect("no test failed within");
    // With what each program has from outside, the two sets are builds of their own.
    let (shelf, packages) = match name {
        "replicated-kv" => ("replicated", &["replicated-kv"][..]),
        "mica" | "btree" => (name, std::slice::from_ref(&name)),
        _ => ("messages", &["transactions", "analytics", "empty-chain"][..]),
    };
    let of_plan =
        built.entry(format!("{shelf}-{}", plan.replace('/', "-"))).or_insert_with_key(|shelf| {
            let words = packages.iter().flat_map(|name| ["--package", name]);
            let words: Vec<&str> = words.chain(["--features", "cora/measure"]).collect();
            let file = root().join(plan);
            let plan = if file.is_file() { &file } else { Path::new(plan) };
            programs(&words, Some(plan), shelf)
        });
    of_plan[name].clone()
}

/// A free port of this address. Nobody else asks for it in the moment between.
pub fn free(at: &str) -> SocketAddr {
    let socket = UdpSocket::bind((at, 0)).expect("the address is of this machine");
    socket.local_addr().expect("it is bound")
}

/// A program at a socket.
#[derive(Debug)]
pub struct Served {
    running: Running,
    socket: PathBuf,
    /// Where it is asked.
    pub address: SocketAddr,
}

impl Served {
    /// Starts it at a free port of this address, and waits until both halves work.
    pub fn start(name: &str, plan: &str, at: &str, words: &[&str]) -> Self {
        Self::start_at(name, plan, free(at), words)
    }

    /// The same at this address.
    pub fn start_at(name: &str, plan: &str, address: SocketAddr, words: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let program = built(name, plan);
        let socket = room(&format!("{name}-live-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let socket = socket.join("socket");
        let mut command = Command::new(program);
        command.args(["run", "--json", "--messages", &format!("udp:{address}"), "--control"]);
        let running = start(command.arg(&socket).args(words));
        let mut served = Self { running, socket, address };
        served.works_again();
        served
    }

    fn status(&self) -> Option<Value> {
        control::ask(&self.socket, "status")
    }

    /// Waits until both halves work.
    pub fn works_again(&mut self) {
        let works = || self.status().is_some_and(|status| status["works"] == true);
        assert!(wait_until(SOON, works), "it does not work: {}", self.running.log());
    }

    /// Waits until so many datagrams came.
    pub fn wait_for(&self, datagrams: u64) {
        let came = || self.status().is_some_and(|it| count(&it["packets_in"]) >= datagrams);
        assert!(wait_until(SOON, came), "{:?}", self.status());
    }

    /// Kills a half, and waits until another one is there.
    pub fn kill(&mut self, half: &str) {
        self.works_again();
        let half = child(self.running.id(), half).expect("it runs");
        send(half, Signal::KILL);
        // It is gone once the supervisor has noticed.
        let place = PathBuf::from(format!("/proc/{half}"));
        assert!(wait_until(SOON, || !place.exists()), "it stays: {}", self.running.log());
        self.works_again();
    }

    /// Ends the run, and returns its report, with its log.
    pub fn end(self) -> Value {
        send(self.running.id(), Signal::INT);
        let ended = self.running.end(SOON).well("a run at a socket");
        let mut report = ended.json();
        report["log"] = ended.stderr.into();
        report
    }
}

/// A number of a report; zero, if there is none.
pub fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Asserts that a report accounts for each datagram and each message.
pub fn conserves(report: &Value) {
    let messages = &report["messages"];
    let of = |what: &str| count(&messages[what]);
    let ends = ["done", "passed", "transmitted", "dropped", "lost"].map(of);
    assert_eq!(of("in") + of("sent"), ends.iter().sum::<u64>(), "{report:#}");
    assert_eq!(of("in"), count(&report["packets_in"]));
    let outcomes = report["outcomes"].as_object().into_iter().flatten();
    let sum: u64 = outcomes.map(|(_, outcome)| count(outcome)).sum();
    assert_eq!(of("in") + of("sent"), sum, "{report:#}");
    let handlers = messages["by_handler"].as_object().into_iter().flatten();
    let mut sent = 0;
    for (name, took) in handlers {
        let ends = ["done", "passed", "dropped"].map(|what| count(&took[what]));
        assert_eq!(count(&took["in"]), ends.iter().sum::<u64>(), "{name}: {report:#}");
        sent += count(&took["sent"]);
    }
    assert_eq!(sent, of("sent"), "no hook and no timer sends any: {report:#}");
}
