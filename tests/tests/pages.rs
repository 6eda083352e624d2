//! `--pages`: each choice runs and reports itself, or ends with a sentence that advises a command.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use cora_tests::process::{Ended, run};
use cora_tests::workshop::{program, room};
use cora_tests::{captures, tell};
use cora_traffic::Profile;

const LIMIT: Duration = Duration::from_mins(1);
const PACKETS: u64 = 3_000;

static CAPTURE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = room("pages").join("mix.pcap");
    captures::generate(Profile::Mix, 9, PACKETS, 300, &path);
    path
});

/// Runs `nat run` on these pages.
fn on(pages: &str, words: &[&str]) -> Ended {
    let mut command = Command::new(program("nat"));
    command.args(["run", "--pages", pages, "--in"]).arg(&*CAPTURE).args(words);
    run(&mut command, LIMIT)
}

/// Returns the number of huge pages that would do, if the choice fails as it should without them.
fn lacks(ended: &Ended) -> Option<usize> {
    let wanted = ended.stderr.split_once("sysctl vm.nr_hugepages=")?.1;
    let number = wanted.split('`').next()?.parse().ok()?;
    let says = ["--pages hugetlb: ", " huge pages of ", " are free", "run with `--pages thp`"];
    let says_all = says.iter().all(|words| ended.stderr.contains(words));
    (ended.code == Some(1) && ended.stdout.is_empty() && says_all).then_some(number)
}

#[test]
fn small_and_transparent_pages_give_the_same_results() {
    for nic in ["off", "native"] {
        let reports = ["4k", "thp"].map(|pages| {
            let report = on(pages, &["--nic", nic, "--json"]).well(pages).json();
            // A kernel without transparent pages gives small ones, and the report says so.
            let in_force = report["pages"].as_str().unwrap().to_owned();
            assert!(in_force == pages || (pages, in_force.as_str()) == ("thp", "4k"), "{report}");
            let of_nic = if nic == "native" { &report["pages"] } else { &serde_json::Value::Null };
            assert_eq!(&report["nic_pages"], of_nic, "{report}");
            report
        });
        assert_eq!(reports[0]["outcomes"], reports[1]["outcomes"], "{nic}");
        assert_eq!(reports[0]["entries"], reports[1]["entries"], "{nic}");
    }
}

#[test]
fn the_table_says_it_in_one_line() {
    let told = on("4k", &["--nic", "off"]).well("4k").stdout;
    assert_eq!(told.lines().nth(1), Some("states of the host on small pages (4k)"), "{told}");
    let told = on("4k", &["--nic", "native"]).well("4k").stdout;
    let both = "states of the host on small pages (4k), of the NIC on small pages (4k)";
    assert_eq!(told.lines().nth(1), Some(both), "{told}");
}

#[test]
fn huge_pages_serve_where_they_are_set_aside() {
    let ended = on("hugetlb", &["--nic", "off", "--json"]);
    if let Some(number) = lacks(&ended) {
        // The states of the example take some MiB.
        assert!((2..1 << 20).contains(&number), "{}", ended.stderr);
        return tell(&format!("no huge pages are set aside here; {number} would do"));
    }
    if ended.stderr.contains("this kernel has no such pages") {
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        return tell("this kernel has no hugetlb");
    }
    let report = ended.well("hugetlb").json();
    assert_eq!(report["pages"], "hugetlb");
    let small = on("4k", &["--nic", "off", "--json"]).well("4k").json();
    assert_eq!(report["outcomes"], small["outcomes"]);
}

#[test]
fn bench_takes_the_choice_too() {
    for pages in ["4k", "thp", "hugetlb"] {
        let mut command = Command::new(program("nat"));
        command.args(["bench", "--pages", pages, "--in"]).arg(&*CAPTURE);
        let ended = run(&mut command, LIMIT);
        if pages == "hugetlb" && ended.code == Some(1) {
            assert!(ended.stderr.contains("--pages hugetlb: "), "{}", ended.stderr);
            continue;
        }
        let told = ended.well(pages).stdout;
        assert!(told.starts_with("ready, states on "), "{told}");
    }
}
