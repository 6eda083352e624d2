//! Compares reports with stored ones: `CORA_BLESS=1 cargo test -p cora-plan` rewrites them.

use std::path::Path;

use super::*;
use crate::model::Resource;
use crate::statement::{Ask, Stated};
use crate::vocabulary::Place;
use crate::what_if::subject::Subject;
use crate::what_if::tests::{Rules, case as case_of};
use crate::what_if::{Case, Planner as _, curve, explain, sensitivity};

const HASH: &str = "0123456789abcdef";
const MEASURED: &str = "Instructions were counted on `day.pcap`, 100,000 packets.";

fn report_of<'a>(case: &'a Case, planned: &'a Planned) -> Report<'a> {
    Report {
        graph: &case.graph,
        nic: &case.nic,
        traffic: &case.traffic,
        statement: &case.statement,
        planned,
        hash: HASH,
        baselines: true,
        measured: MEASURED,
    }
}

fn outlook(case: &Case, planned: &Planned) -> Outlook {
    Outlook {
        curves: curve::run(&Rules, case),
        sensitivity: sensitivity::run(&Rules, case, planned),
    }
}

fn stored(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/stored").join(name);
    if std::env::var_os("CORA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("to make it");
        std::fs::write(&path, text).expect("to write it");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} differs from the stored report:\n{text}");
}

#[test]
fn reports_are_the_stored_ones() {
    let case = case_of(Ask::Rate(16.0));
    let planned = Rules.plan(&case).unwrap();
    let report = report_of(&case, &planned);
    stored("nat.txt", &text::write(&report));
    stored("nat.json", &json::write(&report));
    stored("nat.html", &html::write(&report, &outlook(&case, &planned)));
    let others = case_of(Ask::HostCores(4.0));
    let planned = Rules.plan(&others).unwrap();
    stored("cores.txt", &text::write(&report_of(&others, &planned)));
}

#[test]
fn explanations_are_the_stored_ones() {
    let case = case_of(Ask::Rate(10.0));
    let planned = Rules.plan(&case).unwrap();
    let report = report_of(&case, &planned);
    let all = Subject::all(&case.graph, &case.traffic, "FiveTuple");
    let texts = all
        .iter()
        .map(|subject| explanation::write(&report, &explain(&Rules, &case, &planned, subject)));
    stored("explanations.txt", &texts.collect::<Vec<_>>().join("\n----\n\n"));
}

/// A one-sided plan alone does not explain a state's place.
#[test]
fn where_one_side_runs_all_each_state_has_a_reason_of_its_own() {
    use crate::vocabulary::Sides;
    let mut case = case_of(Ask::Rate(10.0));
    let mut planned = Rules.plan(&case).unwrap();
    for (sides, side) in [(Sides::NicOnly, "the NIC"), (Sides::HostOnly, "the host")] {
        planned.allocation.sides = sides;
        for (searched, because) in [(false, "as the plan states"), (true, "for no split")] {
            let target = case.statement.target.get_or_insert_default();
            target.any_sides = searched;
            let report = report_of(&case, &planned);
            let states = case.graph.states.iter().map(|node| why::state(&report, node));
            let handlers = case.graph.chain.iter().map(|node| why::handler(&report, node));
            let reasons: Vec<String> = states.chain(handlers).collect();
            let all = std::collections::BTreeSet::from_iter(&reasons);
            assert_eq!(all.len(), reasons.len(), "{reasons:#?}");
            let begin = format!("{side} runs every packet, {because}");
            assert!(reasons.iter().all(|reason| reason.starts_with(&begin)), "{reasons:#?}");
        }
    }
}

#[test]
fn a_dealt_plan_says_how_many_buckets_the_nic_gets() {
    use crate::vocabulary::{Kind, Sides};
    let mut case = case_of(Ask::Rate(10.0));
    let pool = case.graph.states.iter_mut().find(|state| state.name == "PortPool");
    pool.expect("a pool").kind = Kind::PerBucket;
    let mut planned = Rules.plan(&case).unwrap();
    let allocation = &mut planned.allocation;
    allocation.sides = Sides::Dealt;
    allocation.places.insert("PortPool".to_owned(), Place::Divided);
    allocation.shares.fill(0.75);
    let report = report_of(&case, &planned);
    let (text, json) = (text::write(&report), json::write(&report));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("give packets of 192 buckets of 256 to its cores"), "{text}");
    assert!(text.contains("PortPool divided flows of a bucket share its value"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["plan"]["nic_buckets"], 192);
    assert_eq!(json["plan"]["sides"], "dealt");
}

