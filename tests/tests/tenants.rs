//! Programs that are attached before the sockets of servers, live, at an agent between two kernels:
//! they answer, their neighbours are as well as without them, and nobody gets a foreign address.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cora_tests::process::{Ended, child, children, run, send, start, wait_until};
use cora_tests::shared_nic::{
    Attached, SharedNic, client, end, plain_server, shared_nic, tenant, wait_for,
};
use cora_tests::site::SOON;
use cora_tests::tell;
use cora_tests::workshop::{confined, is_full, program, room};
use rustix::process::Signal;

const SERVER: &str = "10.78.0.1:7001";
const AT: &str = "udp:10.78.0.1:7001";
const OTHER: &str = "10.78.0.1:7002";
const AT_OTHER: &str = "udp:10.78.0.1:7002";
/// Where the attacker is.
const ATTACKER: &str = "10.78.0.1:7100";
const AT_ATTACKER: &str = "udp:10.78.0.1:7100";

/// An agent; `None` if this machine can't have the networks.
fn nic(label: &str, words: &[&str]) -> Option<SharedNic> {
    match shared_nic(label, words) {
        Ok(nic) => Some(nic),
        Err(why) => {
            tell(&format!("SKIPPED tenants {label}: {why}"));
            None
        }
    }
}

/// A question of `echoes`.
fn question(number: u64, rounds: u32) -> Vec<u8> {
    [&number.to_le_bytes()[..], &rounds.to_le_bytes()].concat()
}

/// Its answer, where an operator set this salt.
fn answer(number: u64, rounds: u32, salt: u64) -> Vec<u8> {
    let mix = |value: u64| {
        let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value ^ (value >> 27)
    };
    let mixed = (0..rounds).fold(number ^ salt, |value, _| mix(value));
    [number.to_le_bytes(), mixed.to_le_bytes()].concat()
}

/// The answer to these bytes, within a second.
fn ask(socket: &UdpSocket, bytes: &[u8]) -> Option<Vec<u8>> {
    socket.send(bytes).unwrap();
    hear(socket)
}

fn hear(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut answer = vec![0; 1 << 16];
    let length = socket.recv(&mut answer).ok()?;
    answer.truncate(length);
    Some(answer)
}

/// The server's own answer to these bytes.
fn plain(bytes: &[u8]) -> Vec<u8> {
    [b"server:", bytes].concat()
}

/// Questions at a steady pace: how long each took, if all were answered, and rightly.
fn ask_steadily(socket: &UdpSocket, numbers: std::ops::Range<u64>) -> Vec<Duration> {
    numbers
        .map(|number| {
            let begun = Instant::now();
            let said = ask(socket, &question(number, 10));
            assert_eq!(said.as_deref(), Some(&answer(number, 10, 0)[..]), "question {number}");
            let took = begun.elapsed();
            std::thread::sleep(Duration::from_micros(500));
            took
        })
        .collect()
}

#[test]
fn a_program_answers_in_its_servers_place_and_packets_pass_by_without_it() {
    let Some(nic) = nic("tn", &[]) else { return };
    let _server = plain_server(&nic.inside, SERVER);
    let socket = client(&nic.outside, SERVER);
    let asked = question(1, 3);
    assert_eq!(ask(&socket, &asked), Some(plain(&asked)), "nobody is attached");

    let salt = room("tenants-salt").join("salt.txt");
    std::fs::write(&salt, "0").unwrap();
    let config = format!("Salt={}", salt.display());
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &["--config", &config]);
    wait_for(&nic, AT);
    assert_eq!(ask(&socket, &asked), Some(answer(1, 3, 0)));
    // All but questions of the program is the server's to answer: in fragments, too.
    for words in [b"what is this?".to_vec(), vec![7; 4_000]] {
        assert_eq!(ask(&socket, &words), Some(plain(&words)), "{} bytes", words.len());
    }
    // Its state is read and configured by its own run.
    assert_eq!(attached.ask("values")["values"]["Counts"]["asked"], 1);
    std::fs::write(&salt, "12345").unwrap();
    assert_eq!(attached.ask("configure")["version"], 2);
    assert_eq!(ask(&socket, &asked), Some(answer(1, 3, 12_345)));

    // Its supervisor is killed: the connection closes, and packets pass by.
    drop(attached);
    let passes = || ask(&socket, &asked) == Some(plain(&asked));
    assert!(wait_until(SOON, passes), "{}", nic.log());
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &[]);
    wait_for(&nic, AT);
    assert_eq!(ask(&socket, &asked), Some(answer(1, 3, 0)));
    let (report, log) = attached.end();
    assert_eq!(report["outcomes"]["done"], 1, "{report:#}\n{log}");
    assert_eq!((&report["packets_in"], &report["packets_out"]), (&1.into(), &1.into()));
    assert_eq!(ask(&socket, &asked), Some(plain(&asked)));
    let (agent, log) = end(nic);
    assert_eq!((&agent["ended"], &agent["refused"]), (&0.into(), &0.into()), "{log}");
}

