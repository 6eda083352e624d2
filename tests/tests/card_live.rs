//! A card that is another machine: two namespaces joined by Ethernet are host and card. Packets
//! come from a capture at the host, or enter at the card's own ports, to which the kernels of two
//! further namespaces are joined. Processes at both ends are killed and the link is cut, while
//! these talk by TCP: no connection breaks, and every byte is right.
//!
//! `CORA_KILLS` sets the number of faults; `CORA_SEED` sets their kinds and moments.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cora_tests::accounts::{accounts, count};
use cora_tests::agent::Agent;
use cora_tests::card_site::{CardSite, PATIENCE};
use cora_tests::draw::Draw;
use cora_tests::machines::{CARD, HOST, Machines};
use cora_tests::pcapng::comments;
use cora_tests::process::{Ended, child, run, wait_until};
use cora_tests::watch::Watch;
use cora_tests::workshop::{cora, is_full, program, room, variable};
use cora_tests::{captures, control, tell};
use cora_traffic::Profile;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// Upper bound on a run that takes seconds.
const LIMIT: Duration = Duration::from_mins(1);
/// Upper bound on the time until something is there.
const SOON: Duration = Duration::from_secs(10);
/// Packets of a capture.
const PACKETS: u64 = 5_000;
/// Connections, half of them echoes.
const CONNECTIONS: usize = 24;

#[test]
fn a_capture_crosses_a_wire_to_a_card() {
    let mut machines = match Machines::build("cw") {
        Ok(machines) => machines,
        Err(why) => return tell(&format!("SKIPPED card_live: {why}")),
    };
    let (room, program) = (room("card-live-wire"), program("firewall"));
    let (capture, state) = (room.join("in.pcap"), room.join("state.json"));
    captures::generate(Profile::Mix, 7, PACKETS, PACKETS / 10, &capture);
    let finish = |command: &mut Command| {
        command.arg("--in").arg(&capture).arg("--state-out").arg(&state);
        let report = run(command, LIMIT).well("a run on a capture").json();
        (report, fs::read(&state).unwrap())
    };
    let mut alone = Command::new(program);
    let (expected, whole) = finish(alone.args(["run", "--json", "--nic", "off"]));
    for way in ["packet", "xdp"] {
        machines.way = way;
        let mut agent = Agent::start(&machines, program, &[], &room);
        for session in 1..=2 {
            let (report, found) = finish(&mut machines.run(program, &[]));
            assert_eq!(report["outcomes"], expected["outcomes"], "{way}, {session}");
            assert!(found == whole, "{way}, {session}: the states differ");
            assert_eq!(report["nic"], "card:ethernet");
            assert!(count(&report["sides"]["nic"], "packets") > 0, "{report:#}");
            accounts(&report);
            let told = || agent.log().matches("ended with exit status 0").count() == session;
            assert!(wait_until(SOON, told), "{way}, {session}: {}", agent.log());
        }
        assert!(agent.is_there(), "{way}: {}", agent.log());
    }
}

/// A NAT on a card with ports of its own.
fn build(label: &str) -> Result<CardSite, String> {
    CardSite::build(label, [program("nat"); 2], &[])
}

#[test]
fn a_card_with_ports_carries_connections() {
    let site = match build("cp") {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED card_live: {why}")),
    };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    let stuck = watch.stuck(50);
    let bytes = watch.talks.bytes();
    let faults = watch.talks.end();
    let (report, log) = site.end();
    assert!(faults.is_empty() && stuck == 0, "{stuck} stand still; {faults:?}; {report:#}\n{log}");
    assert!(bytes > CONNECTIONS as u64 * 50 * 100, "{bytes}");
    accounts(&report);
    let [inside, outside] = ["inside", "outside"].map(|side| &report["ports"][side]);
    let both = |what: &str| count(inside, what) + count(outside, what);
    assert_eq!(both("received"), count(&report, "packets_in"), "{report:#}");
    assert_eq!(both("transmitted"), count(&report, "packets_out"), "{report:#}");
    let [nic, host] = ["nic", "host"].map(|side| count(&report["sides"][side], "packets"));
    assert!(nic > 9 * host && host > 0, "NIC {nic}, host {host}: {report:#}");
    assert_eq!(log, "");
}

