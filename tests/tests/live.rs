//! Live runs and their operators: signals, unread logs, full disks, builds that can't take over,
//! wrong files. Frames come from memory, or by TAP interfaces.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cora_tests::live_run::{LIMIT, Live, MEMORY, Report, SOON, kill_half, taps};
use cora_tests::process::{Ended, run, wait_until};
use cora_tests::tell;
use cora_tests::workshop::{cora, program, room};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn a_signal_to_all_three_processes_ends_a_run_in_good_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let words = ["--state-out", "state.json", "--ipfix", "flows.ipfix"];
        let run = Live::start("flow-monitor", MEMORY, &words);
        let came = wait_until(SOON, || run.ask("status")["packets_out"].as_u64() > Some(20_000));
        assert!(came, "{}", run.ask("status"));
        let told = wait_until(SOON, || {
            run.ask("status")["tables"]["Flow"]["entries"].as_u64() >= Some(50)
        });
        assert!(told, "{}", run.ask("status"));
        // The supervisor alone obeys other signals, too.
        run.signal_all(Signal::USR1);
        let path = run.room.join("state.json");
        run.signal_all(signal);
        let Report { code, json, log } = run.end();
        assert_eq!(
            (code, &json["restarts"]["NIC"], &json["restarts"]["host"]),
            (Some(0), &0.into(), &0.into()),
            "{log}"
        );
        let records = json["records"]["exported"].as_u64();
        assert!(records >= Some(50), "{json}");
        let state: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let flows = state["states"]["Flow"].as_array().unwrap().len();
        assert!(flows >= 50, "{state}");
        let told = json!({ "entries": flows, "capacity": 1 << 19 });
        assert_eq!(json["tables"], json!({ "Flow": told }));
    }
}

#[test]
fn two_requests_to_replace_the_program_are_one_or_two_and_never_its_end() {
    for gap in [0, 10, 30, 60, 120, 250] {
        let Some(run) = Live::quiet("keeper", &[]) else { return };
        run.signal(Signal::HUP);
        std::thread::sleep(Duration::from_millis(gap));
        run.signal(Signal::HUP);
        let upgraded = wait_until(SOON, || {
            run.try_ask("status").is_some_and(|status| {
                status["works"] == true && status["upgrades"].as_u64() >= Some(1)
            })
        });
        assert!(upgraded, "{gap} ms: {}", run.end().log);
        let Report { code, log, .. } = run.finish();
        assert_eq!(code, Some(0), "{gap} ms: {log}");
    }
}

/// The timer of `leases` runs each 700 ms, and sends a packet inside.
#[test]
fn timers_run_while_nothing_comes() {
    let Some(run) = Live::quiet("leases", &[]) else { return };
    std::thread::sleep(Duration::from_secs(3));
    let Report { code, json, log } = run.finish();
    assert_eq!(code, Some(0), "{log}");
    let (came, made) = (&json["packets"], &json["sides"]["host"]["made"]);
    assert!((Some(3)..=Some(6)).contains(&made.as_u64()), "{made} made, {came} came: {log}");
}

#[test]
fn a_hang_up_that_is_ignored_at_the_start_stays_so() {
    let Some(ports) = taps() else { return };
    let (command, room, place) = Live::command("keeper", &ports, &[]);
    let mut nohup = Command::new("nohup");
    nohup.arg(command.get_program()).args(command.get_args()).process_group(0);
    let log = fs::File::create(room.join("log")).unwrap();
    nohup.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let run = Live { child: nohup.spawn().unwrap(), room, place }.ready();
    run.signal_all(Signal::HUP);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(run.ask("status")["upgrades"], 0);
    assert_eq!(run.ask("upgrade")["upgrades"], 0);
    let upgraded = |run: &Live| {
        run.try_ask("status")
            .is_some_and(|status| status["upgrades"] == 1 && status["works"] == true)
    };
    assert!(wait_until(SOON, || upgraded(&run)), "who asks in another way is heard");
    run.signal_all(Signal::HUP);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(run.ask("status")["upgrades"], 1, "the new program has it from the one before");
    assert_eq!(run.finish().code, Some(0));
}