#[test]
fn halves_that_die_come_back() {
    let Some(nic) = nic("td", &[]) else { return };
    let _server = plain_server(&nic.inside, SERVER);
    let socket = client(&nic.outside, SERVER);
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &[]);
    wait_for(&nic, AT);
    let asked = question(5, 2);
    let answers = || ask(&socket, &asked) == Some(answer(5, 2, 0));
    assert!(answers());
    // The host half is killed: the NIC half goes on by itself, in another region.
    send(child(attached.id(), "__host").unwrap(), Signal::KILL);
    for _ in 0..50 {
        assert!(wait_until(SOON, answers));
    }
    // A packet takes for ever: its half is ended, and another one begins.
    socket.send(&question(6, u32::MAX)).unwrap();
    assert_eq!(hear(&socket), None, "it is lost with the half");
    assert!(wait_until(SOON, answers), "{}", nic.log());
    assert!(nic.log().contains("did not end a turn"), "{}", nic.log());
    let (report, log) = attached.end();
    assert_eq!(report["restarts"]["NIC"], 1, "{report:#}\n{log}");
    assert_eq!(report["restarts"]["host"], 1, "{report:#}\n{log}");
    end(nic);
}

/// An attacker, which goes this way; its addresses are those of the other test.
fn attacker(nic: &SharedNic, way: &str, words: &[&str]) -> Command {
    let mut command = nic.inside.command(&confined("attacker").display().to_string());
    command.arg(&nic.socket).args([way, ATTACKER]).args(words);
    command
}

/// An agent's answer to it.
fn refused(command: &mut Command) -> String {
    let ended: Ended = run(command, SOON);
    let said: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(said.len(), 1, "{}{}", ended.stdout, ended.stderr);
    assert!(said[0].contains("\"refused\""), "{said:?}");
    said[0].to_owned()
}

#[test]
fn nobody_is_attached_to_what_he_does_not_hold() {
    let Some(nic) = nic("th", &["--tenants", "1"]) else { return };
    let _servers = [SERVER, OTHER].map(|server| plain_server(&nic.inside, server));
    for (way, why) in [
        ("steal", "no socket that came along is bound to udp:10.78.0.1:7001"),
        ("bare", "1 to 8 sockets"),
        ("loose", "can't be shared"),
        ("greedy", "1024 MiB at most"),
        ("babble", "does not know that"),
    ] {
        let said = refused(&mut attacker(&nic, way, &[SERVER]));
        assert!(said.contains(why), "{way}: {said}");
    }
    // Anybody can have the address in a network of his own.
    nic.outside.ip("address add 10.78.0.1/32 dev lo").unwrap();
    let mut elsewhere = nic.outside.command(&confined("attacker").display().to_string());
    let said = refused(elsewhere.arg(&nic.socket).args(["idle", ATTACKER]));
    assert!(said.contains("not behind the agent's ports"), "{said}");
    nic.outside.ip("address del 10.78.0.1/32 dev lo").unwrap();

    let refuses = |attached: Attached, why: &str| {
        let ended = attached.ends();
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{why}: {}", ended.stderr);
    };
    let nowhere = Attached::before(&nic, confined("echoes"), &["udp:10.78.0.1:9"], &[]);
    refuses(nowhere, "no socket is bound to udp:10.78.0.1:9 in this network namespace");
    refuses(Attached::before(&nic, program("echoes"), &[AT], &[]), "needs a loader");
    let unchecked = Attached::before(&nic, program("firewall"), &[AT], &["--share-process"]);
    refuses(unchecked, "write `share-process = true` in `[package.metadata.cora]`");
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &[]);
    wait_for(&nic, AT);
    refuses(
        Attached::before(&nic, confined("echoes"), &[AT], &[]),
        "attached before udp:10.78.0.1:7001 already",
    );
    refuses(Attached::before(&nic, confined("echoes"), &[AT_OTHER], &[]), "as many as it may");
    let (report, _) = attached.end();
    assert_eq!(report["packets_in"], 0, "{report:#}");
    let (agent, log) = end(nic);
    assert_eq!((&agent["ended"], &agent["refused"]), (&0.into(), &2.into()), "{log}");
}