/// The supervisor asks the half on the card across the wire.
#[test]
fn packets_on_a_card_are_tapped_and_traced() {
    let site = match build("ct") {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED card_live: {why}")),
    };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    assert_eq!(watch.stuck(10), 0);
    let file = room("card-live-tap").join("tap.pcapng");
    let mut tap = cora();
    tap.arg("tap").arg(site.socket()).args(["wire-in,wire-out", "--limit", "60", "--out"]);
    let told = run(tap.arg(&file), LIMIT).well("tap");
    let all = comments(&fs::read(&file).unwrap());
    assert_eq!(all.len(), 60, "{told:?}");
    let at_card = all.iter().filter(|(_, comment)| comment.contains(" side=nic ")).count();
    assert!(at_card > 50, "{all:?}");
    let question = json!({ "command": "trace", "limit": 10, "port": 7, "seconds": 20 });
    let traced = control::ask_for(site.socket(), &question).unwrap_or_default();
    let packets = traced["packets"].as_array().map_or(0, Vec::len);
    assert_eq!(packets, 10, "{traced:#}");
    for packet in traced["packets"].as_array().unwrap() {
        let run = &packet["runs"][0];
        assert_eq!((&run["side"], &run["ends"]), (&json!("nic"), &json!("transmit")), "{packet:#}");
        assert_eq!(run["entries"][0]["state"], "Session", "{packet:#}");
    }
    let faults = watch.talks.end();
    let (report, log) = site.end();
    assert!(faults.is_empty(), "{faults:?}; {report:#}\n{log}");
    assert!(log.contains("the trace ends: it has 10 packets, and missed 0 records"), "{log}");
    accounts(&report);
}

/// What befalls a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    NicHalf,
    HostHalf,
    Relay,
    Agent,
    /// The interface of one end goes down, and up again.
    Cut,
}

const FAULTS: [Fault; 5] =
    [Fault::NicHalf, Fault::HostHalf, Fault::Relay, Fault::Agent, Fault::Cut];

impl Fault {
    /// Strikes; returns whether there was anything to strike. A process may be away, since another
    /// one has just been killed.
    fn strike(self, site: &mut CardSite, watch: &mut Watch, chance: &mut Draw) -> bool {
        let (agent, supervisor) = (site.agent.id(), site.pid());
        match self {
            Self::NicHalf => kill(child(agent, "__nic")),
            Self::HostHalf => kill(child(supervisor, "__host")),
            Self::Relay => kill(child(supervisor, "__relay")),
            Self::Agent => {
                site.agent.start_again();
                true
            }
            Self::Cut => {
                let Machines { host, card, .. } = &site.machines;
                let ends = [(host, "w0"), (card, "w1")];
                let (machine, interface) = ends[chance.below(2) as usize];
                machine.ip(&format!("link set {interface} down")).unwrap();
                watch.pass(Duration::from_millis(50 + chance.below(550)));
                machine.ip(&format!("link set {interface} up")).unwrap();
                true
            }
        }
    }
}

/// Kills a process, which may have ended.
fn kill(process: Option<u32>) -> bool {
    let pid = process.and_then(|process| Pid::from_raw(process.cast_signed()));
    pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

/// Lets so many faults strike, each kind among the first five; returns how often each did.
fn befall(
    site: &mut CardSite,
    watch: &mut Watch,
    faults: u64,
    chance: &mut Draw,
) -> BTreeMap<Fault, u64> {
    let mut struck = BTreeMap::new();
    while struck.values().sum::<u64>() < faults {
        watch.pass(Duration::from_millis(300 + chance.below(600)));
        let unseen: Vec<Fault> =
            FAULTS.into_iter().filter(|fault| !struck.contains_key(fault)).collect();
        let kinds = if unseen.is_empty() { &FAULTS } else { &unseen[..] };
        let fault = kinds[chance.below(kinds.len() as u64) as usize];
        if fault.strike(site, watch, chance) {
            *struck.entry(fault).or_insert(0) += 1;
        }
    }
    struck
}

/// The host's supervisor alone is spared: it is the run.
#[test]
fn no_connection_breaks_whatever_dies() {
    let (seed, faults) = (variable("CORA_SEED", 5), if is_full() { 100 } else { 16 });
    let faults = variable("CORA_KILLS", faults);
    let mut site = match build("cd") {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED card_live: {why}")),
    };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    assert_eq!(watch.stuck(5), 0, "before any fault: {}", site.agent.log());
    watch.begin();
    let begun = Instant::now();
    let struck = befall(&mut site, &mut watch, faults, &mut Draw(seed));
    // All go on, and who comes now is served.
    let stuck = watch.stuck(20);
    let took = begun.elapsed();
    let opened = site.connect_soon();
    let (bytes, worst) = (watch.talks.bytes(), watch.worst);
    let exchanges: u64 = watch.talks.rounds().iter().sum();
    let broken = watch.talks.end();
    let words = site.agent.log();
    let (report, log) = site.end();
    let all = format!("seed {seed}, {struck:?}: {report:#}\n{log}\nThe card: {words}");
    assert!(broken.is_empty() && stuck == 0, "{stuck} stand still, {broken:?}, {all}");
    assert!(opened.is_ok(), "{opened:?}, {all}");
    accounts(&report);
    let restarts = &report["restarts"];
    assert!(count(restarts, "NIC") > 0 && count(restarts, "host") > 0, "{all}");
    let struck = struck.iter().map(|(fault, times)| (format!("{fault:?}"), json!(times)));
    let told = json!({
        "schema": "cora-card-faults/1",
        "seed": seed,
        "faults": faults,
        "struck": struck.collect::<serde_json::Map<_, _>>(),
        "seconds": took.as_secs(),
        "connections": CONNECTIONS,
        "broken": broken.len(),
        "exchanges_checked": exchanges,
        "bytes_checked": bytes,
        "pause_max_ms": worst.as_millis() as u64,
        "report": report,
    });
    tell(&told.to_string());
}

/// Asserts how a command fails, and that it says why.
fn fails(ended: &Ended, code: i32, why: &str) {
    let Ended { stderr, .. } = ended;
    assert!(ended.code == Some(code) && stderr.contains(why), "{why}: {:?}: {stderr}", ended.code);
}

#[test]
fn says_what_is_wrong() {
    let (room, firewall) = (room("card-live-wrong"), program("firewall"));
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 7, 100, 10, &capture);
    let on_capture = format!("--in {}", capture.display());
    let with = |words: &str| run(Command::new(firewall).args(words.split(' ')), LIMIT);
    let there = format!("--card w0,{CARD}");
    let ethernet = "run --nic card:ethernet";
    for (words, why) in [
        (format!("run --nic off {on_capture} {there}"), "--card is for --nic card:ethernet"),
        (format!("{ethernet} --live card"), "--live card: say which card has the ports, by --card"),
        (
            format!("{ethernet} {there} --live card --shards 2"),
            "--card and --shards: a card at an interface has one shard",
        ),
        (
            format!("{ethernet} {there} {on_capture} --card-program x"),
            "--card and --card-program: a card that is there has a program",
        ),
        (format!("card --host w1,{HOST} --live card"), "that is for the host: this is the card"),
    ] {
        fails(&with(&words), 2, why);
    }
    for (text, why) in [
        ("w0", "`w0` is no IFACE,MAC such as"),
        ("w0,02:00", "`w0,02:00` is no IFACE,MAC such as"),
        ("w0,03:00:00:00:01:02", "that is the address of a group"),
        ("tap:w0,02:00:00:00:01:02", "write packet:IFACE,MAC or xdp:IFACE,MAC"),
    ] {
        fails(&with(&format!("{ethernet} {on_capture} --card {text}")), 2, why);
        fails(&with(&format!("card --host {text}")), 2, why);
    }
    let none = "there is no interface `no-such` here";
    fails(&with(&format!("{ethernet} {on_capture} --card no-such,{CARD}")), 1, none);
    fails(&with(&format!("card --host no-such,{HOST}")), 1, none);
    fails(&with(&format!("card --host xdp:no-such,{HOST}")), 1, none);
    match Machines::build("ce") {
        Ok(machines) => says_why_a_card_refuses(&machines, &room, &capture),
        Err(why) => tell(&format!("SKIPPED card_live: {why}")),
    }
}

