//! Programs as text, and the build script's output for them.
//!
//! Each file in `tests/program` contains the files of one package, each under a line `=== name`.
//! The section `=== result` has the expected warnings, and either errors or graph and plan. The
//! optional sections `=== graph.json` and `=== cora_app.rs` are also compared. `CORA_BLESS=1`
//! rewrites the results.
#![cfg(feature = "script")]
#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cora_build::diag;
use cora_build::script::source::cfg::Cfg;
use cora_build::script::{self, Reading, emit};

/// One case: the files of its package, and the expected results.
struct Case {
    path: PathBuf,
    files: Vec<(String, String)>,
    results: Vec<(String, String)>,
}

const RESULTS: [&str; 3] = ["result", "graph.json", "cora_app.rs"];

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(case).collect()
}

fn case(path: PathBuf) -> Case {
    let text = std::fs::read_to_string(&path).unwrap();
    let mut case = Case { path, files: Vec::new(), results: Vec::new() };
    for section in text.split("=== ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        let section = (name.to_owned(), text.to_owned());
        if RESULTS.contains(&name) {
            case.results.push(section);
        } else {
            case.files.push(section);
        }
    }
    case
}

impl Case {
    fn name(&self) -> String {
        self.path.file_stem().unwrap().to_string_lossy().into_owned()
    }

    /// Reads the program in a separate directory.
    fn read(&self, cfg: &Cfg) -> Reading {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in &self.files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let plan = self.files.iter().find(|(name, _)| name == "plan").map(|(_, plan)| plan.trim());
        let mut reading = script::read(directory.path(), "case", cfg, plan);
        let here = directory.path().display().to_string();
        for fault in reading.result.as_mut().err().into_iter().flat_map(|faults| &mut faults.0) {
            fault.message = fault.message.replace(&here, "<here>");
        }
        reading
    }

    fn results_now(&self, reading: &Reading) -> Vec<(String, String)> {
        let kept: Vec<&str> = self.results.iter().map(|(name, _)| name.as_str()).collect();
        let mut now = vec![("result".to_owned(), result(reading))];
        if let Ok((graph, plan)) = &reading.result {
            if kept.contains(&"graph.json") {
                now.push(("graph.json".to_owned(), graph.to_json()));
            }
            if kept.contains(&"cora_app.rs") {
                now.push((
                    "cora_app.rs".to_owned(),
                    without_hash(&emit::run(graph, plan, true), plan),
                ));
            }
        }
        now
    }
}

/// The hash changes with Cora's version, but the expected results should not.
fn without_hash(text: &str, plan: &cora_plan::Plan) -> String {
    text.replace(&plan.hash, "0123456789abcdef")
}

fn result(reading: &Reading) -> String {
    let mut out = String::new();
    for warning in &reading.warnings {
        writeln!(out, "warning: {warning}").unwrap();
    }
    match &reading.result {
        _ if reading.source.unreadable.is_some() => out.push_str("left to the compiler\n"),
        Err(faults) => write!(out, "{faults}").unwrap(),
        Ok((graph, plan)) => {
            let names: Vec<&str> = graph.chain.iter().map(|node| node.name.as_str()).collect();
            writeln!(out, "chain: {}", names.join(", ")).unwrap();
            for edge in &graph.edges {
                writeln!(out, "{} -> {}: {}", edge.handler, edge.state, edge.label()).unwrap();
            }
            for (state, place) in &plan.placement.places {
                writeln!(out, "{state} at {place}: {}", plan.placement.reasons[state]).unwrap();
            }
            writeln!(
                out,
                "group {}, ordered {}",
                plan.placement.group, plan.placement.host_ordered
            )
            .unwrap();
            for (state, why) in &plan.placement.one_shard {
                writeln!(out, "one pair for {state}: {why}").unwrap();
            }
        }
    }
    out
}

/// Sections in the format of a case's file.
fn written(sections: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, section) in sections {
        write!(text, "=== {name}\n{section}").unwrap();
    }
    text
}

/// The build script's environment, for the host and for the NIC.
fn environment(os: &str, features: &[&str]) -> Cfg {
    let features = features.iter().map(|f| (format!("CARGO_FEATURE_{f}"), "1".to_owned()));
    let unix = (os == "linux").then(|| ("CARGO_CFG_UNIX".to_owned(), String::new()));
    let os = [("CARGO_CFG_TARGET_OS".to_owned(), os.to_owned())];
    Cfg::from_environment(features.chain(os).chain(unix))
}