/// For every fate of the log, the run goes on after the death of a half, and reports.
#[test]
fn a_log_that_can_not_be_written_ends_nothing() {
    let full = || Stdio::from(fs::File::create("/dev/full").unwrap());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (stuck, stuffed) = std::io::pipe().unwrap();
    // A pipe holds 64 KiB; its reader exists, but never reads.
    rustix::fs::fcntl_setfl(&stuffed, rustix::fs::OFlags::NONBLOCK).unwrap();
    while (&stuffed).write(&[b'\n'; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&stuffed, rustix::fs::OFlags::empty()).unwrap();
    for (what, log) in [("full", full()), ("gone", writer.into()), ("stuck", stuffed.into())] {
        let (mut command, room, place) = Live::command("firewall", MEMORY, &[]);
        let run = Live { child: command.stderr(log).spawn().unwrap(), room, place };
        drop(command);
        let run = run.ready();
        kill_half(&run, "__nic");
        kill_half(&run, "__host");
        let Report { code, json, .. } = run.finish();
        assert_eq!(json["restarts"]["NIC"], 1, "{what}: {json}");
        assert!(code.is_some(), "{what}: it was ended by a signal");
    }
    drop(stuck);
}

/// `ulimit -f` makes a write fail, and does not kill the writer.
#[test]
fn files_that_may_not_grow_are_told() {
    let program = &program("flow-monitor");
    let limited = |blocks: u32, words: &[&str]| {
        let line = format!("ulimit -f {blocks}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &line, "sh"]).arg(program).args(["run", "--seconds", "1"]).args(words);
        command.output().unwrap()
    };
    let ended = limited(0, &["--live", MEMORY]);
    let log = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{log}");
    assert!(log.contains("File too large"), "{log}");
    // 1 GiB is no limit for either half: its memory fits.
    let ended = limited(2 << 20, &["--live", MEMORY]);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn disks_that_are_full_cost_no_account_and_are_told() {
    for (words, why) in [
        (["--state-out", "/dev/full"], "/dev/full: No space left"),
        (["--ipfix", "/dev/full"], "records could not be written: No space left"),
    ] {
        let run = Live::start("flow-monitor", MEMORY, &words);
        let came = wait_until(SOON, || run.ask("status")["packets_out"].as_u64() > Some(5_000));
        assert!(came, "{words:?}: {}", run.ask("status"));
        let Report { code, json, log } = run.finish();
        assert_eq!(code, Some(1), "{words:?}: {log}");
        assert!(log.contains(why), "{words:?}: {log}");
        assert!(json["outcomes"]["transmit"].as_u64() > Some(5_000), "{words:?}: {json}");
        if words[0] == "--ipfix" {
            let records = &json["records"];
            assert_eq!((&records["exported"], &records["messages"]), (&0.into(), &0.into()));
            assert!(records["unsent"].as_u64() >= Some(50), "{records}");
        }
    }
}

#[test]
fn a_build_that_can_not_take_over_is_refused_and_holds_nothing_up() {
    let Some(run) = Live::quiet("keeper", &[]) else { return };
    let keeper = program("keeper").display();
    let layout = format!("[ \"$1\" = __layout ] && exec {keeper} __layout");
    for (text, why) in [
        ("sleep 30".to_owned(), "has not ended within 5 s"),
        ("while :; do echo yes; done".to_owned(), "says more than 1024 KiB"),
        ("echo '{}'".to_owned(), "is not a program of Cora"),
        (format!("{layout}; echo liby.so: not found >&2; exit 127"), "liby.so: not found"),
        (format!("{layout}; exec {keeper} \"$@\" --renamed"), "unexpected argument '--renamed'"),
        (format!("{layout}; kill -SEGV $$"), "signal: 11"),
    ] {
        let path = run.script("new", &text);
        let asked = format!("check {}", path.display());
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| run.ask(&asked));
            // Meanwhile the run answers others, and the wire's thread loses no time.
            while !answer.is_finished() {
                let begun = Instant::now();
                assert_eq!(run.ask("status")["works"], true, "{text}");
                assert!(begun.elapsed() < Duration::from_secs(1), "{text}");
                std::thread::sleep(Duration::from_millis(50));
            }
            let answer = answer.join().unwrap();
            let error = answer["error"].as_str().unwrap_or_default();
            assert!(error.contains(why), "{text}: {answer}");
        });
    }
    // An operator may put the build in place first.
    fs::rename(run.room.join("new"), &run.place).unwrap();
    run.signal(Signal::HUP);
    let refused = || run.log().contains("the program goes on as it is: ");
    assert!(wait_until(SOON, refused), "{}", run.log());
    assert_eq!(run.ask("status")["upgrades"], 0);
    let Report { code, log, .. } = run.finish();
    assert_eq!(code, Some(0), "{log}");
}