/// Nobody answers, which the log says. Or the card refuses: the host ends with its reason, which
/// the card's log has, too, and the agent serves on.
fn says_why_a_card_refuses(machines: &Machines, room: &Path, capture: &Path) {
    let (firewall, nat) = (program("firewall"), program("nat"));
    let capture = capture.display().to_string();
    let (on_capture, live) = (["--in", &capture], ["--live", "card", "--seconds", "1"]);
    let patience = [&on_capture[..], &["--patience", "3"]].concat();
    let ended = run(&mut machines.run(firewall, &patience), LIMIT);
    fails(&ended, 1, &format!("nobody answers at w0,{CARD}: no `card` runs there"));
    fails(&ended, 1, "the NIC process has not moved for 3 s");
    for (way, mtu, why) in [
        ("packet", 500, "has an MTU of 500, and the link's frames need 566"),
        ("xdp", 9000, "has an MTU of 9000, and AF_XDP takes 3818 at most"),
    ] {
        machines.card.ip(&format!("link set dev w1 mtu {mtu}")).unwrap();
        let mut agent = machines.card.command(&firewall.display().to_string());
        fails(&run(agent.args(["card", "--host", &format!("{way}:w1,{HOST}")]), LIMIT), 1, why);
    }
    machines.card.ip("link set dev w1 mtu 1500").unwrap();
    let no_interface = ["--live", "inside=packet:no-such,outside=packet:w1"];
    let memory = ["--live", "inside=mem:flows=1;size=60;count=1,outside=mem:flows=1;size=60"];
    for (on_card, ports, words, why) in [
        (nat, &[][..], &on_capture[..], "the card's program was built for another plan"),
        (firewall, &[], &live, "the card has no ports: start its agent with --live"),
        (firewall, &memory, &on_capture, "the card has ports of its own: run with `--live card`"),
        (firewall, &no_interface, &live, "the card can't start a NIC half: its own words say why"),
    ] {
        let mut agent = Agent::start(machines, on_card, ports, room);
        fails(&run(&mut machines.run(firewall, words), LIMIT), 1, why);
        assert!(agent.log().contains(why) && agent.is_there(), "{why}: {}", agent.log());
        if ports == no_interface {
            assert!(agent.log().contains("there is no interface `no-such`"), "{}", agent.log());
        }
    }
}
