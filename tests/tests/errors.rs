//! Faults at run time: each ends the run in time, with an exit code and a sentence, and leaves
//! neither a process nor shared memory behind.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use cora_tests::process::{Ended, Running, marked, run, start_fed, wait_until};
use cora_tests::workshop::{self, cargo_cora, emulator, nic_half, program, programs, room, target};
use cora_tests::{captures, executable, tell};
use cora_traffic::Profile;

/// Upper bound on a run; a longer one hangs.
const LIMIT: Duration = Duration::from_secs(25);
/// Upper bound on the time until a process is gone.
const SOON: Duration = Duration::from_secs(5);

/// A correct capture of some 4 MB: more than the rings hold.
static GOOD: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = room("errors").join("good.pcap");
    captures::generate(Profile::Mix, 5, 12_000, 1_200, &path);
    path
});

/// A command with a mark, by which its descendants are found.
struct Marked {
    command: Command,
    mark: String,
}

impl Marked {
    fn new(program: impl AsRef<Path>) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let value = format!("{}-{number}", std::process::id());
        let mut command = Command::new(program.as_ref());
        command.env("CORA_TEST_MARK", &value).env_remove("CORA_QEMU");
        Self { command, mark: format!("CORA_TEST_MARK={value}\0") }
    }

    /// Returns `<program> run --nic <nic> --in <capture>`.
    fn run(name: &str, nic: &str, capture: impl AsRef<Path>) -> Self {
        let mut marked = Self::new(program(name));
        marked.command.args(["run", "--nic", nic, "--in"]).arg(capture.as_ref());
        marked
    }

    fn with(mut self, words: &[&str]) -> Self {
        self.command.args(words);
        self
    }

    fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.command.env(name, value.as_ref());
        self
    }

    /// Asserts that the run ends with this code, and prints all these words.
    fn fails(mut self, code: i32, words: &[&str]) {
        let before = shared_memory();
        let ended = run(&mut self.command, LIMIT);
        self.holds(&ended, code, words, &before);
    }

    fn holds(&self, ended: &Ended, code: i32, words: &[&str], before: &BTreeSet<String>) {
        let what = format!("{:?}\n{}{}", self.command, ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(code), "{what}");
        assert!(ended.stderr.contains("error: "), "no sentence: {what}");
        for word in words {
            assert!(ended.stderr.contains(word), "it doesn't say `{word}`: {what}");
        }
        assert!(!ended.stderr.contains("panicked"), "{what}");
        assert!(ended.stdout.is_empty(), "a result, although it failed: {what}");
        self.is_gone();
        let left: Vec<String> = shared_memory().difference(before).cloned().collect();
        assert!(left.is_empty(), "left in /dev/shm: {left:?}, {what}");
    }

    fn is_gone(&self) {
        let gone = wait_until(SOON, || marked(&self.mark).is_empty());
        assert!(gone, "processes are left: {:?}, {:?}", marked(&self.mark), self.command);
    }
}

/// Returns the names of our shared memory; other programs use other names.
fn shared_memory() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.contains("cora") || name.contains("nic")).collect()
}