/// The build passes the check, and then becomes another program: the old one comes back.
#[test]
fn a_build_that_fails_when_it_has_taken_over_gives_the_place_back() {
    let Some(run) = Live::quiet("keeper", &[]) else { return };
    let before = run.ask("status");
    let [keeper, other] = ["keeper", "firewall"].map(|name| program(name).display());
    let text = format!(
        "case \"$*\" in __layout|*--rehearse*) exec {keeper} \"$@\";; esac; exec {other} \"$@\""
    );
    fs::rename(run.script("new", &text), &run.place).unwrap();
    assert_eq!(run.ask("upgrade")["upgrades"], 0);
    let back = wait_until(SOON, || {
        run.try_ask("status").is_some_and(|status| {
            status["works"] == true && status["generation"].as_u64() > before["generation"].as_u64()
        })
    });
    let status = run.try_ask("status").unwrap_or_default();
    assert!(back, "{}", run.end().log);
    for field in ["program", "upgrades", "pid", "file"] {
        assert_eq!(status[field], before[field], "{field}: {status}");
    }
    let Report { code, log, .. } = run.finish();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the one before comes back"), "{log}");
}

#[test]
fn who_would_lose_all_connections_is_asked_first() {
    let Some(run) = Live::quiet("firewall", &[]) else { return };
    for refused in [run.ask("upgrade"), run.ask("upgrade")] {
        assert!(refused["error"].to_string().contains("drop-connections"), "{refused}");
    }
    let checked = run.ask(&format!("check {}", program("firewall").display()));
    assert!(checked["error"].is_null() && !checked["drops"].as_array().unwrap().is_empty());
    run.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(run.ask("status")["upgrades"], 0);
    let mut command = cora();
    command.arg("upgrade").arg(run.room.join("socket"));
    let refused = cora_tests::process::run(&mut command, LIMIT);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--drop-connections"), "{refused:?}");
    let done = cora_tests::process::run(command.arg("--drop-connections"), LIMIT);
    let done = done.well("upgrade --drop-connections");
    assert!(done.stdout.contains("took the place"), "{done:?}");
    assert_eq!(run.ask("status")["upgrades"], 1);
    assert_eq!(run.finish().code, Some(0));
}