#[test]
fn what_if_marks_what_differs() {
    let today = case_of(Ask::Rate(10.0));
    let mut other = today.clone();
    other.statement.places.insert("Session".to_owned(), Stated { what: Place::Host, line: 0 });
    other.nic.name = "othernic".to_owned();
    let plans = [&today, &other].map(|case| Rules.plan(case).unwrap());
    let text = what_if::write(&report_of(&today, &plans[0]), &report_of(&other, &plans[1]));
    stored("what_if.txt", &text);
    let marked: Vec<&str> = text.lines().filter(|line| line.starts_with('≠')).collect();
    let marks = |name: &str| marked.iter().any(|line| line.contains(name));
    assert!(
        marks("NIC ") && marks("Session") && marks("host cores") && !marks("PortPool"),
        "{text}"
    );
    let json = what_if::as_json(&report_of(&today, &plans[0]), &report_of(&other, &plans[1]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["today"]["plan"]["places"]["Session"], "travels");
    assert_eq!(json["what_if"]["plan"]["places"]["Session"], "host");
    let same = what_if::write(&report_of(&today, &plans[0]), &report_of(&today, &plans[0]));
    assert!(!same.contains('≠') && same.contains("stays where it is"), "{same}");
}

#[test]
fn lines_fit_the_terminal_and_say_what_they_are() {
    for ask in [Ask::Rate(10.0), Ask::Rate(29.0), Ask::HostCores(0.0), Ask::HostCores(4.0)] {
        let case = case_of(ask);
        let planned = Rules.plan(&case).unwrap();
        let text = text::write(&report_of(&case, &planned));
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
        assert!(text.contains(words::LABEL) && text.contains("estimated from the source"));
    }
}

#[test]
fn that_long_frames_cross_as_their_heads_is_told_where_they_do() {
    let told = |bytes: [f64; 2], headers: bool, carried: f64| {
        let mut case = case_of(Ask::Rate(16.0));
        case.graph.chain.iter_mut().for_each(|handler| handler.headers = headers);
        case.traffic.by_key.values_mut().flatten().for_each(|class| {
            [class.mean_bytes, class.head_bytes] = bytes;
        });
        let mut planned = Rules.plan(&case).unwrap();
        planned.predicted.utilisation.insert(Resource::RingBytes, carried);
        let report = report_of(&case, &planned);
        let page = html::write(&report, &outlook(&case, &planned));
        let texts = [text::write(&report).replace("\n  ", " "), page];
        texts.map(|text| text.contains("a frame's 870 bytes 128 cross, on average."))
    };
    assert_eq!(told([870.0, 128.0], true, 0.1), [true, true]);
    assert_eq!(told([870.0, 128.0], false, 0.1), [false, false], "a handler reads them");
    assert_eq!(told([870.0, 870.0], true, 0.1), [false, false], "none is long");
    assert_eq!(told([870.0, 128.0], true, 0.0), [false, false], "none crosses");
}

#[test]
fn json_keeps_its_contract() {
    let case = case_of(Ask::Rate(16.0));
    let planned = Rules.plan(&case).unwrap();
    let json = json::write(&report_of(&case, &planned));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["plan"]["hash"], HASH);
    assert_eq!(json["plan"]["places"]["Session"], "travels");
    assert_eq!(json["plan"]["shares"][1]["nic"], 0.75);
    for predicted in [&json["predicted"], &json["baselines"]["state-only"]["predicted"]] {
        assert!(predicted["host_cores"].is_f64() && predicted["ceiling_mpps"].is_f64());
        assert!(predicted["bottleneck"].is_string() && predicted["utilisation"].is_object());
    }
    assert_eq!(json["baselines"].as_object().map(serde_json::Map::len), Some(5));
    assert_eq!(json["proof"]["optimal"], true);
    assert!(json["proof"]["bound"].is_f64() && json["proof"]["ms"].is_f64());
    let quiet = Report { baselines: false, ..report_of(&case, &planned) };
    assert!(!json::write(&quiet).contains("baselines"));
}

