//! `cargo cora check-plan` on a capture and on a live run, of an example as it is.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use cora_tests::captures;
use cora_tests::live_run::{Live, MEMORY, SOON};
use cora_tests::process::wait_until;
use cora_tests::workshop::{build, cora, room};
use cora_traffic::Profile;
use serde_json::Value;

fn figures<'a>(told: &'a Value, what: &'a str) -> impl Iterator<Item = &'a Value> {
    told["figures"].as_array().unwrap().iter().filter(move |figure| figure["what"] == what)
}

fn figure<'a>(told: &'a Value, what: &'a str) -> &'a Value {
    figures(told, what).next().unwrap_or_else(|| panic!("no {what}: {told}"))
}

fn number(figure: &Value, column: &str) -> f64 {
    figure[column].as_f64().unwrap_or_else(|| panic!("no {column}: {figure}"))
}

/// The run's own profile is right about the run, and another one is not.
#[test]
fn a_capture_is_as_its_own_profile_says() {
    let capture = room("check-plan").join("mix.pcap");
    captures::generate(Profile::Mix, 5, 20_000, 2_000, &capture);
    let mut command = cora();
    command.args(["check-plan", "firewall", "--json", "--profile", "dev", "--in"]).arg(&capture);
    // It builds what other tests put aside.
    let told = build(command.args(["--traffic", "campus"])).well("check-plan").json();
    assert_eq!((&told["source"], &told["program"]), (&"capture".into(), &"firewall".into()));
    assert!(told["packets"].as_u64() >= Some(20_000), "{told}");
    // Each packet with a handler ran at one side.
    let (at_nic, crossings) = (figure(&told, "at-nic"), figure(&told, "crossings"));
    for column in ["predicted", "own_traffic", "measured"] {
        let all = number(at_nic, column) + number(crossings, column);
        assert!((all - 1.0).abs() < 1e-6, "{column}: {at_nic} {crossings}");
    }
    assert!(number(crossings, "measured") > 0.0, "first packets of flows cross: {crossings}");
    let entries = figure(&told, "entries");
    assert_eq!(entries["of"], "Connection");
    // Some flows of the mix are refused, and make no entry; a campus would have many more.
    let (own, measured) = (number(entries, "own_traffic"), number(entries, "measured"));
    assert!(measured > 0.0 && measured <= own * 1.01, "{entries}");
    // A capture is cut into classes, and each share is one of all packets.
    let shares: f64 = figures(&told, "class-share").map(|share| number(share, "measured")).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{told}");
    let bytes = figure(&told, "frame-bytes");
    assert!(
        (number(bytes, "predicted") - 870.6).abs() < 0.05 && bytes["verdict"] == "off",
        "{bytes}"
    );
    // On a campus one packet in 79 opens a flow, and the mix has ten packets a flow.
    let opens = figure(&told, "opens");
    assert!(number(opens, "factor") > 5.0, "{opens}");
    let said = |field: &str, what: &str| opens[field].as_str().is_some_and(|it| it.contains(what));
    assert!(said("cause", "1 packet in 79") && said("remedy", "cargo cora profile"), "{opens}");
    // Its development build says nothing of times.
    assert_eq!(figure(&told, "host-time")["verdict"], "not-compared");
}

/// The counters of a live run are those of the plan that the package has.
#[test]
fn a_live_run_is_compared_while_it_runs() {
    let run = Live::start("firewall", MEMORY, &[]);
    let socket = run.room.join("socket");
    let runs = || run.ask("snapshot")["sides"]["nic"]["packets"].as_u64() > Some(10_000);
    assert!(wait_until(SOON, runs), "{}", run.ask("snapshot"));
    let mut command = cora();
    command.args(["check-plan", "firewall", "--json", "--seconds", "1", "--control"]).arg(&socket);
    let told = build(&mut command).well("check-plan").json();
    assert_eq!((&told["source"], &told["plan_name"]), (&"live".into(), &"split".into()));
    assert!(told["packets"].as_u64() > Some(0) && number(&told, "seconds") >= 0.9, "{told}");
    // No flow is new by now, so nothing moves.
    let moves = figure(&told, "moves");
    assert_eq!(moves["verdict"], "as-predicted", "{told}");
    let run = run.finish();
    assert_eq!(run.code, Some(0), "{}", run.log);
}