fn host() -> Cfg {
    environment("linux", &["EXTRA"])
}

#[test]
fn programs_give_what_they_should() {
    let mut wrong = Vec::new();
    for case in cases() {
        let now = case.results_now(&case.read(&host()));
        if now == case.results {
            continue;
        }
        if std::env::var_os("CORA_BLESS").is_some() {
            std::fs::write(&case.path, written(&case.files) + &written(&now)).unwrap();
        } else {
            wrong.push(format!("{}\n{}", case.name(), written(&now)));
        }
    }
    assert!(wrong.is_empty(), "other results than those stored:\n{}", wrong.join("\n"));
}

#[test]
fn every_code_of_a_program_has_its_case() {
    // Reported by the nested build; its own tests check them.
    const NESTED: [&str; 2] = ["CORA0123", "CORA0124"];
    // Reported by the compiler, which knows sizes: a case of `tests/ui`.
    const COMPILED: [&str; 4] = ["CORA0131", "CORA0135", "CORA0140", "CORA0146"];
    let told: String = cases().iter().map(|case| result(&case.read(&host()))).collect();
    let untold: BTreeSet<String> = diag::entries()
        .map(|entry| entry.code.to_string())
        .filter(|code| code.as_str() >= "CORA0100" && !NESTED.contains(&code.as_str()))
        .filter(|code| !COMPILED.contains(&code.as_str()))
        .filter(|code| !told.contains(code.as_str()))
        .collect();
    assert!(untold.is_empty(), "no case tells {untold:?}");
}

#[test]
fn the_same_program_gives_the_same_bytes() {
    for case in cases() {
        let (once, again) = (case.read(&host()), case.read(&host()));
        assert_eq!(result(&once), result(&again), "{}", case.name());
        if let (Ok((graph, plan)), Ok((graph2, plan2))) = (&once.result, &again.result) {
            assert_eq!(graph.to_json(), graph2.to_json(), "{}", case.name());
            assert_eq!(plan.to_json(), plan2.to_json(), "{}", case.name());
            assert_eq!(emit::run(graph, plan, false), emit::run(graph2, plan2, false));
        }
    }
}

#[test]
fn both_halves_agree_on_graph_and_hash() {
    let nic = environment("none", &["EXTRA", "NIC"]);
    let mut compared = 0;
    for case in cases() {
        if let (Ok(here), Ok(there)) = (&case.read(&host()).result, &case.read(&nic).result) {
            assert_eq!(here, there, "{}", case.name());
            compared += 1;
        }
    }
    assert!(compared >= 5, "only {compared} programs compared");
}

#[test]
fn the_hash_follows_source_plan_and_features() {
    let case = case(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/ok_chain.txt"));
    let hash = |case: &Case, cfg: &Cfg| case.read(cfg).result.unwrap().1.hash;
    let first = hash(&case, &host());
    assert_ne!(hash(&case, &environment("linux", &[])), first, "another feature");
    let changed = |file: &str, from: &str, to: &str| {
        let mut changed = self::case(case.path.clone());
        let (_, text) = changed.files.iter_mut().find(|(name, _)| name == file).unwrap();
        assert!(text.contains(from));
        *text = text.replace(from, to);
        hash(&changed, &host())
    };
    assert_ne!(changed("src/nat.rs", "// one port", "// a port"), first, "another source");
    assert_ne!(changed("cora.toml", "nic-share = 0.5", "nic-share = 0.4"), first, "another plan");
}

#[test]
fn a_package_is_read_without_a_build() {
    let case = case(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/ok_chain.txt"));
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("src")).unwrap();
    for (name, text) in &case.files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let told = script::graph_of(directory.path(), None).unwrap_err();
    assert!(told.contains("Cargo.toml"), "{told}");
    std::fs::write(directory.path().join("Cargo.toml"), "[package]\nname = \"gateway\"\n").unwrap();
    let (graph, plan) = script::graph_of(directory.path(), None).unwrap();
    assert_eq!(
        (graph.app.as_str(), plan.placement.nic_share),
        ("gateway", 512),
        "cora.toml is read"
    );
    let (_, plan) = script::graph_of(directory.path(), Some("host-only")).unwrap();
    assert_eq!(plan.name, "host-only");
    std::fs::write(directory.path().join("src/main.rs"), "fn main( {").unwrap();
    let told = script::graph_of(directory.path(), None).unwrap_err();
    assert!(told.contains("src/main.rs:1:"), "{told}");
}
