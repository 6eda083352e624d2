//! The oracle: what comes out of a program does not depend on the plan.
//!
//! For each example and each capture, the host-only plan without a NIC gives the result; every other
//! plan, with the NIC off, as a process of this machine and as the emulated aarch64 program, has to give the same:
//! the same outcomes, the same packets of each flow in the same order, and byte for byte the same
//! final state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cora_tests::captures::{self, Capture};
use cora_tests::process::{run, start, start_fed};
use cora_tests::{tell, workshop};
use cora_traffic::is_inside;
use serde_json::Value;

/// A run takes half a second; a hang is none.
const LIMIT: Duration = Duration::from_mins(2);

const HALF: &str = "half";

#[test]
fn firewall() {
    Oracle::of("firewall", &["nic-only", "split", HALF]).ask();
}

#[test]
fn nat() {
    Oracle::of("nat", &["nic-only", "split", HALF]).ask();
}

#[test]
fn heavy_hitter() {
    Oracle::of("heavy-hitter", &["nic-only", "split"]).ask();
}

#[test]
fn balancer() {
    Oracle::of("balancer", &["nic-only", "split"]).ask();
}

/// No example, but a program that leaves much to take back.
#[test]
fn ledger() {
    Oracle::of("ledger", &["nic-only", "split", HALF]).ask();
}

/// The examples under each plan: name of the plan, name of the example, program.
type Programs = BTreeMap<&'static str, BTreeMap<String, PathBuf>>;

fn programs() -> &'static Programs {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    BUILT.get_or_init(|| {
        let plans = ["host-only", "nic-only", "split"].map(|plan| (plan, workshop::examples(plan)));
        let words = ["--release", "--features", "nic", "--package", "firewall", "--package", "nat"];
        let half = workshop::root().join("tests/plans/half.toml");
        let halved = workshop::programs(&words, Some(&half), HALF);
        let mut programs: Programs = plans.into_iter().chain([(HALF, halved)]).collect();
        for (plan, program) in ledgers(&half) {
            programs.entry(plan).or_default().insert("ledger".to_owned(), program);
        }
        programs
    })
}

fn ledgers(half: &Path) -> [(&'static str, PathBuf); 4] {
    let source = workshop::root().join("tests/programs/ledger.rs");
    let source = std::fs::read_to_string(&source)
        .unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let package = workshop::package("ledger", &source);
    let plans = ["host-only", "nic-only", "split", HALF];
    plans.map(|plan| {
        let stated = if plan == HALF { half } else { Path::new(plan) };
        (plan, workshop::halves(&package, stated, plan))
    })
}

/// The captures that all examples see, and where the real ones come from.
fn all_captures() -> &'static [Capture] {
    static MADE: OnceLock<Vec<Capture>> = OnceLock::new();
    MADE.get_or_init(|| {
        let room = workshop::room("captures");
        let (real, said) = captures::real(&room.join("real"));
        tell(&format!("the oracle's captures: generated ones, and {said}"));
        captures::generated(&room).into_iter().chain(real).collect()
    })
}

fn comparer() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| workshop::cora().get_program().into())
}

/// How a capture comes in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feed {
    /// As fast as it can be read: most packets of a flow are there before it could move.
    Whole,
    /// With pauses, in which flows move.
    Paced,
}

impl Feed {
    const BOTH: [Self; 2] = [Self::Whole, Self::Paced];
}

/// What one run left: its report, what it put out, and the final state.
struct Result {
    report: Value,
    output: PathBuf,
    state: Vec<u8>,
}

impl Result {
    fn number(&self, pointer: &str) -> u64 {
        let number = self.report.pointer(pointer).and_then(Value::as_u64);
        number.unwrap_or_else(|| panic!("no number {pointer} in {:#}", self.report))
    }
}

/// A capture as the example is to see it, and what else it is told.
struct Input {
    name: String,
    capture: PathBuf,
    config: Option<PathBuf>,
    /// What a balancer spreads.
    service: Option<Ipv4Addr>,
    expected: Result,
    /// The expected output, as [`Oracle::comparable`] makes it.
    comparable: PathBuf,
}

struct Oracle {
    example: &'static str,
    plans: Vec<&'static str>,
    room: PathBuf,
}