/// Returns the kinds of NIC on this machine.
fn nics() -> Vec<&'static str> {
    match emulator() {
        Ok(_) => vec!["native", "emulated"],
        Err(skipped) => {
            tell(&skipped);
            vec!["native"]
        }
    }
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = GOOD.with_file_name(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn captures_that_are_none() {
    let good = std::fs::read(&*GOOD).unwrap();
    let noise: Vec<u8> =
        (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut raw_ip = good[..200].to_vec();
    raw_ip[20] = 101;
    let cases: [(&str, &[u8], &str); 5] = [
        ("cut-in-header.pcap", &good[..10], "byte"),
        ("noise.pcap", &noise, "neither pcap nor pcapng"),
        ("raw-ip.pcap", &raw_ip, "link type"),
        ("empty.pcap", b"", "empty"),
        ("two-bytes.pcap", &good[..2], "byte"),
    ];
    for (name, bytes, word) in cases {
        let path = file(name, bytes);
        for nic in ["off", "native"] {
            Marked::run("nat", nic, &path).fails(1, &[name, word]);
        }
    }
    Marked::run("nat", "native", "/nowhere/a.pcap").fails(1, &["/nowhere/a.pcap", "No such file"]);
    Marked::run("nat", "native", "/").fails(1, &["/: "]);
}

#[test]
fn a_capture_of_no_packets_is_fine() {
    let path = file("nothing.pcap", &std::fs::read(&*GOOD).unwrap()[..24]);
    for nic in nics().into_iter().chain(["off"]) {
        let mut marked = Marked::run("nat", nic, &path).with(&["--json"]);
        let report = run(&mut marked.command, LIMIT).well(nic).json();
        assert_eq!(report["packets_in"], 0, "{report:#}");
        marked.is_gone();
    }
}

#[test]
fn plans_and_packages_that_do_not_exist() {
    let capture = GOOD.display().to_string();
    let cora = |words: &[&str]| {
        let mut marked = Marked::new(cargo_cora());
        marked.command.current_dir(workshop::root()).env("CARGO_TARGET_DIR", target());
        marked.with(&["cora", "run"]).with(words).with(&["--nic", "off", "--in", &capture])
    };
    cora(&["nat", "--plan", "nonsense"]).fails(2, &["there is no plan `nonsense`", "`split`"]);
    cora(&["nat", "--plan", "splti"])
        .fails(2, &["there is no plan `splti`", "did you mean `split`?"]);
    cora(&["nta"]).fails(2, &["`nta`", "did you mean `nat`?"]);
    let mut build = workshop::cargo();
    // Another program is built under several plans anyway.
    build.args(["build", "--package", "ledger"]).env("CORA_PLAN", "nonsense");
    let ended = workshop::build(&mut build);
    assert_eq!(ended.code, Some(101), "{}", ended.stderr);
    let first = ended.stderr.lines().find(|line| line.starts_with("error"));
    let told = first.is_some_and(|line| line.contains("CORA0122") && line.contains("nonsense"));
    assert!(told, "{}", ended.stderr);
}

#[test]
fn an_emulator_that_is_none() {
    let emulated = || Marked::run("nat", "emulated", &*GOOD);
    emulated()
        .env("CORA_QEMU", "/bin/false")
        .fails(1, &["the NIC process ended early", "exit status 1"]);
    emulated()
        .env("CORA_QEMU", "/nowhere/qemu")
        .fails(1, &["can't start the NIC process (/nowhere/qemu)"]);
    emulated()
        .env("PATH", "/nowhere")
        .fails(1, &["no qemu-aarch64 in PATH", "apt-get install qemu-user"]);
    let mute = script("mute", "exec sleep 600");
    emulated()
        .env("CORA_QEMU", &mute)
        .with(&["--patience", "1"])
        .fails(1, &["the NIC process has not moved for 1 s"]);
}

/// Makes a script that replaces the emulator.
fn script(name: &str, text: &str) -> PathBuf {
    let path = GOOD.with_file_name(name);
    executable::script(&path, text);
    path
}

#[test]
fn the_other_half_of_another_program() {
    let Ok(qemu) = emulator() else { return };
    let other = nic_half(program("heavy-hitter")).display().to_string();
    // Its arguments: -cpu cortex-a72 <image> <descriptor> <bytes>.
    let swapped = script(
        "swapped",
        &format!("exec {} -cpu cortex-a72 {other} \"$4\" \"$5\"", qemu.display()),
    );
    Marked::run("nat", "emulated", &*GOOD).env("CORA_QEMU", &swapped).fails(
        1,
        &[
            "the shared region carries plan",
            "this program was built for plan",
            "the NIC process ended early",
        ],
    );
}

#[test]
fn a_program_without_its_nic_half() {
    let built = programs(&["--package", "firewall"], None, "without-nic");
    let mut marked = Marked::new(&built["firewall"]);
    marked.command.args(["run", "--nic", "emulated", "--in"]).arg(&*GOOD);
    marked.fails(1, &["without its NIC half", "--features nic"]);
}

/// A run that has read half of a capture and waits for the rest.
struct Halfway {
    marked: Marked,
    running: Running,
    /// The NIC's process.
    nic: u32,
    rest: Sender<()>,
    before: BTreeSet<String>,
}

impl Halfway {
    /// Starts a program without copies, which can't go on without its NIC.
    fn of(nic: &str, words: &[&str]) -> Self {
        let before = shared_memory();
        let mut marked = Marked::run("firewall", nic, "/dev/stdin").with(words);
        let bytes = std::fs::read(&*GOOD).unwrap();
        let (rest, wait) = channel();
        let running = start_fed(&mut marked.command, move |mut to| {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            // The test is about the end of the run, so a broken pipe is no surprise.
            let _written = to.write_all(first);
            if wait.recv().is_ok() {
                let _written = to.write_all(second);
            }
        });
        let mut nic = None;
        let there = wait_until(SOON, || {
            nic = cora_tests::process::marked(&marked.mark)
                .into_iter()
                .find(|id| *id != running.id());
            nic.is_some()
        });
        assert!(there, "no NIC process");
        // The kill comes in the middle of the work.
        std::thread::sleep(Duration::from_millis(300));
        Self { marked, running, nic: nic.unwrap(), rest, before }
    }

    fn fails(self, words: &[&str]) {
        let Self { marked, running, rest, before, .. } = self;
        rest.send(()).unwrap();
        let ended = running.end(LIMIT);
        marked.holds(&ended, 1, words, &before);
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {process}")).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {process}");
}

#[test]
fn a_nic_that_dies_on_the_way() {
    for nic in nics() {
        let halfway = Halfway::of(nic, &[]);
        signal("KILL", halfway.nic);
        halfway.fails(&["the NIC process ended early (signal: 9", "packets were on their way"]);
    }
}

#[test]
fn a_nic_that_stands_still() {
    for nic in nics() {
        let halfway = Halfway::of(nic, &["--patience", "1"]);
        signal("STOP", halfway.nic);
        halfway.fails(&["the NIC process has not moved for 1 s"]);
    }
}

#[test]
fn a_host_that_dies_takes_its_nic_along() {
    for nic in nics() {
        let Halfway { marked, running, rest, .. } = Halfway::of(nic, &[]);
        signal("KILL", running.id());
        let ended = running.end(LIMIT);
        assert_eq!(ended.code, None);
        marked.is_gone();
        drop(rest);
    }
}

#[test]
fn files_that_can_not_be_written() {
    let nat = |nic| Marked::run("nat", nic, &*GOOD);
    for nic in nics().into_iter().chain(["off"]) {
        nat(nic).with(&["--out", "/nowhere/b.pcap"]).fails(1, &["/nowhere/b.pcap: No such file"]);
        nat(nic).with(&["--out", "/dev/full"]).fails(1, &["/dev/full: No space left"]);
        nat(nic)
            .with(&["--state-out", "/nowhere/s.json"])
            .fails(1, &["/nowhere/s.json: No such file"]);
        // The report of the run appears nonetheless.
        let mut marked = nat(nic).with(&["--state-out", "/dev/full", "--json"]);
        let ended = run(&mut marked.command, LIMIT);
        let said = ended.stderr.contains("error: /dev/full: No space left");
        assert!(ended.code == Some(1) && said, "{ended:?}");
        assert!(ended.json()["packets_in"].as_u64() > Some(1_000), "{ended:?}");
        marked.is_gone();
    }
    let mut marked = nat("off").with(&["--json"]);
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = marked.command.stdout(Stdio::from(full)).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.contains("No space left")), (Some(1), true), "{said}");
}

