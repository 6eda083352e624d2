//! A card that loses power amid real traffic: a NAT with durable connections between two kernels,
//! with its NIC half on an emulated card, whose emulator is killed, or stopped for a while. What a
//! client saw answered is still true afterwards: no connection breaks, and every byte is right.
//! Behind Ethernet, packets take the bypass meanwhile, and the card is taken back.
//!
//! `CORA_KILLS` sets the number of losses, `CORA_SEED` their moments.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cora_tests::accounts::accounts;
use cora_tests::control::ask;
use cora_tests::conversations::Conversations;
use cora_tests::draw::Draw;
use cora_tests::process::{emulator_of, send};
use cora_tests::site::Site;
use cora_tests::tell;
use cora_tests::watch::Watch;
use cora_tests::workshop::{card, is_full, program, room, variable};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Connections, half of them echoes.
const CONNECTIONS: usize = 16;
/// How long a connection may stand still: a card boots, and TCP doubles its waits.
const PATIENCE: Duration = Duration::from_mins(1);
/// Upper bound on the time until something is there.
const SOON: Duration = Duration::from_secs(30);
/// Where the server listens.
const SERVER: &str = "203.0.113.1:7";

/// A NAT with its NIC half on a card, and connections through it.
struct Busy {
    joint: &'static str,
    site: Site,
    watch: Watch,
    socket: PathBuf,
}

impl Busy {
    /// The error names a facility that this machine lacks.
    fn build(label: &str, joint: &'static str, card: &Path) -> Result<Self, String> {
        let (card, socket) = (card.display().to_string(), room(label).join("control"));
        let control = socket.display().to_string();
        let words =
            ["--nic", joint, "--card-program", &card, "--patience", "5", "--control", &control];
        let site = Site::build_with(label, program("nat"), &words)?;
        let (Site { inside, outside, .. }, address) = (&site, SERVER.parse().unwrap());
        let talks = Conversations::open_patient(inside, outside, address, CONNECTIONS, PATIENCE);
        Ok(Self { joint, watch: Watch::over(talks, PATIENCE), site, socket })
    }

    fn begin(&mut self) {
        assert_eq!(self.watch.stuck(5), 0, "{}: before any fault", self.joint);
        self.watch.begin();
    }

    /// Sends the emulator a signal, once there is one.
    fn signal(&mut self, signal: Signal) {
        let emulator = self.watch.until(SOON, || emulator_of(self.site.pid()));
        send(emulator.expect("the card is there"), signal);
    }

    /// Ends it: nothing broke, new connections are served, and each packet has an outcome. Returns
    /// a summary.
    fn end(mut self) -> Value {
        let stuck = self.watch.stuck(20);
        let connect = || TcpStream::connect_timeout(&SERVER.parse().unwrap(), SOON);
        let opened = self.site.inside.within(connect).join().unwrap();
        let Watch { talks, worst, .. } = self.watch;
        let exchanges: u64 = talks.rounds().iter().sum();
        let broken = talks.end();
        let (report, log) = self.site.end_with_log();
        let told = json!({
            "joint": self.joint,
            "connections": CONNECTIONS,
            "broken": broken.len(),
            "exchanges_checked": exchanges,
            "pause_max_ms": worst.as_millis() as u64,
            "report": report,
            "log": log,
        });
        assert!(broken.is_empty() && stuck == 0, "{stuck} stand still, {broken:?}: {told:#}");
        assert!(opened.is_ok(), "{opened:?}: {told:#}");
        let report = &told["report"];
        accounts(report);
        assert_eq!(report["restarts"]["host"], 0, "{told:#}");
        tell(&told.to_string());
        told
    }
}

#[test]
fn no_answered_connection_is_lost_with_a_card() {
    let card = match card("nat") {
        Ok(card) => card,
        Err(skipped) => return tell(&skipped),
    };
    let losses = variable("CORA_KILLS", if is_full() { 20 } else { 2 });
    let mut chance = Draw(variable("CORA_SEED", 7));
    for (label, joint) in [("pw", "card:window"), ("pe", "card:ethernet")] {
        let mut busy = match Busy::build(label, joint, card) {
            Ok(busy) => busy,
            Err(why) => return tell(&format!("SKIPPED card_power: {why}")),
        };
        busy.begin();
        for _ in 0..losses {
            busy.watch.pass(Duration::from_millis(500 + chance.below(4_000)));
            busy.signal(Signal::KILL);
        }
        // Long enough for a card to boot, and to have its place again.
        busy.watch.pass(Duration::from_secs(8));
        let told = busy.end();
        let report = &told["report"];
        assert!(report["restarts"]["NIC"].as_u64() >= Some(losses), "{told:#}");
        let bypasses = report["bypasses"].as_u64().unwrap_or(0);
        if joint == "card:window" {
            assert_eq!(bypasses, 0, "{told:#}");
            continue;
        }
        assert!((1..=losses).contains(&bypasses), "{told:#}");
        // A card boots for longer than that: packets did not wait for it. And it is back.
        assert!(told["pause_max_ms"].as_u64() < Some(1_500), "{told:#}");
        assert!(report["sides"]["nic"]["packets"].as_u64() > Some(0), "{told:#}");
        let log = told["log"].as_str().unwrap_or_default();
        assert!(log.contains("packets take the bypass, to the host half"), "{told:#}");
        assert!(log.contains("is back, and was ended: the card's takes its place"), "{told:#}");
    }
}

/// A card that stands still is as good as away. When it goes on, its session is over, and it gets
/// another one.
#[test]
fn packets_pass_by_a_card_that_stands_still() {
    let card = match card("nat") {
        Ok(card) => card,
        Err(skipped) => return tell(&skipped),
    };
    let mut busy = match Busy::build("ps", "card:ethernet", card) {
        Ok(busy) => busy,
        Err(why) => return tell(&format!("SKIPPED card_power: {why}")),
    };
    busy.begin();
    busy.signal(Signal::STOP);
    // The patience, and a while by the bypass.
    busy.watch.pass(Duration::from_secs(8));
    let stuck = busy.watch.stuck(20);
    let refused = ask(&busy.socket, "upgrade").unwrap_or_default()["error"].to_string();
    busy.signal(Signal::CONT);
    busy.watch.pass(Duration::from_secs(4));
    let told = busy.end();
    assert_eq!(stuck, 0, "while the card stands still: {told:#}");
    assert!(refused.contains("the card is away, and packets take the bypass"), "{refused}");
    let report = &told["report"];
    assert_eq!(report["bypasses"], json!(1), "{told:#}");
    // The supervisor misses heartbeats of the NIC half, the relay misses the card's frames.
    // Whichever runs out of patience first ends the session. A busy machine decides which.
    let log = told["log"].as_str().unwrap_or_default();
    assert!(
        report["stood_still"]["NIC"] == json!(1)
            || log.contains("the card has been silent for too long"),
        "{told:#}"
    );
    assert!(report["sides"]["nic"]["packets"].as_u64() > Some(0), "{told:#}");
}