/// How an attacker ends: by itself, by the agent, or by the kernel.
const WAYS: [(&str, Option<u8>, &str); 13] = [
    ("idle", None, ""),
    ("forge", None, ""),
    ("flood", None, ""),
    ("hang", Some(137), "did not end a turn"),
    ("sleep", Some(137), "stood still in a turn"),
    ("burn", Some(137), "outside of its turns"),
    ("rush", Some(137), ""),
    ("scribble", Some(137), ""),
    ("open", Some(159), ""),
    ("socket", Some(159), ""),
    ("kill", Some(159), ""),
    ("fork", Some(159), ""),
    ("hoard", Some(1), ""),
];

/// Each attacker in turn beside a tenant: its client notices nothing.
#[test]
fn a_tenant_harms_nobody() {
    let Some(nic) = nic("ta", &[]) else { return };
    let _server = plain_server(&nic.inside, SERVER);
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &[]);
    wait_for(&nic, AT);
    let socket = client(&nic.outside, SERVER);
    let own = socket.local_addr().unwrap().to_string();
    let to_attacker = client(&nic.outside, ATTACKER);
    let questions = if is_full() { 2_000 } else { 300 };
    let quiet = p99(ask_steadily(&socket, 0..questions));
    let mut number = questions;
    for (way, status, why) in WAYS {
        let mut running = start(&mut attacker(&nic, way, &[SERVER, &own]));
        let is_there = || running.output().contains("attached");
        assert!(wait_until(SOON, is_there), "{way}: {}", running.log());
        // It gets turns.
        let pokes = std::thread::scope(|scope| {
            let poke = scope.spawn(|| {
                for _ in 0..50 {
                    let _sent = to_attacker.send(&[1; 20]);
                    std::thread::sleep(Duration::from_millis(3));
                }
                tenant(&nic, AT_ATTACKER)
            });
            let loud = p99(ask_steadily(&socket, number..number + questions));
            tell(&format!("{way}: p99 {quiet:?} alone, {loud:?} beside it"));
            // A machine with two processors runs clients and servers beside all that.
            assert!(loud < Duration::from_millis(250), "{way}: {loud:?}");
            poke.join().unwrap()
        });
        number += questions;
        if let Some(status) = status {
            let ended = running.end(SOON);
            let said = format!("\"status\":{status}");
            assert!(ended.stdout.contains(&said), "{way}: {}\n{}", ended.stdout, nic.log());
        } else {
            let counts = pokes.unwrap_or_else(|| panic!("{way}: {}", nic.log()));
            let forged = counts["not_its_own"].as_u64().unwrap();
            assert_eq!(forged > 0, way == "forge", "{way}: {counts}");
            running.kill();
        }
        let is_gone = || tenant(&nic, AT_ATTACKER).is_none();
        assert!(wait_until(SOON, is_gone), "{way}: {:#}", nic.tenants().unwrap());
        assert!(nic.log().contains(why), "{way}: {}", nic.log());
    }
    // Nobody spoke to the client in the name of its server.
    socket.set_nonblocking(true).unwrap();
    assert_eq!(hear(&socket), None);
    let (report, log) = attached.end();
    assert_eq!(report["outcomes"]["done"], number, "{report:#}\n{log}");
    assert_eq!(report["restarts"]["NIC"], 0, "{report:#}");
    end(nic);
}

fn p99(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() * 99 / 100]
}