#[test]
fn the_page_stands_alone() {
    let case = case_of(Ask::Rate(16.0));
    let planned = Rules.plan(&case).unwrap();
    let page = html::write(&report_of(&case, &planned), &outlook(&case, &planned));
    let others = page.replace("http://www.w3.org/2000/svg", "");
    for word in ["http:", "https:", "src=", "href", "@import", "url(", "<script", "<link"] {
        let allowed = if word == "url(" { others.replace("url(#", "") } else { others.clone() };
        assert!(!allowed.contains(word), "{word}");
    }
    for words in ["place: host", "runs: nic + host", words::LABEL, "flow-only", "64.0 × the flows"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(page, html::write(&report_of(&case, &planned), &outlook(&case, &planned)));
}

#[test]
fn the_claim_divides_what_it_says() {
    let case = case_of(Ask::Rate(10.0));
    let at_rate = &Rules.curve(&case, &[10.0])[0];
    let mut rows = vec![claim::ClaimRow::of("nat", "sample", at_rate, Some(0.5))];
    // Host-only needs 5 cores, the better split 3, Cora 0.5.
    let row = &rows[0];
    let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-9);
    assert!(close(row.saved(), 0.9) && close(row.fewer(), 6.0) && close(row.saved_ratio(), 2.25));
    rows.push(claim::ClaimRow {
        program: "meter".to_owned(),
        host_only: None,
        state_only: None,
        flow_only: None,
        speed_up: None,
        ..row.clone()
    });
    stored("claim.txt", &claim::text(&rows));
    stored("claim.md", &claim::as_markdown(&rows));
}

#[test]
fn fractions_of_cores_are_told_with_the_whole_ones() {
    let case = case_of(Ask::Rate(16.0));
    let mut planned = Rules.plan(&case).unwrap();
    for (cores, told) in [
        (0.0, "need 0 host cores"),
        (0.000_01, "need 0 host cores"),
        (0.02, "need 0.020 (1 whole) host cores"),
        (2.000_4, "need 2.00 (2 whole) host cores"),
        (2.1, "need 2.10 (3 whole) host cores"),
    ] {
        planned.predicted.host_cores = cores;
        let headline = facts::headline(&report_of(&case, &planned));
        assert!(headline.contains(told), "{cores}: {headline}");
    }
}

#[test]
fn an_assumed_mean_of_idle_times_is_told() {
    let mut case = case_of(Ask::Rate(10.0));
    let planned = Rules.plan(&case).unwrap();
    let told = |case: &Case| facts::origins(&report_of(case, &planned)).join(" ");
    assert!(!told(&case).contains("idle"));
    let session = case.graph.states[1].keyed.as_mut().expect("keyed");
    (session.idle_by, session.idle_ns) = (true, 7_440_000_000_000);
    let wanted =
        "Entries of `Session` have idle times of their own, by `idle_by`; 300 s in the mean";
    assert!(told(&case).contains(wanted), "{}", told(&case));
}

#[test]
fn a_cliff_next_to_the_plan_is_told_in_every_format() {
    let case = case_of(Ask::Rate(16.0));
    let mut planned = Rules.plan(&case).unwrap();
    let told = "next to a cliff: at 16.2 Mpps, 1 % more, the best plan needs 3.20 host cores \
                instead of 1.52";
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text::write(&report_of(&case, &planned)).contains("cliff"));
    planned.cliff = Some(crate::optimise::Cliff { mpps: 16.16, host_cores: 3.2 });
    let report = report_of(&case, &planned);
    assert!(plain(text::write(&report)).contains(told));
    assert!(html::write(&report, &Outlook::default()).contains(told));
    let json: serde_json::Value = serde_json::from_str(&json::write(&report)).unwrap();
    assert_eq!(json["cliff"]["host_cores"], 3.2);
}