impl Oracle {
    fn of(example: &'static str, others: &[&'static str]) -> Self {
        let plans = ["host-only"].into_iter().chain(others.iter().copied()).collect();
        Self { example, plans, room: workshop::room(&format!("oracle/{example}")) }
    }

    /// Every plan, every kind of NIC, every capture.
    fn ask(&self) {
        let inputs: Vec<Input> =
            all_captures().iter().map(|capture| self.prepare(capture)).collect();
        let mut nics = vec!["off", "native"];
        match workshop::emulator() {
            Ok(_) => nics.push("emulated"),
            Err(skipped) => tell(&skipped),
        }
        let mut table = Table::default();
        for plan in &self.plans {
            let splits = !["host-only", "nic-only"].contains(plan);
            for nic in &nics {
                let feeds: &[Feed] =
                    if splits && *nic != "off" { &Feed::BOTH } else { &[Feed::Whole] };
                for feed in feeds {
                    let row = self.ask_about(plan, nic, *feed, &inputs);
                    table.add(self.example, plan, nic, *feed, &row);
                }
            }
        }
        tell(&table.text);
    }

    fn ask_about(&self, plan: &str, nic: &str, feed: Feed, inputs: &[Input]) -> Row {
        let mut row = Row::default();
        for input in inputs {
            let result = self.run(plan, nic, feed, input);
            self.compare(plan, nic, input, &result);
            row.add(&result);
        }
        self.is_not_vacuous(plan, nic, &row);
        row
    }

    /// Makes the example's own version of a capture, and what it gives on the host alone.
    fn prepare(&self, capture: &Capture) -> Input {
        let (name, path) = (capture.name.clone(), capture.path.clone());
        let service = (self.example == "balancer").then(|| captures::service(&path));
        let (path, config) = match service {
            Some(service) => self.for_balancer(&name, &path, service),
            None if self.example == "nat" => (self.for_nat(&name, &path), None),
            None => (path, None),
        };
        let expected = self.baseline(&name, &path, config.as_deref());
        let comparable = Self::comparable(&expected.output, service);
        let input = Input { name, capture: path, config, service, expected, comparable };
        self.replies_are_translated(&input);
        input
    }

    /// Replies go to the ports that the NAT chose.
    fn for_nat(&self, name: &str, original: &Path) -> PathBuf {
        let mut input = original.to_owned();
        for round in 0..2 {
            let learnt = self.baseline(&format!("{name}-learnt"), &input, None).output;
            input = self.room.join(format!("{name}-{round}.pcap"));
            captures::readdress(original, &learnt, &input);
        }
        input
    }

    /// Replies come from the backends that the balancer chose.
    fn for_balancer(
        &self,
        name: &str,
        original: &Path,
        service: Ipv4Addr,
    ) -> (PathBuf, Option<PathBuf>) {
        let config = self.room.join(format!("{name}-backends.txt"));
        write(&config, &captures::backends(service));
        let learnt = self.baseline(&format!("{name}-learnt"), original, Some(&config)).output;
        let input = self.room.join(format!("{name}-replies.pcap"));
        captures::reply_from_backends(original, &learnt, service, &input);
        (input, Some(config))
    }

    /// What left, with both directions of a connection in one flow again.
    fn comparable(output: &Path, service: Option<Ipv4Addr>) -> PathBuf {
        let Some(service) = service else { return output.to_owned() };
        let comparable = output.with_extension("comparable.pcap");
        captures::before_balancing(output, service, &comparable);
        comparable
    }

    /// In the baseline, so that what is compared with it is worth comparing.
    fn replies_are_translated(&self, input: &Input) {
        let to_public = |packet: &cora::prelude::Packet<'_>| {
            packet.destination() == Ok(cora::prelude::Address::v4([192, 0, 2, 1]))
        };
        let from_backend = |packet: &cora::prelude::Packet<'_>| {
            packet.five_tuple().is_ok_and(|flow| captures::is_backend(flow.source))
        };
        let before =
            |so: &dyn Fn(&cora::prelude::Packet<'_>) -> bool| captures::count(&input.capture, so);
        let after = |so: &dyn Fn(&cora::prelude::Packet<'_>) -> bool| {
            captures::count(&input.expected.output, so)
        };
        let (replies, untranslated) = match self.example {
            "nat" => (before(&to_public), after(&to_public)),
            "balancer" => (before(&from_backend), after(&from_backend)),
            _ => return,
        };
        let of = format!("{}, {}", self.example, input.name);
        assert!(replies > 0, "{of}: there are no replies");
        assert!(
            untranslated * 10 <= replies,
            "{of}: {untranslated} of {replies} replies left as they came"
        );
        if self.example == "nat" {
            let answers = after(&|packet| {
                packet.is_ipv4() && packet.destination().is_ok_and(|to| is_inside(ip(to)))
            });
            assert!(answers * 2 > replies, "{of}: {answers} of {replies} replies went inside");
        }
    }

    fn baseline(&self, name: &str, capture: &Path, config: Option<&Path>) -> Result {
        let output = self.room.join(format!("{name}-expected.pcap"));
        self.start(("host-only", "off", Feed::Whole), capture, config, output)
    }

    fn run(&self, plan: &str, nic: &str, feed: Feed, input: &Input) -> Result {
        let output = self.room.join("out.pcap");
        self.start((plan, nic, feed), &input.capture, input.config.as_deref(), output)
    }

    fn start(
        &self,
        (plan, nic, feed): (&str, &str, Feed),
        capture: &Path,
        config: Option<&Path>,
        output: PathBuf,
    ) -> Result {
        let state = output.with_extension("json");
        let mut command = Command::new(&programs()[plan][self.example]);
        let from = if feed == Feed::Whole { capture } else { Path::new("/dev/stdin") };
        command.args(["run", "--json", "--nic", nic, "--in"]).arg(from);
        command.arg("--out").arg(&output).arg("--state-out").arg(&state);
        if let Some(config) = config {
            command.arg("--config").arg(format!("Backends={}", config.display()));
        }
        let what = format!("{}, plan {plan}: {command:?}", self.example);
        let running = match feed {
            Feed::Whole => start(&mut command),
            Feed::Paced => start_fed(&mut command, captures::paced(capture)),
        };
        let report = running.end(LIMIT).well(&what).json();
        let state = std::fs::read(&state).unwrap_or_else(|error| panic!("{what}: {error}"));
        Result { report, output, state }
    }

    fn compare(&self, plan: &str, nic: &str, input: &Input, result: &Result) {
        let of = format!("{}, plan {plan}, NIC {nic}, capture {}", self.example, input.name);
        let outcomes = |result: &Result| result.report["outcomes"].clone();
        assert_eq!(outcomes(result), outcomes(&input.expected), "{of}: other outcomes");
        accounted_for(&of, result);
        let mut compare = Command::new(comparer());
        let comparable = Self::comparable(&result.output, input.service);
        compare.args(["cora", "compare"]).arg(&input.comparable).arg(&comparable);
        let compared = run(&mut compare, LIMIT);
        assert_eq!(compared.code, Some(0), "{of}: {}{}", compared.stdout, compared.stderr);
        if result.state != input.expected.state {
            let kept = self.room.join("other-state.json");
            write(&kept, &String::from_utf8_lossy(&result.state));
            let expected = input.expected.output.with_extension("json");
            panic!("{of}: other final state: diff {} {}", expected.display(), kept.display());
        }
    }

    /// That a plan is followed at all.
    fn is_not_vacuous(&self, plan: &str, nic: &str, row: &Row) {
        let of = format!("{}, plan {plan}, NIC {nic}", self.example);
        match (plan, nic) {
            (_, "off") => assert_eq!(row.nic, 0, "{of}: the NIC is off"),
            ("host-only", _) => assert_eq!(row.nic, 0, "{of}: the NIC handled packets"),
            ("nic-only", _) => assert_eq!(row.host, 0, "{of}: the host handled packets"),
            _ => {
                assert!(row.nic > 0, "{of}: the NIC handled nothing");
                assert!(row.host > 0, "{of}: the host handled nothing");
                assert!(row.migrations > 0, "{of}: nothing migrated");
                assert!(
                    row.punts > 0 || !["nat", "ledger"].contains(&self.example),
                    "{of}: nothing was punted"
                );
            }
        }
    }
}

