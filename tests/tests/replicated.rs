//! The replicated key-value store: three nodes at sockets agree while halves die, and its acceptor
//! has the same log in the end wherever a group is.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

#[expect(unreachable_pub, reason = "it is a module of the example's client, too")]
#[path = "../../examples/replicated-kv/examples/client/asker.rs"]
mod asker;
#[expect(unreachable_pub, reason = "it is a module of the example, too")]
#[path = "../../examples/replicated-kv/src/history.rs"]
mod history;
#[expect(dead_code, unreachable_pub, reason = "it is a module of the example, too")]
#[path = "../../examples/replicated-kv/src/wire.rs"]
mod wire;

use std::fs::{self, File};
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cora::testing::{udp, written};
use cora_tests::draw::Draw;
use cora_tests::process::run;
use cora_tests::tell;
use cora_tests::workshop::{cargo, emulator, programs, room};
use cora_traffic::pcap::Writer;
use serde_json::Value;

use asker::{Client, Wanted};
use cora_tests::served::{Served, conserves, count, free};
use wire::{Command as Asked, Datagram, Name, Operation, Said};

/// Upper bound on a run on a capture.
const LIMIT: Duration = Duration::from_mins(2);
/// Clients that ask at once, while halves are killed.
const CLIENTS: u64 = 4;

/// The configuration of this node.
fn configured(room: &Path, me: usize, nodes: &[SocketAddr]) -> String {
    let file = room.join(format!("node{me}.txt"));
    let mut lines = vec![format!("me {me}")];
    lines.extend(nodes.iter().map(|node| format!("node {node}")));
    fs::write(&file, lines.join("\n")).unwrap();
    format!("Nodes={}", file.display())
}

/// Does operations until it is told to stop, and some more.
fn operate(wanted: &Wanted, at: u64, stop: &AtomicBool) -> Client {
    let mut client = Client::new(wanted, at).unwrap();
    while !stop.load(Ordering::Relaxed) {
        client.operate().unwrap();
    }
    (0..20).for_each(|_| client.operate().unwrap());
    client
}