/// A file on storage that hangs, a wrong file, and a right one.
#[test]
fn files_of_the_configuration_hold_nothing_up() {
    let Some(ports) = taps() else { return };
    let words = ["--config", "Rule=rules.txt"];
    let (mut command, room, place) = Live::command("stateful-firewall", &ports, &words);
    let rules = room.join("rules.txt");
    fs::write(&rules, "").unwrap();
    let run = Live { child: command.spawn().unwrap(), room, place }.ready();
    fs::remove_file(&rules).unwrap();
    let made = Command::new("mkfifo").arg(&rules).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| run.ask("configure"));
        for _ in 0..20 {
            let begun = Instant::now();
            assert_eq!(run.ask("status")["works"], true);
            assert!(begun.elapsed() < Duration::from_secs(1), "it is held up");
            std::thread::sleep(Duration::from_millis(25));
        }
        // The writer writes at last.
        let mut pipe = fs::File::options().write(true).open(&rules).unwrap();
        pipe.write_all(b"destination,allow\n203.0.113.1,false\n").unwrap();
        drop(pipe);
        assert_eq!(answer.join().unwrap()["version"], 2);
    });
    fs::remove_file(&rules).unwrap();
    fs::write(&rules, "deny everything\n").unwrap();
    assert!(run.ask("configure")["error"].to_string().contains("rules.txt"));
    fs::write(&rules, "").unwrap();
    assert_eq!(run.ask("configure")["version"], 3);
    assert_eq!(run.ask("configure")["version"], 3, "the files say nothing else");
    let Report { code, log, .. } = run.finish();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("version 2 stays in force: rules.txt"), "{log}");
}

/// A wrong option gives one message, before a port is opened: the interfaces of these names don't
/// exist, and no message says so.
#[test]
fn what_is_refused_at_the_start_is_said_once() {
    let room = room("live-refused");
    let path = |name: &str| room.join(name);
    fs::write(path("wrong.txt"), "allow all\n").unwrap();
    fs::write(path("precious"), "precious").unwrap();
    let wrong = format!("Rule={}", path("wrong.txt").display());
    let precious = path("precious").display().to_string();
    let start = |words: &[&str]| -> Ended {
        let mut command = Command::new(program("stateful-firewall"));
        command.args(["run", "--live", "inside=packet:nowhere0,outside=packet:nowhere1"]);
        run(command.args(words), LIMIT)
    };
    for (words, why) in [
        (["--config", wrong.as_str()], "wrong.txt:1:1: unknown column"),
        (["--config", "Rates=/dev/null"], "no read-mostly state of that name"),
        (["--config", "Rule=/nowhere/rules.txt"], "/nowhere/rules.txt: No such file"),
        (["--state-out", "/nowhere/s.json"], "/nowhere/s.json: No such file"),
    ] {
        let Ended { code, stderr, .. } = start(&words);
        assert_eq!(code, Some(1), "{words:?}: {stderr}");
        assert!(stderr.contains(why) && stderr.lines().count() == 1, "{words:?}: {stderr}");
    }
    let mut command = Command::new(program("stateful-firewall"));
    command.args(["run", "--live", MEMORY, "--control", &precious]);
    let Ended { code, stderr, .. } = run(&mut command, LIMIT);
    assert!(code == Some(1) && stderr.contains("no socket"), "{stderr}");
    assert_eq!(fs::read_to_string(path("precious")).unwrap(), "precious");
}

/// A run with text alone reports outcomes.
#[test]
fn the_text_of_a_live_run_has_outcomes() {
    let mut command = Command::new(program("firewall"));
    command.args(["run", "--live", MEMORY, "--seconds", "1"]);
    let text = run(&mut command, LIMIT).well("text").stdout;
    let mut lines = text.lines().skip_while(|line| *line != "outcomes");
    let transmitted = lines.find_map(|line| line.trim().strip_prefix("transmit "));
    assert!(transmitted.is_some_and(|count| count.trim() != "0"), "{text}");
    assert!(lines.any(|line| line.contains("= packets in")), "{text}");
}

/// A user at a terminal sees the progress of a run; a log has no such lines.
#[test]
fn a_terminal_is_told_how_far_a_run_is() {
    let there = Command::new("script").arg("--version").output();
    if there.is_err() {
        return tell("SKIPPED live: no `script`, which is a terminal");
    }
    let shown = program("firewall").display();
    let line = format!("{shown} run --json --live '{MEMORY}' --seconds 5 >/dev/null");
    let mut command = Command::new("script");
    let mut child = command
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let told: Vec<String> = lines.filter(|line| line.contains(" frames came (+")).collect();
    child.wait().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
}