fn accounted_for(of: &str, result: &Result) {
    let outcomes = result.report["outcomes"].as_object();
    let sum: u64 = outcomes.into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum();
    assert_eq!(sum, result.number("/packets_in"), "{of}: not every packet has an outcome");
    let handled = result.number("/sides/nic/packets") + result.number("/sides/host/packets");
    assert_eq!(handled, sum, "{of}: not every packet was handled on one side");
}

fn ip(address: cora::prelude::Address) -> std::net::IpAddr {
    std::net::Ipv6Addr::from(address.octets()).to_canonical()
}

fn write(path: &Path, text: &str) {
    if let Err(error) = std::fs::write(path, text) {
        panic!("{}: {error}", path.display());
    }
}

/// Sums over the captures.
#[derive(Default)]
struct Row {
    captures: u64,
    packets: u64,
    nic: u64,
    host: u64,
    punts: u64,
    migrations: u64,
}

impl Row {
    fn add(&mut self, result: &Result) {
        self.captures += 1;
        self.packets += result.number("/packets_in");
        self.nic += result.number("/sides/nic/packets");
        self.host += result.number("/sides/host/packets");
        self.punts += result.number("/sides/nic/punts");
        self.migrations += result.number("/migrations");
    }
}

/// What ran.
struct Table {
    text: String,
}

impl Default for Table {
    fn default() -> Self {
        let text = format!(
            "\n{:<13}{:<11}{:<10}{:<7}{:>7}{:>10}{:>10}{:>10}{:>8}{:>12}",
            "example",
            "plan",
            "NIC",
            "fed",
            "files",
            "packets",
            "on NIC",
            "on host",
            "punts",
            "migrations"
        );
        Self { text }
    }
}

impl Table {
    fn add(&mut self, example: &str, plan: &str, nic: &str, feed: Feed, row: &Row) {
        let feed = if feed == Feed::Paced { "paced" } else { "whole" };
        let Row { captures, packets, nic: on_nic, host, punts, migrations } = row;
        let _written = write!(
            self.text,
            "\n{example:<13}{plan:<11}{nic:<10}{feed:<7}{captures:>7}{packets:>10}{on_nic:>10}{host:>10}{punts:>8}{migrations:>12}"
        );
    }
}
