//! The NIC half on an emulated card: a second kernel, which shares only a window of memory with
//! this one. The oracle (`equivalence`) compares the results of four examples with those of the
//! host alone. Here: how long a run takes, a card that loses power, and what a user is told.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cora_tests::accounts::accounts;
use cora_tests::conversations::Conversations;
use cora_tests::process::{emulator_of, run, start_fed};
use cora_tests::site::Site;
use cora_tests::watch::Watch;
use cora_tests::workshop::{card, cora, program, room};
use cora_tests::{captures, executable, tell};
use cora_traffic::Profile;

/// Upper bound on a run, which takes seconds; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);
/// Packets of a capture.
const PACKETS: u64 = 5_000;

/// A capture in a directory of its own.
fn capture(name: &str) -> (PathBuf, PathBuf) {
    let room = room(name);
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 7, PACKETS, PACKETS / 10, &capture);
    (room, capture)
}

/// What joins a card to its host.
const JOINTS: [&str; 2] = ["card:window", "card:ethernet"];

fn on_card(joint: &str, name: &str, program_of_card: &std::path::Path) -> Command {
    let mut command = Command::new(program(name));
    command.args(["run", "--json", "--nic", joint, "--card-program"]).arg(program_of_card);
    command
}

#[test]
fn a_card_boots_handles_packets_and_ends() {
    let card = match card("firewall") {
        Ok(card) => card,
        Err(skipped) => return tell(&skipped),
    };
    let (room, capture) = capture("card");
    for joint in JOINTS {
        let mut command = on_card(joint, "firewall", card);
        command.arg("--in").arg(&capture).arg("--out").arg(room.join("out.pcap"));
        let ended = run(&mut command, LIMIT).well("a run on a card");
        let report = ended.json();
        assert_eq!(report["nic"], joint);
        let handled = |side: &str| report["sides"][side]["packets"].as_u64().unwrap_or(0);
        assert!(handled("nic") > 0 && handled("host") > 0, "{report:#}");
        assert!(handled("nic") + handled("host") >= PACKETS, "{report:#}");
        // Kernel, agent and half say nothing on the console as long as all is well.
        assert_eq!(ended.stderr, "", "{joint}");
        tell(&format!("{joint}, {PACKETS} packets: {:.1} s\n", ended.took.as_secs_f64()));
    }
}

/// The emulator is killed amid traffic, as if the card lost its power: another card boots, and no
/// packet goes without an outcome.
#[test]
fn a_card_that_loses_power_is_followed_by_another() {
    let card = match card("nat") {
        Ok(card) => card,
        Err(skipped) => return tell(&skipped),
    };
    for joint in JOINTS {
        lose_power(joint, card);
    }
}

fn lose_power(joint: &str, card: &std::path::Path) {
    let (room, capture) = capture("card-power");
    let output = room.join("out.pcap");
    let mut command = on_card(joint, "nat", card);
    command.args(["--in", "/dev/stdin", "--out"]).arg(&output);
    let bytes = std::fs::read(&capture).unwrap();
    let running = start_fed(&mut command, move |mut to| {
        for piece in bytes.chunks(2_000) {
            if to.write_all(piece).is_err() {
                break;
            }
            sleep(Duration::from_millis(5));
        }
    });
    let begun = Instant::now();
    while std::fs::metadata(&output).map_or(0, |it| it.len()) < 50_000 {
        assert!(begun.elapsed() < LIMIT, "the card handles nothing");
        sleep(Duration::from_millis(2));
    }
    let emulator = emulator_of(running.id()).expect("the card is there").to_string();
    let killed = Command::new("kill").args(["-9", &emulator]).status().unwrap();
    assert!(killed.success(), "the card had ended");
    let report = running.end(LIMIT).well("a run whose card lost power").json();
    assert_eq!(report["restarts"]["NIC"], 1, "{report:#}");
    accounts(&report);
}

/// The new program boots another card, with the program that is then in its place. Before, the
/// running one lets it boot one for a trial: a card's program of another build is refused.
#[test]
fn an_upgrade_boots_another_card() {
    let card = match card("nat") {
        Ok(card) => card,
        Err(skipped) => return tell(&skipped),
    };
    let other = cora_tests::workshop::card("firewall").unwrap();
    for (joint, label) in [("card:window", "ew"), ("card:ethernet", "ee")] {
        let room = room(&format!("card-upgrade-{label}"));
        let [place, of_card, socket] = ["nat", "nat-of-card", "control"].map(|it| room.join(it));
        executable::copy(program("nat"), &place);
        executable::copy(card, &of_card);
        let [on_card, control] = [&of_card, &socket].map(|it| it.display().to_string());
        let words = ["--nic", joint, "--card-program", &on_card, "--control", &control];
        let site = match Site::build_with(label, &place, &words) {
            Ok(site) => site,
            Err(why) => return tell(&format!("SKIPPED card: {why}")),
        };
        let server = "203.0.113.1:7".parse().unwrap();
        let patience = Duration::from_mins(1);
        let talks = Conversations::open_patient(&site.inside, &site.outside, server, 8, patience);
        let mut watch = Watch::over(talks, patience);
        assert_eq!(watch.stuck(5), 0, "{joint}: before");
        let upgrade = || run(cora().arg("upgrade").arg(&socket), LIMIT);
        executable::copy(other, &of_card);
        let refused = upgrade();
        assert!(refused.code == Some(1), "{joint}: {refused:?}");
        tell(&refused.stderr);
        assert_eq!(watch.stuck(5), 0, "{joint}: refused");
        executable::copy(card, &of_card);
        let _done = upgrade().well("upgrade");
        assert_eq!(watch.stuck(5), 0, "{joint}: after");
        let (faults, worst) = (watch.talks.end(), watch.worst);
        let report = site.end();
        assert!(faults.is_empty(), "{joint}: {faults:?}: {report:#}");
        assert_eq!(report["upgrades"], 1, "{report:#}");
        tell(&format!("{joint}: at most {:.1} s without an exchange", worst.as_secs_f64()));
    }
}

#[test]
fn says_what_a_card_lacks() {
    let (_, capture) = capture("card-lacks");
    let fails = |command: &mut Command, code: i32, expected: &str| {
        let ended = run(command, LIMIT);
        assert!(ended.stderr.contains(expected), "{expected}: {}", ended.stderr);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    };
    let host = program("firewall");
    let with = |words: &[&str]| {
        let mut command = Command::new(host);
        command.args(["run", "--in"]).arg(&capture).args(words);
        command
    };
    fails(&mut with(&["--nic", "card:ethernet"]), 1, "name it with --card-program FILE");
    fails(&mut with(&["--card-program", "x"]), 2, "--card-program is for --nic card");
    let nowhere = room("card-nowhere");
    let mut without = with(&["--nic", "card", "--card-program", "x"]);
    let without = without.env("CORA_CARD", &nowhere).env("PATH", &nowhere);
    fails(without, 1, "cargo cora doctor --fetch-card");
    let mut build = cora();
    build.args(["run", "firewall", "--nic", "card", "--in"]).arg(&capture);
    build.env("CORA_CARD", nowhere.join("none"));
    fails(&mut build, 1, "an emulated card needs");
    if card("firewall").is_ok() {
        let mut other = with(&["--nic", "card", "--card-program"]);
        fails(other.arg(host), 1, "a card needs a program for aarch64 Linux");
    }
}
