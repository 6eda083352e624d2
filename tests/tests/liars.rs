//! A compromised NIC half: it writes records that no sound half writes, hangs, dies, or reaches for
//! foreign resources. It is ended and replaced alone, and every packet has an outcome.

use std::fs::OpenOptions;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cora_tests::draw::Draw;
use cora_tests::process::{child, children, start_fed, wait_until};
use cora_tests::workshop::{program, room};
use cora_tests::{executable, tell};
use rustix::process::Signal;

#[path = "liars/liar.rs"]
mod liar;
#[path = "liars/live.rs"]
mod live;

use liar::{Liar, Lie, PUNT, WIRE_IN, WIRE_OUT};
use live::{Live, SOON, resident, signal, words_of};

/// The number of a message that there is not.
const NO_KIND: u16 = 999;

/// The name of a deed of a NIC half, the deed, and the message of the run about it.
type Deed = (&'static str, fn(&Liar) -> bool, &'static str);

/// Does these deeds one after the other, each in the place of a fresh NIC half. Each time the NIC
/// half alone is replaced.
fn each_ends_the_nic_alone(name: &str, deeds: &[Deed]) {
    let live = Live::start(name, program("keeper"), &[]);
    let host = live.half("host");
    let mut nic = live.half("nic");
    for (what, does, _) in deeds {
        // The NIC half is stopped meanwhile.
        signal(nic, Signal::STOP);
        sleep(Duration::from_millis(20));
        let (liar, begun) = (Liar::of(nic), Instant::now());
        assert!(does(&liar), "{what}: there is no room");
        nic = live.next("nic", nic);
        // Long before the time limit for a half that stands still.
        assert!(begun.elapsed() < Duration::from_millis(1500), "{what}: {:?}", begun.elapsed());
        // A NIC that lives for a while does not count as one that keeps dying.
        sleep(Duration::from_millis(300));
    }
    assert_eq!(live.half("host"), host, "the host noticed, and did nothing wrong");
    let ended = live.end();
    assert_eq!(ended.count("/broke_protocol"), deeds.len() as u64, "{ended:#?}");
    assert_eq!(ended.count("/restarts/NIC"), deeds.len() as u64, "{ended:#?}");
    assert_eq!(ended.count("/restarts/host"), 0, "{ended:#?}");
    for (what, _, said) in deeds {
        assert!(ended.stderr.contains(said), "{what}: {}", ended.stderr);
    }
}

#[test]
fn a_record_that_makes_no_sense_ends_the_nic_alone() {
    each_ends_the_nic_alone(
        "records",
        &[
            (
                "no kind",
                |it| it.tells_host(NO_KIND, &[0; 8]),
                "a record of kind 999, which no message has",
            ),
            ("too short", |it| it.tells_host(3, &[1, 2, 3]), "a message `Punt` can't be decoded"),
            ("a ticket", |it| it.tells_host(6, &[9, 0, 0, 0]), "under ticket 9"),
            ("on the wire", |it| it.tells_wire(13, &[0; 64]), "at the wire: the NIC broke"),
        ],
    );
}

#[test]
fn an_index_that_can_not_be_ends_the_nic_alone() {
    each_ends_the_nic_alone(
        "indices",
        &[
            ("of what it sends", |it| it.moves_index(PUNT), "a ring from the NIC is broken"),
            ("of what leaves", |it| it.moves_index(WIRE_OUT), "at the wire: a ring from the NIC"),
            ("of what comes", |it| it.moves_index(WIRE_IN), "at the wire: a ring to the NIC"),
        ],
    );
}