#[test]
fn what_leaves_does_not_overwrite_what_comes_in() {
    let path = file("both.pcap", &std::fs::read(&*GOOD).unwrap());
    let name = path.display().to_string();
    Marked::run("nat", "off", &path)
        .with(&["--out", &name])
        .fails(1, &["both.pcap", "--in and --out"]);
    assert_eq!(
        std::fs::read(&path).unwrap(),
        std::fs::read(&*GOOD).unwrap(),
        "the capture is gone"
    );
}

#[test]
fn configurations_that_are_refused() {
    let text = file("backends.txt", b"backend 10.0.0.1\n").display().to_string();
    let odd = file("odd.txt", b"service 10.0.0.1\nbackend up\n").display().to_string();
    let balancer =
        |setting: &str| Marked::run("balancer", "native", &*GOOD).with(&["--config", setting]);
    balancer(&format!("Backends={text}")).fails(1, &["backends.txt: no `service ADDRESS`"]);
    balancer(&format!("Backends={odd}")).fails(1, &["odd.txt: not an IP address"]);
    balancer("Backends=/nowhere").fails(1, &["/nowhere: No such file"]);
    balancer(&format!("Backend={text}"))
        .fails(1, &["--config Backend: the program has no read-mostly state", "it has `Backends`"]);
    balancer(&format!("Pin={text}"))
        .fails(1, &["--config Pin: the program has no read-mostly state"]);
    balancer("Backends").fails(2, &["State=file"]);
}

#[test]
fn command_lines_that_make_no_sense() {
    Marked::run("nat", "native", &*GOOD)
        .with(&["--inside", "10.0.0.0"])
        .fails(2, &["write it like 10.0.0.0/8"]);
    Marked::run("nat", "bogus", &*GOOD).fails(2, &["bogus", "emulated"]);
    Marked::new(program("nat")).with(&["run"]).fails(2, &["--in FILE"]);
    Marked::new(program("nat")).with(&["fly"]).fails(2, &["fly"]);
    for bare in [program("nat"), cargo_cora()] {
        let ended = run(&mut Command::new(bare), LIMIT);
        assert_eq!((ended.code, ended.stderr.contains("Usage:")), (Some(2), true), "{ended:?}");
    }
    // Not for users, but harmless.
    Marked::new(program("nat")).with(&["__nic", "0", "4096"]).dies_by_itself();
}

impl Marked {
    /// Asserts that the run ends by itself with an error, in time.
    fn dies_by_itself(mut self) {
        let ended = run(&mut self.command, LIMIT);
        assert!(ended.code.is_some_and(|code| code != 0) && !ended.stderr.is_empty(), "{ended:?}");
        self.is_gone();
    }
}
