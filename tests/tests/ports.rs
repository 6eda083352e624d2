//! A live firewall between existing interfaces: TCP of two kernels passes it by AF_PACKET and by
//! AF_XDP, refused packets stay out, an upgrade in between breaks nothing, and packets that no
//! capture of the kernel has are tapped and traced.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cora_tests::conversations::Conversations;
use cora_tests::namespace::Namespace;
use cora_tests::pcapng::comments;
use cora_tests::process::{Running, run, start, wait_until};
use cora_tests::tell;
use cora_tests::workshop::{cora, program, room};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const CONNECTIONS: usize = 8;
/// The Ethernet addresses of the two networks: the program passes no ARP.
const INSIDE: &str = "02:00:00:00:77:01";
const OUTSIDE: &str = "02:00:00:00:77:02";

/// How the two networks send checksums.
#[derive(Clone, Copy)]
enum Checksums {
    Finished,
    Unfinished,
}

/// Two networks, and a namespace with the firewall between them.
struct Site {
    running: Running,
    socket: PathBuf,
    inside: Namespace,
    outside: Namespace,
    _middle: Namespace,
}

impl Site {
    /// Builds the site; the error names a facility that this machine lacks.
    fn build(
        label: &str,
        ports: [&str; 2],
        checksums: Checksums,
        nic: &str,
    ) -> Result<Self, String> {
        let [inside, middle, outside] =
            ["in", "mid", "out"].map(|end| Namespace::create(&format!("{label}-{end}")));
        let (inside, middle, outside) = (inside?, middle?, outside?);
        for (namespace, near, far, address) in
            [(&inside, "i0", "i1", INSIDE), (&outside, "o0", "o1", OUTSIDE)]
        {
            let far_name = format!("{far}p{}", std::process::id() % 1_000_000);
            namespace.ip(&format!("link add name {near} type veth peer name {far_name}"))?;
            namespace.ip(&format!("link set dev {far_name} name {far} netns {}", middle.name()))?;
            namespace.ip(&format!("link set dev {near} address {address} up"))?;
            middle.ip(&format!("link set dev {far} up"))?;
            // The sender of a veth leaves checksums and segments to a card, but there is none.
            match checksums {
                Checksums::Finished => namespace.send_plain_frames(near)?,
                Checksums::Unfinished => namespace.send_unfinished_frames(near)?,
            }
        }
        inside.ip("address add 10.77.0.1/24 dev i0")?;
        inside.ip("route add default dev i0")?;
        inside.ip(&format!("neighbour add 203.0.113.1 lladdr {OUTSIDE} dev i0"))?;
        outside.ip("address add 203.0.113.1/32 dev o0")?;
        outside.ip("route add 10.0.0.0/8 dev o0")?;
        outside.ip(&format!("neighbour add 10.77.0.1 lladdr {INSIDE} dev o0"))?;
        let [i, o] = ports;
        let live = format!("inside={}i1{},outside={}o1{}", head(i), tail(i), head(o), tail(o));
        // A firewall with durable connections.
        let program = program("keeper");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", middle.name()]).arg(program);
        let socket = room(&format!("ports-{label}")).join("control");
        command.args(["run", "--json", "--nic", nic, "--live", &live, "--control"]).arg(&socket);
        Ok(Self { running: start(&mut command), socket, inside, outside, _middle: middle })
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.running.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Sends packets from outside that nobody asked for: they stay out.
    fn knock(&self) {
        let knock = self.outside.within(|| {
            let socket = UdpSocket::bind("203.0.113.1:9").unwrap();
            for _ in 0..10 {
                socket.send_to(b"knock", "10.77.0.1:9").unwrap();
            }
        });
        knock.join().unwrap();
    }

    /// Ends the run, and returns its report.
    fn end(self) -> Value {
        self.signal(Signal::INT);
        let ended = self.running.end(Duration::from_secs(40));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

/// Returns `xdp:` of `xdp:?mode=copy`; the tail is `?mode=copy`.
fn head(kind: &str) -> &str {
    kind.split_inclusive(':').next().unwrap()
}

fn tail(kind: &str) -> &str {
    &kind[head(kind).len()..]
}

/// Waits until each connection has made `more` exchanges.
fn goes_on(talks: &Conversations, more: u64) -> bool {
    let before = talks.rounds();
    let deadline = Instant::now() + Duration::from_secs(25);
    while Instant::now() < deadline {
        if before.iter().zip(talks.rounds()).all(|(before, now)| now >= before + more) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Asserts that TCP passes and that the report accounts for every frame; returns the report.
fn passes(
    label: &str,
    ports: [&str; 2],
    checksums: Checksums,
    nic: &str,
    upgrade: bool,
) -> Option<Value> {
    let site = match Site::build(label, ports, checksums, nic) {
        Ok(site) => site,
        Err(why) => {
            tell(&format!("SKIPPED ports {label}: {why}"));
            return None;
        }
    };
    let address = "203.0.113.1:7".parse().unwrap();
    let talks = Conversations::open(&site.inside, &site.outside, address, CONNECTIONS);
    let mut lives = goes_on(&talks, 5);
    if upgrade {
        site.signal(Signal::HUP);
        let words = format!("/proc/{}/cmdline", site.running.id());
        let is_new =
            || fs::read(&words).is_ok_and(|it| it.split(|b| *b == 0).any(|it| it == b"--legacy"));
        assert!(wait_until(Duration::from_secs(25), is_new), "{label}: no upgrade");
        lives &= goes_on(&talks, 5);
    }
    let faults = talks.end();
    site.knock();
    std::thread::sleep(Duration::from_millis(100));
    let report = site.end();
    assert!(lives && faults.is_empty(), "{label}: {faults:?}; {report}");
    let [inside, outside] = ["inside", "outside"].map(|side| report["ports"][side].clone());
    let count = |port: &Value, what: &str| port[what].as_u64().unwrap();
    let came = count(&inside, "received") + count(&outside, "received");
    let left = count(&inside, "transmitted") + count(&outside, "transmitted");
    assert_eq!((came, left), (count(&report, "packets_in"), count(&report, "packets_out")));
    assert!(came > left && left > CONNECTIONS as u64 * 10, "{report}");
    assert!(count(&report["outcomes"], "not-allowed") >= 10, "{label}: {report}");
    Some(report)
}

#[test]
fn tcp_passes_by_af_packet() {
    passes("pp", ["packet:", "packet:"], Checksums::Finished, "native", false);
}

#[test]
fn tcp_passes_by_af_packet_with_unfinished_checksums() {
    let Some(report) = passes("pc", ["packet:", "packet:"], Checksums::Unfinished, "native", false)
    else {
        return;
    };
    let finished = &report["ports"]["inside"]["remarks"]["checksums-finished"];
    assert!(finished.as_u64() > Some(10), "{report}");
}

#[test]
fn tcp_passes_by_af_xdp_and_outlives_an_upgrade() {
    let kinds = ["xdp:", "xdp:?attach=generic&mode=copy"];
    let Some(report) = passes("xx", kinds, Checksums::Finished, "native", true) else { return };
    assert_eq!(report["upgrades"], 1, "{report}");
    let notes = report["ports"]["inside"]["notes"].to_string();
    assert!(notes.contains("native, copy"), "{notes}");
}

#[test]
fn tcp_passes_between_kinds_with_unfinished_checksums() {
    passes("xp", ["xdp:", "packet:"], Checksums::Unfinished, "native", false);
}

/// AF_XDP takes packets before the kernel's taps see them: those of the run see them.
#[test]
fn packets_that_af_xdp_takes_are_tapped_and_traced() {
    let site = match Site::build("xt", ["xdp:", "xdp:"], Checksums::Finished, "native") {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED ports xt: {why}")),
    };
    let address = "203.0.113.1:7".parse().unwrap();
    let talks = Conversations::open(&site.inside, &site.outside, address, CONNECTIONS);
    assert!(goes_on(&talks, 5));
    let tap = |words: &[&str]| {
        let mut command = cora();
        command.arg("tap").arg(&site.socket).args(words).args(["--seconds", "20", "--out", "-"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let told = tap(&["wire-in,wire-out", "--limit", "60"]).wait_with_output().unwrap();
    let all = comments(&told.stdout);
    assert!(told.status.success() && all.len() == 60, "{all:?}");
    for (point, comment) in &all {
        assert!(["wire-in", "wire-out"].contains(&point.as_str()), "{point}");
        assert!(comment.contains("203.0.113.1:7"), "{comment}");
    }
    // It may begin after the first of them.
    let mut drops = tap(&["drop", "--limit", "5"]);
    let has_all = || {
        site.knock();
        drops.try_wait().unwrap().is_some()
    };
    assert!(wait_until(Duration::from_secs(20), has_all), "no drop was tapped");
    let dropped = comments(&drops.wait_with_output().unwrap().stdout);
    assert_eq!(dropped.len(), 5, "{dropped:?}");
    for (point, comment) in &dropped {
        assert_eq!(point, "drop");
        assert!(comment.starts_with("outcome=not-allowed "), "{comment}");
        assert!(comment.contains("203.0.113.1:9"), "{comment}");
    }
    let mut command = cora();
    command.arg("trace").arg(&site.socket).args(["--port", "7", "--limit", "3"]);
    let told = run(&mut command, Duration::from_secs(20)).well("trace").stdout;
    assert!(told.matches("203.0.113.1:7").count() >= 3 && told.contains(": transmit"), "{told}");
    let faults = talks.end();
    let report = site.end();
    assert!(faults.is_empty(), "{faults:?}; {report}");
}