/// The host dies before it reads the record: its successor reads it, and goes on.
#[test]
fn a_record_that_makes_no_sense_does_not_end_host_after_host() {
    let live = Live::start("catch-up", program("keeper"), &[]);
    let (host, nic) = (live.half("host"), live.half("nic"));
    signal(host, Signal::STOP);
    signal(nic, Signal::STOP);
    sleep(Duration::from_millis(20));
    Liar::of(nic).tells_host(NO_KIND, &[0; 8]);
    // A running NIC half would overwrite the record.
    signal(host, Signal::KILL);
    live.next("host", host);
    live.next("nic", nic);
    let ended = live.end();
    assert_eq!(ended.count("/restarts/host"), 1, "{ended:#?}");
    let said = "kind 999, which no message has: what follows on its ring is not read";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

/// A run on a capture also goes on with another NIC, if its states are durable.
#[test]
fn a_record_that_makes_no_sense_does_not_end_a_run_on_a_capture() {
    let capture = room("liars-capture").join("mix.pcap");
    cora_tests::captures::generate(cora_traffic::Profile::Mix, 7, 24_000, 300, &capture);
    let mut command = Command::new(program("keeper"));
    command.args(["run", "--json", "--in", "/dev/stdin"]);
    let running = start_fed(&mut command, cora_tests::captures::paced(&capture));
    let nic_now = || child(running.id(), "__nic");
    for _ in 0..2 {
        assert!(wait_until(SOON, || nic_now().is_some()), "no NIC lives");
        sleep(Duration::from_millis(200));
        let Some(nic) = nic_now() else { break };
        signal(nic, Signal::STOP);
        sleep(Duration::from_millis(20));
        assert!(Liar::of(nic).tells_host(NO_KIND, &[0; 8]));
        assert!(wait_until(SOON, || nic_now() != Some(nic)));
    }
    let report = running.end(3 * SOON).well("a capture").json();
    let outcomes = report["outcomes"].as_object().unwrap().values();
    let sum: u64 = outcomes.filter_map(serde_json::Value::as_u64).sum();
    assert_eq!((sum, report["restarts"]["NIC"].as_u64()), (24_000, Some(2)), "{report:#}");
}

/// No trusted process relies on the header: with any content, another NIC works.
#[test]
fn nonsense_in_the_header_ends_no_run() {
    let live = Live::start("header", program("keeper"), &[]);
    let host = live.half("host");
    let mut draw = Draw(7);
    let mut liar = Liar::of(live.half("nic"));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        liar.lies(if draw.below(2) > 0 { Lie::Header } else { Lie::Succession }, &mut draw);
    }
    live.wait_until_it_works();
    assert_eq!(live.half("host"), host);
    live.end();
}

#[test]
fn a_nic_has_nothing_that_is_not_its_own() {
    let live = Live::start("files", program("keeper"), &[]);
    let (nic, host) = (live.half("nic"), live.half("host"));
    let files = |process: u32| -> Vec<String> {
        let listed = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
        let mut files: Vec<String> = listed
            .filter(|file| {
                file.file_name().to_str().is_some_and(|name| !["0", "1", "2"].contains(&name))
            })
            .filter_map(|file| std::fs::read_link(file.path()).ok())
            .map(|file| file.display().to_string().replace(" (deleted)", ""))
            .collect();
        files.sort();
        files
    };
    let region = "/memfd:cora-region";
    assert_eq!(files(nic), [region]);
    // The regions, the replicas, the page, and the rings of an operator.
    let own = ["/memfd:cora-account", region, region, region, region, "/memfd:cora-version"];
    assert_eq!(files(host), own);
    // It can't truncate the shared region under the others.
    let number = &words_of(nic)[2];
    let path = format!("/proc/{nic}/fd/{number}");
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    for length in [0, 4096, 1 << 30] {
        let refused = file.set_len(length).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied, "{length}");
    }
    let status = std::fs::read_to_string(format!("/proc/{nic}/status")).unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.lines().any(|it| it == line), "{line}: {status}");
    }
    live.end();
}

#[test]
fn a_nic_that_takes_nothing_takes_no_memory_either() {
    let live = Live::start("takes-nothing", program("keeper"), &[]);
    let (nic, host) = (live.half("nic"), live.half("host"));
    signal(nic, Signal::STOP);
    let mut liar = Liar::of(nic);
    let (before, mut most, mut draw) = (resident(host), 0, Draw(1));
    let begun = Instant::now();
    while live.half("nic") == nic && begun.elapsed() < SOON {
        liar.floods(&mut draw);
        most = most.max(resident(host));
    }
    let after = live.next("nic", nic);
    assert_ne!(after, nic);
    // 16 MiB may wait; the entries of their flows also take memory.
    assert!(most < before + (96 << 10), "{before} KiB became {most} KiB");
    let ended = live.end();
    assert!(ended.stderr.contains("the NIC took nothing from the host"), "{}", ended.stderr);
    assert_eq!((ended.count("/broke_protocol"), ended.count("/restarts/host")), (1, 0));
}