/// Three nodes; under `split` each half of each dies once, that of a leader among them. No write is
/// lost or done twice, so all that clients see is linearizable. Under `host-only` there are no
/// copies of the log, so the node whose host half dies is mute from then on, and one may die.
#[test]
fn nodes_agree_whichever_half_dies() {
    for plan in ["split", "host-only"] {
        let room = room(&format!("replicated-{plan}"));
        let nodes = [(); 3].map(|()| free("127.0.0.1"));
        let mut served: Vec<Served> = (0..3)
            .map(|me| {
                let config = configured(&room, me, &nodes);
                Served::start_at("replicated-kv", plan, nodes[me], &["--config", &config])
            })
            .collect();
        let wanted = Wanted::new(nodes.to_vec());
        let stop = AtomicBool::new(false);
        let clients: Vec<Client> = thread::scope(|scope| {
            let operate = |at| {
                let (wanted, stop) = (&wanted, &stop);
                scope.spawn(move || operate(wanted, at, stop))
            };
            let threads: Vec<_> = (0..CLIENTS).map(operate).collect();
            let mut draw = Draw(5);
            let deaths = if plan == "split" { 6 } else { 4 };
            for (node, half) in (0..deaths).map(|at| (at % 3, ["__nic", "__host"][at / 3])) {
                thread::sleep(Duration::from_millis(200 + draw.below(400)));
                served[node].kill(half);
                served[node].works_again();
            }
            stop.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let operations: usize = clients.iter().map(|client| client.took.len()).sum();
        let again: u64 = clients.iter().map(|client| client.again).sum();
        tell(&format!("{plan}: {operations} operations, {again} asked again"));
        assert!(operations > 100, "{plan}: {operations} operations");
        let events: Vec<_> = clients.into_iter().flat_map(|client| client.events).collect();
        assert_eq!(history::wrong(&events), Vec::<Vec<u8>>::new(), "{plan}: not linearizable");
        for (me, node) in served.into_iter().enumerate() {
            let report = node.end();
            conserves(&report);
            assert_eq!(count(&report["outcomes"]["two-values"]), 0, "{plan}: {report:#}");
            let is_mute = count(&report["outcomes"]["lost-promises"]) > 0;
            assert_eq!(is_mute, plan == "host-only" && me == 0, "{plan}, {me}: {report:#}");
        }
    }
}

/// Questions of a leader of ballot 256, node 0, to the acceptor of a group, in any order.
fn told(group: u32, draw: &mut Draw) -> Vec<Said> {
    let (from, ballot) = (0, 256);
    let slots = 1 + draw.below(20);
    let accept = |slot: u64| {
        let name = Name::of(format!("n{}", slot % 3).as_bytes()).unwrap();
        let operation = Operation::Delete { name };
        let command = Asked { client: u64::from(group), number: slot, operation };
        Said::Accept { from, ballot, slot, chosen: 1, command }
    };
    let mut told: Vec<Said> = (1..=slots).map(accept).collect();
    told.extend((0..5).map(|_| accept(1 + draw.below(slots))));
    told.push(Said::Prepare { from, ballot, first: 1 });
    // Too low.
    told.push(Said::Prepare { from: 2, ballot: 2, first: 1 });
    for at in (1..told.len()).rev() {
        told.swap(at, draw.below(at as u64 + 1) as usize);
    }
    told.push(Said::Heartbeat { from, ballot, chosen: slots + 1 });
    told
}

/// The capture of a node that others talk to. A group is ready when its tables have answered, so
/// all is said several times.
fn talk(path: &Path, node: SocketAddr) {
    let mut writer = Writer::new(BufWriter::new(File::create(path).unwrap())).unwrap();
    let (mut draw, mut number) = (Draw(8), 0_u64);
    let groups: Vec<(u32, Vec<Said>)> =
        (0..60).map(|group| (group, told(group, &mut draw))).collect();
    for _ in 0..40 {
        for at in 0..29 {
            for (group, told) in &groups {
                let Some(said) = told.get(at).or(told.last()) else { continue };
                let from = SocketAddr::from(([10, 0, 0, 1], 7000));
                let datagram = written(&Datagram { group: *group, said: *said });
                // All within the time that a node waits for a leader.
                writer.write(1_000_000 + number * 5_000, &udp(from, node, &datagram)).unwrap();
                number += 1;
            }
        }
    }
    writer.finish().unwrap();
}

/// The program, with its NIC half.
fn with_nic_half() -> PathBuf {
    let words = ["--package", "replicated-kv", "--features", "cora/measure,replicated-kv/nic"];
    let built = programs(&words, Some(Path::new("split")), "replicated-halves");
    built["replicated-kv"].clone()
}

/// The entries of a state, without the times of their last use.
fn entries(state: &Value, of: &str) -> Vec<Value> {
    let entries = state["states"][of].as_array().into_iter().flatten();
    entries.map(|entry| serde_json::json!([entry["key"], entry["value"]])).collect()
}

/// An acceptor has the same log in the end: at the host, at the NIC, and while groups move.
#[test]
fn acceptors_keep_their_promises_wherever_they_are() {
    let room = room("replicated-capture");
    let nodes = [1, 2, 3].map(|last| SocketAddr::from(([10, 0, 0, last], 7000)));
    let (capture, config) = (room.join("in.pcap"), configured(&room, 1, &nodes));
    talk(&capture, nodes[1]);
    let program = with_nic_half();
    let once = |words: &[&str]| -> ([Vec<Value>; 2], Value) {
        let (state, out) = (room.join("state.json"), room.join("out.pcap"));
        let mut command = Command::new(&program);
        // Other tests may have the processors for a while.
        command.args(["run", "--json", "--patience", "20"]);
        command.args(["--inside", "10.0.0.0/8", "--config", &config]);
        command.arg("--in").arg(&capture).arg("--out").arg(&out).arg("--state-out").arg(&state);
        let report = run(command.args(words), LIMIT).well("a capture").json();
        conserves(&report);
        assert_eq!(count(&report["outcomes"]["two-values"]), 0, "{words:?}: {report:#}");
        let state: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
        (["Log", "Slot"].map(|of| entries(&state, of)), report)
    };
    // The tables answer in their own time. A run that was over before they did says nothing.
    let logs = |words: &[&str]| {
        let is_ready = |log: &Value| log[1]["votes"] == true && log[1]["chosen"] == log[1]["end"];
        let runs = (0..5).map(|_| once(words));
        let mut ready = runs.filter(|([logs, _], _)| logs.len() == 60 && logs.iter().all(is_ready));
        ready.next().unwrap_or_else(|| panic!("{words:?}: groups are not ready in five runs"))
    };
    let (expected, _) = logs(&["--nic", "off"]);
    let mut nics = vec!["native"];
    match emulator() {
        Ok(_) => nics.push("emulated"),
        Err(skipped) => tell(&skipped),
    }
    for nic in nics {
        for moves in [&[][..], &["--moves", "random:1"], &["--moves", "random:2"]] {
            let words = [&["--nic", nic], moves].concat();
            let (left, report) = logs(&words);
            assert_eq!(left, expected, "{words:?}: the logs differ");
            let moved = count(&report["migrations"]);
            tell(&format!("{words:?}: {moved} moves"));
            assert!(moves.is_empty() || moved > 100, "{words:?}: {moved} moves");
        }
    }
}

/// Its tables are at the host, so the host must not be empty.
#[test]
fn the_nic_alone_is_refused() {
    let mut cargo = cargo();
    cargo.args(["check", "--package", "replicated-kv"]).env("CORA_PLAN", "nic-only");
    let ended = run(&mut cargo, Duration::from_mins(10));
    assert_ne!(ended.code, Some(0));
    let said = "`tables` runs at the host alone (`at = host`), and under `nic-only` the host runs \
                nothing";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}
