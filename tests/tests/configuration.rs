//! Read-mostly states that change while packets come. A change takes effect between two packets, so
//! equal packets and changes give equal results: under every plan, for all moves of flows and all
//! killed halves.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::captures::{self, paced};
use cora_tests::process::{run, start, start_fed};
use cora_tests::tell;
use cora_tests::workshop::{emulator, is_full, plan_of_host_alone, program, room, under};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run, which takes some seconds; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);
const PACKETS: u64 = 40_000;

/// The results of a run: outcomes, packets in the order of each flow, and the final state.
#[derive(Debug, PartialEq)]
struct Left {
    outcomes: Value,
    flows: Vec<(String, Vec<u8>)>,
    state: Value,
}

struct Bench {
    room: PathBuf,
    capture: PathBuf,
}

impl Bench {
    fn new(name: &str, packets: u64) -> Self {
        let room = room(name);
        let capture = room.join("in.pcap");
        captures::generate(Profile::Mix, 23, packets, 900, &capture);
        Self { room, capture }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.room.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn command(&self, program: &Path, nic: &str, from: &Path) -> Command {
        let mut command = Command::new(program);
        command.args(["run", "--json", "--nic", nic, "--in"]).arg(from);
        command.arg("--out").arg(self.room.join("out.pcap"));
        command.arg("--state-out").arg(self.room.join("state.json"));
        command
    }

    fn left(&self, report: &Value) -> Left {
        let mut flows = std::collections::BTreeMap::<String, Vec<u8>>::new();
        captures::each(&self.room.join("out.pcap"), |_, packet| {
            let flow = packet.five_tuple().map_or_else(|_| "none".to_owned(), |it| it.to_string());
            flows.entry(flow).or_default().extend_from_slice(packet.frame());
        });
        let state = fs::read(self.room.join("state.json")).unwrap();
        Left {
            outcomes: report["outcomes"].clone(),
            flows: flows.into_iter().collect(),
            state: serde_json::from_slice(&state).unwrap(),
        }
    }
}

/// Returns rules that deny the two ports that most packets of the capture go to.
fn closing(capture: &Path) -> [String; 2] {
    let mut ports = std::collections::BTreeMap::<u16, u64>::new();
    captures::each(capture, |_, packet| {
        if let Ok(flow) = packet.five_tuple() {
            *ports.entry(flow.destination_port).or_default() += 1;
        }
    });
    let mut ports: Vec<(u64, u16)> = ports.into_iter().map(|(port, count)| (count, port)).collect();
    ports.sort_unstable();
    let deny = |port: u16| {
        format!("protocol,destination_port,allow\ntcp,{port},false\nudp,{port},false\n")
    };
    let busiest: Vec<u16> = ports.iter().rev().take(2).map(|(_, port)| *port).collect();
    [deny(busiest[0]), deny(busiest[1])]
}

/// Three versions: nothing denied, the busiest port denied, and then another.
#[test]
fn results_depend_neither_on_the_plan_nor_on_what_moves() {
    let bench = Bench::new("configuration", PACKETS);
    let [first, second] = closing(&bench.capture);
    let (first, second) = (bench.file("first.txt", &first), bench.file("second.txt", &second));
    let changes = [
        "--change".to_owned(),
        format!("{}:Rule={first}", PACKETS / 3),
        "--change".to_owned(),
        format!("{}:Rule={second}", PACKETS / 3 * 2),
    ];
    let built = |plan: &str| {
        under(Path::new(plan), &["stateful-firewall"]).remove("stateful-firewall").unwrap()
    };
    let host = built(plan_of_host_alone());
    let run_whole = |mut command: Command, changes: &[String]| {
        let report = run(command.args(changes), LIMIT).well("configuration").json();
        bench.left(&report)
    };
    let unchanged = run_whole(bench.command(&host, "off", &bench.capture), &[]);
    let expected = run_whole(bench.command(&host, "off", &bench.capture), &changes);
    let denied = |left: &Left| left.outcomes["not-allowed"].as_u64().unwrap_or(0);
    assert!(denied(&expected) > denied(&unchanged) + 1_000, "{:?}", expected.outcomes);
    let judged = |left: &Left, number: u64| {
        let entries = left.state["states"]["Connection"].as_array().unwrap();
        entries.iter().filter(|entry| entry["value"]["judged"] == number).count()
    };
    assert!(judged(&unchanged, 1) > 0 && judged(&unchanged, 3) == 0);
    assert!([1, 2, 3].iter().all(|number| judged(&expected, *number) > 0), "all were judged anew");

    let mut nics = vec!["native"];
    match emulator() {
        Ok(_) => nics.push("emulated"),
        Err(skipped) => tell(&skipped),
    }
    let plans: &[&str] = if is_full() { &["host-only", "nic-only", "split"] } else { &["split"] };
    for plan in plans {
        let program = built(plan);
        for nic in &nics {
            let left = run_whole(bench.command(&program, nic, &bench.capture), &changes);
            assert!(left == expected, "{plan}, {nic}: {:?}", left.outcomes);
        }
        if *plan != "split" {
            continue;
        }
        let mut command = bench.command(&program, "native", &bench.capture);
        command.args(["--shards", "2"]);
        let left = run_whole(command, &changes);
        assert!(left == expected, "two shards: {:?}", left.outcomes);
        for seed in 1..=4 {
            let mut command = bench.command(&program, "native", Path::new("/dev/stdin"));
            command.arg("--moves").arg(format!("random:{seed}")).args(&changes);
            let ended = start_fed(&mut command, paced(&bench.capture)).end(LIMIT);
            let report = ended.well("configuration, moves").json();
            let moves = report["sides"]["nic"]["offloads"].as_u64();
            assert!(moves > Some(0), "nothing moved: {report}");
            let left = bench.left(&report);
            assert!(left == expected, "random:{seed}: {:?}", left.outcomes);
        }
    }
}

/// A wrong file is an error before the first packet; the message has its name and its line.
#[test]
fn a_change_that_can_not_be_made_is_refused_at_once() {
    let bench = Bench::new("configuration-wrong", 100);
    let wrong = bench.file("wrong.txt", "deny all\n");
    let program = program("stateful-firewall");
    for (change, why) in [
        (format!("50:Rule={wrong}"), "wrong.txt:1:1: unknown column `deny all`"),
        (format!("50:Rates={wrong}"), "no read-mostly state of that name"),
        (format!("x:Rule={wrong}"), "`x` is not a packet's number"),
        (format!("Rule={wrong}"), "write it as N:State=file"),
    ] {
        let mut command = bench.command(program, "native", &bench.capture);
        let ended = start(command.args(["--change", &change])).end(LIMIT);
        assert_ne!(ended.code, Some(0), "{change}");
        assert!(ended.stderr.contains(why), "{change}: {}", ended.stderr);
    }
}