/// The detection takes two seconds; the status shows it before, and a message names the half.
#[test]
fn a_half_that_stands_still_is_noticed_soon_and_named() {
    let live = Live::start("still", program("keeper"), &[]);
    for half in ["nic", "host"] {
        let before = live.half(half);
        let begun = Instant::now();
        signal(before, Signal::STOP);
        assert!(wait_until(SOON, || live.works() == Some(false)), "{half}");
        let known = begun.elapsed();
        live.next(half, before);
        let replaced = begun.elapsed();
        assert!(known < Duration::from_millis(1900), "{half}: {known:?}");
        assert!(replaced < Duration::from_millis(3500), "{half}: {replaced:?}");
    }
    let ended = live.end();
    for half in ["NIC", "host"] {
        let said = format!("the {half} process stood still for 2");
        assert!(ended.stderr.contains(&said), "{said}: {}", ended.stderr);
        assert_eq!(ended.count(&format!("/stood_still/{half}")), 1, "{ended:#?}");
    }
}

/// A NIC can't write the host's heartbeat.
#[test]
fn a_nic_does_not_hide_a_host_that_hangs() {
    let live = Live::start("hidden", program("keeper"), &[]);
    let host = live.half("host");
    let liar = Liar::of(live.half("nic"));
    let begun = Instant::now();
    signal(host, Signal::STOP);
    while live.half("host") == host && begun.elapsed() < SOON {
        liar.beats();
        sleep(Duration::from_millis(5));
    }
    assert!(begun.elapsed() < Duration::from_millis(3500), "{:?}", begun.elapsed());
    live.next("host", host);
    live.end();
}

#[test]
fn whatever_dies_every_packet_has_an_outcome() {
    let live = Live::start("outcomes", program("keeper"), &[]);
    for halves in [&["nic"][..], &["host"], &["nic", "host"], &["host"], &["nic"]] {
        let before: Vec<_> = halves.iter().map(|half| (half, live.half(half))).collect();
        for (_, process) in &before {
            signal(*process, Signal::KILL);
        }
        for (half, process) in before {
            live.next(half, process);
        }
        sleep(Duration::from_millis(100));
    }
    // `end` checks the sums.
    let ended = live.end();
    assert_eq!((ended.count("/restarts/NIC"), ended.count("/restarts/host")), (3, 3));
}

#[test]
fn copies_that_are_damaged_are_told() {
    let live = Live::start("damaged", program("keeper"), &[]);
    let host = live.half("host");
    // The replica memory is the second file descriptor on a host's command line.
    let (file, bytes) = (&words_of(host)[4], words_of(host)[5].parse().unwrap());
    let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{host}/fd/{file}"));
    let file = file.unwrap();
    let words = cora_host::inherited_memory(std::os::fd::AsRawFd::as_raw_fd(&file), bytes).unwrap();
    // Behind the layout of entries and the header of the copies.
    let words = &words[1024 + 8..];
    let copies = wait_until(SOON, || words[0].load(Ordering::Relaxed) != 0);
    assert!(copies, "no session has a copy");
    signal(host, Signal::KILL);
    for word in words.iter().skip(3).step_by(7).take(100) {
        word.fetch_xor(1 << 20, Ordering::Relaxed);
    }
    live.next("host", host);
    let ended = live.end();
    assert!(ended.count("/damaged_copies") > 0, "{ended:#?}");
    assert!(ended.stderr.contains("copies of durable entries are damaged"), "{}", ended.stderr);
}

/// Restarts are limited, not every one is reported, and the run never ends.
#[test]
fn a_nic_that_keeps_dying_is_started_after_pauses() {
    let live = Live::start("keeps-dying", program("keeper"), &[]);
    let begun = Instant::now();
    let mut last = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        if let Some(nic) = children(live.supervisor())
            .into_iter()
            .find(|child| words_of(*child).get(1).is_some_and(|word| word == "__nic"))
            && nic != last
        {
            signal(nic, Signal::KILL);
            last = nic;
        }
        sleep(Duration::from_millis(1));
    }
    let ended = live.end();
    // At once three times, then after 10, 20, 40 … ms: within 3 s, some ten times.
    let restarts = ended.count("/restarts/NIC");
    assert!((6..20).contains(&restarts), "{ended:#?}");
    let told = ended.stderr.lines().filter(|line| line.starts_with("the NIC process")).count();
    assert!((2..6).contains(&told), "{told} lines: {}", ended.stderr);
    assert!(ended.stderr.contains("times more that were not told"), "{}", ended.stderr);
}

