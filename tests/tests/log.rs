//! The log of a live run: its levels, its places, and the words of its halves.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use cora_tests::live_run::{LIMIT, Live, SOON, kill_half};
use cora_tests::process::{Ended, run as run_command, wait_until};
use cora_tests::workshop::cora;
use serde_json::Value;

/// Ports of a run that has nothing to do, and does not end: nobody sends anything to the outside.
fn ports() -> String {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    format!("inside=mem:flows=5;size=60;count=100,outside=udp:{free}")
}

fn start(words: &[&str]) -> Live {
    Live::start("firewall", &ports(), words)
}

/// `cargo cora log`, for this run.
fn log(run: &Live, words: &[&str]) -> Ended {
    run_command(cora().arg("log").arg(run.room.join("socket")).args(words), SOON)
}

fn asked(log: &str) -> usize {
    log.matches("asked: Status").count()
}

#[test]
fn levels_change_while_the_run_goes_on() {
    let run = start(&["--log", "info,run=warn"]);
    assert_eq!(asked(&run.log()), 0, "it was asked until it worked: {}", run.log());
    let levels = log(&run, &["--json"]).well("log").json();
    assert_eq!((&levels["schema"], &levels["lost"]), (&"cora-log/1".into(), &0.into()));
    assert_eq!(
        (&levels["levels"]["run"], &levels["levels"]["nic"]),
        (&"warn".into(), &"info".into())
    );
    let text = log(&run, &["control=debug"]).well("log").stdout;
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.windows(2).any(|pair| pair == ["control", "debug"]), "{text}");
    run.ask("status");
    assert!(wait_until(SOON, || asked(&run.log()) == 1), "{}", run.log());
    let levels = run.ask("log control=info");
    assert_eq!(levels["levels"]["control"], "info");
    let told = || run.log().contains("levels of the log are changed: control=info");
    assert!(wait_until(SOON, told), "{}", run.log());
    run.ask("status");
    // A line of the run that comes later than that one would.
    run.ask("log control=info,ports=error");
    let later = || run.log().contains("changed: control=info,ports=error");
    assert!(wait_until(SOON, later) && asked(&run.log()) == 1, "{}", run.log());
    for (wrong, why) in [
        ("prots=debug", "did you mean `ports`?"),
        ("loud", "say one of off, error, warn, info, debug"),
    ] {
        let refused = log(&run, &[wrong]);
        assert!(refused.code == Some(1) && refused.stderr.contains(why), "{refused:?}");
    }
    assert_eq!(run.ask("log")["levels"]["control"], "info", "a wrong word changes nothing");
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}

/// The host half knows no levels: its supervisor decides which of its lines count.
#[test]
fn the_words_of_a_half_obey_the_levels_of_the_run() {
    let run = start(&["--log", "info,nic=off"]);
    let serves = |log: &str| log.matches("the host half serves the region of generation").count();
    kill_half(&run, "__nic");
    assert_eq!(serves(&run.log()), 0, "{}", run.log());
    assert!(!run.log().contains("the NIC process"), "it is off: {}", run.log());
    // A supervisor tells of the deaths of a half once in a second.
    std::thread::sleep(Duration::from_millis(1100));
    run.ask("log host=debug,nic=info");
    kill_half(&run, "__nic");
    let told = || serves(&run.log()) == 1 && run.log().contains("the NIC process ended");
    assert!(wait_until(SOON, told), "{}", run.log());
    kill_half(&run, "__host");
    assert!(wait_until(SOON, || serves(&run.log()) == 2), "{}", run.log());
    run.ask("log host=info");
    kill_half(&run, "__host");
    let report = run.finish();
    assert_eq!((report.code, serves(&report.log)), (Some(0), 2), "{}", report.log);
}

/// Whether each line has time, level and part.
fn is_full(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let time = words.next().is_some_and(|time| time.len() == 24 && time.ends_with('Z'));
    let level = words.next().is_some_and(|level| ["error", "warn", "info"].contains(&level));
    time && level && words.next().is_some_and(|part| part.ends_with(':'))
}

#[test]
fn a_file_has_full_lines_and_may_be_moved_away() {
    let run = start(&["--log-to", "run.log"]);
    let read = |name: &str| fs::read_to_string(run.room.join(name)).unwrap_or_default();
    kill_half(&run, "__nic");
    assert!(wait_until(SOON, || read("run.log").contains("nic: the NIC process ended")));
    fs::rename(run.room.join("run.log"), run.room.join("run.log.1")).unwrap();
    kill_half(&run, "__host");
    assert!(wait_until(SOON, || read("run.log").contains("host: the host process ended")));
    let (before, now) = (read("run.log.1"), read("run.log"));
    assert!(!before.contains("host:") && !now.contains("nic:"), "{before}{now}");
    let wrong: Vec<&str> = before.lines().chain(now.lines()).filter(|it| !is_full(it)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let report = run.finish();
    assert_eq!((report.code, report.log.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_ends_nothing_and_its_losses_are_counted() {
    let run = start(&["--log-to", "/dev/full"]);
    kill_half(&run, "__nic");
    kill_half(&run, "__host");
    let lost = || run.ask("log")["lost"].as_u64() >= Some(2);
    assert!(wait_until(SOON, lost), "{}", run.ask("log"));
    assert!(run.works());
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.json);
    assert_eq!(
        (&report.json["restarts"]["NIC"], &report.json["restarts"]["host"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_file_that_can_not_be_made_is_refused_before_anything_begins() {
    let (mut command, ..) = Live::command("firewall", &ports(), &["--log-to", "no-such/log"]);
    let refused = run_command(command.stderr(std::process::Stdio::piped()), LIMIT);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.starts_with("error: no-such/log: "), "{refused:?}");
}

/// Priorities stand in front of lines if systemd reads standard error, which it says by its device
/// and inode.
#[test]
fn the_journal_gets_priorities_if_it_reads() {
    let started = |stream: &dyn Fn(&Path) -> String| {
        let (mut command, room, place) = Live::command("firewall", &ports(), &[]);
        command.env("JOURNAL_STREAM", stream(&room.join("log")));
        let run = Live { child: command.spawn().unwrap(), room, place }.ready();
        kill_half(&run, "__nic");
        run.finish().log
    };
    let identity = |path: &Path| {
        let there = path.metadata().unwrap();
        format!("{}:{}", there.dev(), there.ino())
    };
    let log = started(&identity);
    assert!(log.lines().any(|line| line.starts_with("<4>nic: the NIC process ended")), "{log}");
    assert!(log.lines().all(|line| line.starts_with('<')), "{log}");
    let log = started(&|_| "1:1".to_owned());
    assert!(log.lines().any(|line| line.starts_with("the NIC process ended")), "{log}");
}

/// Who asks all the time fills no disk at the level `debug`.
#[test]
fn a_flood_of_one_kind_is_cut_and_told() {
    let run = start(&["--log", "control=debug"]);
    let before = asked(&run.log());
    for _ in 0..100 {
        run.ask("status");
    }
    std::thread::sleep(Duration::from_millis(100));
    let came = asked(&run.log()) - before;
    assert!(came < 60, "{came} lines: {}", run.log());
    let report = run.finish();
    assert!(report.log.contains(" more like it in the last "), "{}", report.log);
    assert_eq!((report.code, Value::is_object(&report.json)), (Some(0), true));
}
