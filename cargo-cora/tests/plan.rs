//! `plan`, `explain` and `what-if` as they are typed.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs `cargo cora …` in the workspace; words in quotes are one.
fn cora(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("cora");
    command.args(words).output().unwrap()
}

fn line(line: &str) -> Output {
    cora(&line.split_whitespace().collect::<Vec<_>>())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn says(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

/// It ends with this code, and complains with all of these words.
fn complains(words: &str, code: i32, complaints: &[&str]) {
    let output = line(words);
    assert_eq!(output.status.code(), Some(code), "`{words}`: {}", stderr(&output));
    for complaint in complaints {
        assert!(stderr(&output).contains(complaint), "`{words}`: {}", stderr(&output));
    }
    assert_eq!(stdout(&output), "", "`{words}`");
}

const FIREWALL: &str = "plan firewall --nic bluefield2 --traffic zipf --mpps 5";

fn json(words: &str) -> Value {
    serde_json::from_str(&says(&line(words))).unwrap()
}

#[test]
fn the_contract_for_scripts_is_kept() {
    let plan = json(&format!("{FIREWALL} --baselines --format json"));
    let hash = plan["plan"]["hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.chars().all(|digit| digit.is_ascii_hexdigit()), "{hash}");
    assert!(plan["plan"]["places"]["Connection"].is_string());
    assert!(!plan["plan"]["shares"].as_array().unwrap().is_empty());
    let others = plan["baselines"].as_object().unwrap();
    let names: Vec<&str> = others.keys().map(String::as_str).collect();
    assert_eq!(names, ["behind-nic", "flow-only", "host-only", "nic-only", "state-only"]);
    for one in others.values().chain([&plan]) {
        let predicted = &one["predicted"];
        assert!(predicted["host_cores"].is_f64(), "{predicted}");
        assert!(predicted["ceiling_mpps"].is_f64() && predicted["bottleneck"].is_string());
        assert!(!predicted["utilisation"].as_object().unwrap().is_empty());
    }
    let host_cores = |of: &Value| of["predicted"]["host_cores"].as_f64().unwrap();
    assert!(host_cores(&plan) <= host_cores(&others["host-only"]) + 1e-9);
    assert!(plan["proof"]["optimal"].is_boolean());
    assert!(plan["proof"]["bound"].is_f64() && plan["proof"]["ms"].is_f64());
}

#[test]
fn planned_twice_it_is_the_same_but_for_the_time() {
    let plan = || {
        let mut plan = json(&format!("{FIREWALL} --baselines --format json"));
        plan["proof"]["ms"] = Value::Null;
        plan
    };
    assert_eq!(plan(), plan());
}

#[test]
fn more_cores_go_further() {
    let mpps = |cores: u32| {
        let plan = json(&format!("plan firewall --host-cores {cores} --traffic kv --format json"));
        plan["mpps"].as_f64().unwrap()
    };
    assert!(mpps(1) <= mpps(8) && mpps(1) > 0.0);
}

#[test]
fn text_and_page_say_what_they_are() {
    let text = says(&line(&format!("{FIREWALL} --baselines")));
    for words in ["Predicted", "Connection", "flow-only", "runs out first", "measured"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan.html");
    let mut words: Vec<&str> = FIREWALL.split_whitespace().collect();
    words.extend(["--format", "html", "--out", file.to_str().unwrap()]);
    assert_eq!(says(&cora(&words)), "");
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for words in ["Predicted", "Host cores against throughput", "If the traffic were other"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn what_is_not_there_is_told_with_the_nearest() {
    complains("plan firewal --mpps 5", 2, &["did you mean `firewall`?"]);
    complains("plan firewall --nic bluefeld2", 2, &["bluefeld2", "bluefield2"]);
    complains("plan firewall --traffic zipff", 2, &["zipff", "`zipf`"]);
    complains("plan firewall --pin Conection=host", 2, &["did you mean `Connection`?"]);
    complains("plan firewall --pin Connection=hst", 2, &["did you mean `host`?"]);
    complains("plan firewall --pin Connection", 2, &["STATE=PLACE"]);
    complains("explain Conection --package firewall", 2, &["did you mean `Connection`?"]);
    complains("explain Connection", 2, &["--package", "CORA0007"]);
}

#[test]
fn asks_that_make_no_sense_are_refused() {
    complains("plan firewall --mpps 0", 2, &["above 0"]);
    complains("plan firewall --mpps nan", 2, &["above 0"]);
    complains("plan firewall --mpps 1 --host-cores 1", 2, &["--host-cores"]);
    complains("plan firewall --format png", 2, &["text, json, html"]);
    complains("plan firewall --measured nowhere.json", 2, &["nowhere.json"]);
    complains("what-if firewall", 2, &["--nic", "--pin"]);
}

#[test]
fn an_ask_out_of_reach_is_told_the_nearest_within() {
    let output = line("plan firewall --mpps 100000");
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    assert!(complaint.contains("run out"), "{complaint}");
    // The things that it names are there.
    let (_, rest) = complaint.split_once("ask for ").unwrap();
    let nearest = rest.split_whitespace().next().unwrap();
    assert!(nearest.parse::<f64>().unwrap() > 1.0, "{complaint}");
    says(&line(&format!("plan firewall --mpps {nearest}")));
}

#[test]
fn everything_planned_can_be_explained() {
    for what in ["Connection", "firewall", "the top 10", "rest"] {
        let text = says(&cora(&["explain", what, "--package", "firewall", "--mpps", "5"]));
        for words in ["Why", "The next best", "What would have to change", "Predicted"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn what_if_shows_both_and_marks_what_differs() {
    let text = says(&line("what-if firewall --mpps 5 --pin Connection=host"));
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with('≠')).collect();
    assert!(marked.iter().any(|line| line.contains("Connection")), "{text}");
    let both = json("what-if firewall --mpps 5 --nic bluefield3 --json");
    assert_eq!(both["today"]["nic"], "bluefield2");
    assert_eq!(both["what_if"]["nic"], "bluefield3");
}

/// Messages go to the items, or the items come to the messages: the NIC pays for that, and the host
/// saves.
#[test]
fn both_ways_of_reaching_items_are_weighed() {
    let plan = |pin: &str| {
        json(&format!("plan btree --mpps 0.9 --traffic kv --pin Node={pin} --format json"))
    };
    let (shipped, fetched) = (plan("host"), plan("fetched"));
    let cores = |plan: &Value, side: &str| plan["predicted"][side].as_f64().unwrap();
    assert!(cores(&fetched, "host_cores") < 0.5 * cores(&shipped, "host_cores"), "{fetched}");
    assert!(cores(&fetched, "nic_cores") > cores(&shipped, "nic_cores"), "{fetched}");
    let text = says(&line("plan btree --mpps 0.9 --traffic kv --pin Node=fetched"));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "the NIC reads copies of its items; messages on 2 of the 9 paths of `btree` go to the host",
        "Node: a NIC that fetches its items reads them while messages that write them",
    ] {
        assert!(words.contains(said), "{text}");
    }
    complains(
        "plan btree --pin Loader=fetched",
        1,
        &["`Loader` is read-mostly", "`replica` or `host`"],
    );
}

#[test]
fn another_traffic_is_one_change_and_a_near_name_is_told() {
    // A campus has a rate of its own, and Zipf's law has none.
    let both = json("what-if firewall --traffic campus:gbps=1 --json");
    let ask = |plan: &str| both[plan]["ask"].clone();
    assert!(ask("today")["mpps"].is_f64(), "{both}");
    assert_eq!(ask("today"), ask("what_if"));
    assert_eq!(both["today"]["traffic"], "zipf");
    complains("plan natt", 2, &["no package `natt` in this workspace; did you mean `nat`?"]);
}

#[test]
fn savings_take_measured_programs_alone() {
    for protocol in ["", " --protocol --json"] {
        let words = format!("savings ledger{protocol} --traffic campus");
        complains(&words, 1, &["there are only estimates", "cargo cora measure ledger"]);
    }
    complains("savings firewall --json", 2, &["--protocol"]);
    complains("savings firewall --protocol --part 0.5", 2, &["--part"]);
}