/// The error about missing rights advises capabilities. For a file with capabilities, the kernel
/// clears the parent-death signal.
#[test]
fn halves_of_a_program_with_capabilities_end_with_their_supervisor() {
    let own = room("liars-capabilities").join("keeper");
    executable::copy(program("keeper"), &own);
    let set = Command::new("setcap").arg("cap_net_raw+ep").arg(&own).status();
    if !set.is_ok_and(|status| status.success()) {
        return tell("SKIPPED capabilities: setcap does not work here");
    }
    let live = Live::start("capable", &own, &[]);
    let halves = ["nic", "host"].map(|half| live.half(half));
    signal(live.supervisor(), Signal::KILL);
    let gone = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z"))
    };
    let all = wait_until(Duration::from_secs(2), || halves.iter().all(gone));
    for half in halves {
        signal(half, Signal::KILL);
    }
    assert!(all, "halves outlive their supervisor");
}

/// A NIC that starts, and hides its arrival at its region, is replaced after the time to start.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_nic_that_never_says_that_it_works_is_replaced() {
    let live = Live::start("hides", program("nat"), &[]);
    let before = live.half("nic");
    let liar = Liar::of(before);
    signal(before, Signal::KILL);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        liar.hides();
    }
    let hidden = live.half("nic");
    assert!(live.works() == Some(false) && hidden != before);
    live.wait_until_it_works();
    assert_ne!(live.half("nic"), hidden);
    let ended = live.end();
    assert!(ended.stderr.contains("was not at the current region"), "{}", ended.stderr);
}

/// Minutes of random lies to real programs: no half ends by a signal, and no run ends.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn no_lie_ends_anybody_but_the_nic() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("CORA_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let seconds = number("CORA_LIARS_SECONDS").unwrap_or(300);
    let mut draw = Draw(seed);
    let (begun, mut runs, mut lies) = (Instant::now(), 0, 0_u64);
    while begun.elapsed() < Duration::from_secs(seconds) {
        let name = ["keeper", "nat", "flow-monitor", "stateful-firewall"][draw.below(4) as usize];
        let kinds: Vec<Lie> =
            (0..=draw.below(3)).map(|_| Lie::ALL[draw.below(9) as usize]).collect();
        let (stops, pause) = (draw.below(2) > 0, [0, 20, 200, 2000][draw.below(4) as usize]);
        let what = format!("CORA_SEED={seed}, run {runs}: {name}, {kinds:?}");
        let live = Live::start("drawn", program(name), &[]);
        let mut nic = 0;
        let lasts = Duration::from_millis(2000 + draw.below(4000));
        let (from, host) = (Instant::now(), live.half("host"));
        let mut liar = Liar::of(live.half("nic"));
        while from.elapsed() < lasts {
            if stops && lies.is_multiple_of(64) {
                let now = live.half("nic");
                if now != nic {
                    signal(now, Signal::STOP);
                    nic = now;
                }
            }
            let lie = kinds[draw.below(kinds.len() as u64) as usize];
            liar.lies(lie, &mut draw);
            lies += 1;
            sleep(Duration::from_micros(pause));
            if lies.is_multiple_of(256) {
                assert!(live.is_alive(), "{what}");
            }
        }
        if nic != 0 {
            // The last one that it stopped may still live.
            signal(nic, Signal::CONT);
        }
        live.wait_until_it_works();
        assert_eq!(live.half("host"), host, "{what}: the host was ended");
        let ended = live.end();
        let said = |word: &str| ended.stderr.lines().any(|line| line.contains(word));
        let signals = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGSYS", "panicked"];
        let by_signal = signals.iter().any(|word| said(word));
        assert!(!by_signal, "{what}: {}", ended.stderr);
        runs += 1;
    }
    tell(&format!("CORA_SEED={seed}: {lies} lies in {runs} runs"));
}