/// Time in proportion to weights, with packets of different costs.
#[test]
fn tenants_get_their_shares_of_the_time() {
    let Some(nic) = nic("ts", &[]) else { return };
    let wants = [(7001, 1_u64, 2_000), (7002, 2, 200), (7003, 1, 20_000)];
    let runs = wants.map(|(port, weight, _)| {
        let server = plain_server(&nic.inside, &format!("10.78.0.1:{port}"));
        let at = format!("udp:10.78.0.1:{port}");
        let attached =
            Attached::before(&nic, confined("echoes"), &[&at], &["--weight", &weight.to_string()]);
        wait_for(&nic, &at);
        (server, attached)
    });
    let ends = Instant::now() + Duration::from_secs(if is_full() { 20 } else { 4 });
    std::thread::scope(|scope| {
        for (port, _, rounds) in wants {
            let socket = client(&nic.outside, &format!("10.78.0.1:{port}"));
            scope.spawn(move || {
                // As many as its queue takes: answers are not waited for.
                while Instant::now() < ends {
                    for number in 0..64 {
                        let _sent = socket.send(&question(number, rounds));
                    }
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
    });
    let spent = wants.map(|(port, ..)| {
        let counts = tenant(&nic, &format!("udp:10.78.0.1:{port}")).unwrap();
        tell(&format!("{port}: {counts}"));
        counts["busy_ns"].as_u64().unwrap()
    });
    let all: u64 = spent.iter().sum();
    for ((_, weight, _), spent) in wants.into_iter().zip(spent) {
        let percent = spent * 400 / weight / all;
        assert!((75..125).contains(&percent), "weight {weight}: {percent} % of its share");
    }
    for (_, attached) in runs {
        attached.end();
    }
    end(nic);
}

#[test]
fn a_server_at_all_addresses_says_which_one() {
    let Some(nic) = nic("tw", &[]) else { return };
    let _server = plain_server(&nic.inside, "0.0.0.0:7001");
    let attached = Attached::before(&nic, confined("echoes"), &[AT], &[]);
    wait_for(&nic, AT);
    let socket = client(&nic.outside, SERVER);
    assert_eq!(ask(&socket, &question(1, 1)), Some(answer(1, 1, 0)));
    assert_eq!(tenant(&nic, AT).unwrap()["at"], serde_json::json!([AT]));
    attached.end();
    end(nic);
}

#[test]
fn a_socket_without_an_agent_is_told() {
    let at = room("tenants-none").join("no.sock");
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let served = format!("udp:{}", server.local_addr().unwrap());
    let mut command = Command::new(confined("echoes"));
    command.args(["run", "--restarts", "0", "--serves", &served, "--agent"]).arg(&at);
    let ended = run(&mut command, SOON);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no agent at"), "{}", ended.stderr);
    assert!(!Path::new(&at).exists());
}

/// Tenants with one program share a process, until one of them hangs there.
#[test]
fn tenants_of_one_program_share_a_process() {
    let Some(nic) = nic("ti", &[]) else { return };
    let all: Vec<_> = (7001..7005).map(|port| format!("10.78.0.1:{port}")).collect();
    let attach = |server: &String| {
        let at = format!("udp:{server}");
        let attached = Attached::before(&nic, confined("echoes"), &[&at], &["--share-process"]);
        wait_for(&nic, &at);
        attached
    };
    let _servers: Vec<_> = all.iter().map(|server| plain_server(&nic.inside, server)).collect();
    let runs: Vec<Attached> = all.iter().map(attach).collect();
    let sockets: Vec<_> = all.iter().map(|server| client(&nic.outside, server)).collect();
    assert_eq!(halves(&nic), 1, "{:#}", nic.tenants().unwrap());
    for number in 0..200 {
        let socket = &sockets[number as usize % 4];
        assert_eq!(ask(socket, &question(number, 7)), Some(answer(number, 7, 0)));
    }
    // Each has states of its own, and its own run reads them.
    for run in &runs {
        assert_eq!(run.ask("values")["values"]["Counts"]["asked"], 50);
    }
    // One hangs: the others begin again, and it does not.
    sockets[2].send(&question(9, u32::MAX)).unwrap();
    for place in [0, 1, 3] {
        let answers = || ask(&sockets[place], &question(1, 1)) == Some(answer(1, 1, 0));
        assert!(wait_until(SOON, answers), "{place}: {}", nic.log());
    }
    let passes = || ask(&sockets[2], &question(1, 1)) == Some(plain(&question(1, 1)));
    assert!(wait_until(SOON, passes), "{}", nic.log());
    assert_eq!(halves(&nic), 1);
    let mut ended: Vec<_> = runs.into_iter().map(Attached::end_anyhow).collect();
    let (_, log) = ended.remove(2);
    assert!(log.contains("hung in a process that it shared"), "{log}");
    for (report, log) in ended {
        assert_eq!(report["restarts"]["NIC"], 1, "{report:#}\n{log}");
    }
    assert!(wait_until(SOON, || halves(&nic) == 0), "{}", nic.log());
    end(nic);
}

/// Processes of NIC halves at an agent.
fn halves(nic: &SharedNic) -> usize {
    children(nic.id()).len()
}
