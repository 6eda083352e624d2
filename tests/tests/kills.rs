//! Kills either half of a live run, again and again, while the kernels of two namespaces talk
//! through it by TCP: nothing hangs, no connection breaks, and every byte is right.
//!
//! `CORA_KILLS` sets the number of kills (default 10); `CORA_SEED` sets their moments.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cora_tests::conversations::Conversations;
use cora_tests::draw::Draw;
use cora_tests::site::Site;
use cora_tests::workshop::{changed, cora, program};
use cora_tests::{executable, tell};
use rustix::process::Signal;

/// Connections that live through all kills.
const CONNECTIONS: usize = 24;
/// The address at which the server listens that they talk to.
const SERVER: &str = "203.0.113.1:7";
/// Kills before both halves have to work again.
const IN_A_ROW: u64 = 3;

/// Builds the firewall with durable connections and these further changes.
fn build(name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let durable = ("assured_by = Self::is_assured)", "assured_by = Self::is_assured, durable)");
    changed(name, "firewall", &[&[durable], changes].concat())
}

/// Builds the firewall with rules, durable connections and these further changes.
fn firewall_with_rules(name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let durable =
        ("assured_by = Self::is_assured\n", "assured_by = Self::is_assured,\n    durable\n");
    changed(name, "stateful-firewall", &[&[durable], changes].concat())
}

/// Builds the NAT without durable states.
fn forgetful_nat() -> PathBuf {
    changed(
        "kills-forgetful",
        "nat",
        &[
            (", durable)]", ")]"),
            (", durable, on_expire\n", "\n"),
            ("#[on_expire]", "#[cfg(any())]"),
        ],
    )
}

/// Builds the firewall with durable connections.
fn firewall() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("kills-firewall", &[])).clone()
}

fn converse(site: &Site) -> Conversations {
    let address = SERVER.parse().unwrap();
    let talks = Conversations::open(&site.inside, &site.outside, address, CONNECTIONS);
    wait_for(&talks, 5);
    talks
}

/// Opens a further connection, which takes both halves; the others go on by the NIC alone.
fn open_another(site: &Site) {
    let connect = || TcpStream::connect_timeout(&SERVER.parse().unwrap(), Duration::from_secs(25));
    let opened = site.inside.within(connect).join().unwrap();
    drop(opened.expect("it opens"));
}

/// Waits until each connection has made `more` exchanges, or one has broken.
fn wait_for(talks: &Conversations, more: u64) {
    let before = talks.rounds();
    let deadline = Instant::now() + Duration::from_secs(25);
    let goes_on = || before.iter().zip(talks.rounds()).all(|(before, now)| now >= before + more);
    while !goes_on() && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
}

fn variable(name: &str, otherwise: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Kills the halves that `choose` picks, at random moments. Behind a NAT a connection needs its
/// session, and the pool that knows its port.
fn kill_and_check(label: &str, kills: u64, choose: impl Fn(u64) -> &'static str) {
    kill_of(program("nat"), &[], label, kills, choose);
}

/// Does so with another program, with these words on its command line.
fn kill_of(
    program: &Path,
    words: &[&str],
    label: &str,
    kills: u64,
    choose: impl Fn(u64) -> &'static str,
) {
    let seed = variable("CORA_SEED", 5);
    let site = match Site::build_with(label, program, words) {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED kills: {why}")),
    };
    let talks = converse(&site);
    let mut chance = Draw(seed);
    for number in 1..=kills {
        sleep(Duration::from_millis(chance.next() % 150));
        site.kill(choose(chance.next()));
        // A host that dies six times in a row before it works ends the run.
        if number.is_multiple_of(IN_A_ROW) || number == kills {
            open_another(&site);
        }
    }
    let stuck = stuck(&talks);
    let checked: u64 = talks.rounds().iter().sum();
    let faults = talks.end();
    let report = site.end();
    assert!(faults.is_empty() && stuck == 0, "seed {seed}: {stuck} stand still; {faults:?}");
    let restarts = report["restarts"].as_object().unwrap();
    let restarted: u64 = restarts.values().map(|times| times.as_u64().unwrap()).sum();
    assert!((kills.div_ceil(IN_A_ROW)..=kills).contains(&restarted), "{report}");
    let mut pauses: Vec<u64> =
        report["pauses_us"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    pauses.sort_unstable();
    let told = serde_json::json!({
        "schema": "cora-kills/1",
        "halves": label,
        "seed": seed,
        "kills": kills,
        "connections": CONNECTIONS,
        "broken": faults.len(),
        "exchanges_checked": checked,
        "pause_p50_us": pauses[pauses.len() / 2],
        "pause_max_us": pauses.last(),
        "report": report,
    });
    tell(&told.to_string());
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_outlive_whichever_half_is_killed() {
    let kills = variable("CORA_KILLS", 10);
    kill_and_check("b", kills, |chance| if chance.is_multiple_of(2) { "__nic" } else { "__host" });
}

/// One of two shards goes on while a half of the other is away.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_of_several_shards_outlive_any_half() {
    let kills = variable("CORA_KILLS", 10);
    kill_of(&firewall(), &["--shards", "2"], "p", kills, |chance| {
        if chance.is_multiple_of(2) { "__nic" } else { "__host" }
    });
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_outlive_the_host_alone() {
    kill_and_check("h", variable("CORA_KILLS", 10).div_ceil(2), |_| "__host");
}

/// A control: connections of a NAT without durable states break. A connection that sends is picked
/// up, and goes on if the pool lives and still knows its port. One that only listens is not.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_of_a_nat_that_keeps_no_copies_break() {
    for half in ["__nic", "__host"] {
        let site = match Site::build(&format!("n{}", &half[2..3]), &forgetful_nat()) {
            Ok(site) => site,
            Err(why) => return tell(&format!("SKIPPED kills: {why}")),
        };
        let talks = converse(&site);
        let before = talks.rounds();
        site.kill(half);
        // Every sound connection has gone on by now.
        sleep(Duration::from_secs(3));
        let went_on = before.iter().zip(talks.rounds()).map(|(before, now)| now > before + 20);
        // The second of each two listens. A flow that the host owned lives on without a NIC.
        let went_on: Vec<bool> = went_on.skip(1).step_by(2).collect();
        let listen_on = went_on.iter().filter(|went_on| **went_on).count();
        talks.leave();
        let report = site.end();
        tell(&format!("{half}: {went_on:?}"));
        assert!(listen_on < went_on.len() / 2, "{half}: {listen_on} went on; {report}");
    }
}

/// The successor of a killed host reads the waiting packets, and reports the number of lost ones.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_new_host_reads_what_the_dead_one_left_unread() {
    let site = match Site::build("m", program("nat")) {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED kills: {why}")),
    };
    let first = converse(&site);
    let address = "203.0.113.1:8".parse().unwrap();
    let second = site.kill_host_behind(|| {
        Conversations::open(&site.inside, &site.outside, address, CONNECTIONS)
    });
    wait_for(&first, 5);
    wait_for(&second, 5);
    let opened = second.rounds().iter().all(|rounds| *rounds > 0);
    let faults = [first.end(), second.end()].concat();
    let report = site.end();
    assert!(faults.is_empty() && opened, "{faults:?}; {report}");
    let lost = report["outcomes"]["lost-with-host"].as_u64();
    assert!(lost >= Some(CONNECTIONS as u64), "{report}");
}

/// A second build has one more field in its entries, before an old one. It takes the running one's
/// place, and the server goes on.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_outlive_another_build_with_more_fields() {
    let more = [
        ("    packets: u64,\n}", "    again: u32,\n    packets: u64,\n}"),
        ("packets: 1 }", "again: 0, packets: 1 }"),
        ("self.packets += 1;", "self.packets += 1;\n        self.again += 1;"),
    ];
    let next = build("kills-firewall-more", &more);
    let place = next.with_file_name("kills-firewall-replaced");
    for words in [&[][..], &["--shards", "2"]] {
        executable::copy(&firewall(), &place);
        let site = match Site::build_with("u", &place, words) {
            Ok(site) => site,
            Err(why) => return tell(&format!("SKIPPED kills: {why}")),
        };
        let talks = converse(&site);
        // As cargo does: another file under the same name.
        executable::copy(&next, &place);
        site.signal(Signal::HUP);
        sleep(Duration::from_millis(500));
        site.kill("__nic");
        end_upgraded(site, talks);
    }
}

/// Returns the number of connections that make no progress from now on.
fn stuck(talks: &Conversations) -> usize {
    let before = talks.rounds();
    wait_for(talks, 5);
    before.iter().zip(talks.rounds()).filter(|(before, now)| **before >= *now).count()
}

/// Ends a run after one replacement of its program: all connections go on until then.
fn end_upgraded(site: Site, talks: Conversations) {
    let stuck = stuck(&talks);
    let faults = talks.end();
    let report = site.end();
    assert!(faults.is_empty() && stuck == 0, "{stuck} stand still; {faults:?}; {report}");
    assert_eq!(report["upgrades"], 1, "{report}");
}

/// Waits until each connection of `cut` stands still while the others go on.
fn wait_until_cut(cut: &Conversations, others: &Conversations) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while Instant::now() < deadline {
        let before = cut.rounds();
        wait_for(others, 20);
        if cut.rounds() == before {
            return;
        }
    }
    panic!("{:?} go on", cut.rounds());
}

/// New rules cut the running connections that they deny, and leave the others. This holds after a
/// kill of either half, and after a wrong file. A connection that is allowed again has to be opened
/// anew: the firewall picks no running connection up.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_change_of_rules_cuts_what_it_denies_and_outlives_both_halves() {
    let program = firewall_with_rules("kills-rules", &[]);
    let rules = program.with_file_name("rules.txt");
    let say = |text: &str| std::fs::write(&rules, text).unwrap();
    say("");
    let config = format!("Rule={}", rules.display());
    let site = match Site::build_with("r", &program, &["--config", &config]) {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED kills: {why}")),
    };
    let left = converse(&site);
    let address = "203.0.113.1:8".parse().unwrap();
    // A client that gave up would not try again, even if it were allowed.
    let patience = Duration::from_mins(2);
    let (inside, outside) = (&site.inside, &site.outside);
    let cut = Conversations::open_patient(inside, outside, address, CONNECTIONS, patience);
    wait_for(&cut, 5);
    say("protocol,destination,destination_port,allow\ntcp,203.0.113.1,8,false\n");
    site.signal(Signal::USR1);
    let denied = Instant::now();
    // In any state of the NIC at its death.
    site.kill("__nic");
    wait_until_cut(&cut, &left);
    let stood = cut.rounds();
    site.kill("__nic");
    wait_for(&left, 20);
    site.kill("__host");
    wait_for(&left, 20);
    say("deny everything\n");
    site.signal(Signal::USR1);
    wait_for(&left, 20);
    assert_eq!(cut.rounds(), stood, "what is denied goes on again");
    say("# nothing\n");
    site.signal(Signal::USR1);
    wait_for(&left, 20);
    // A client without an answer asks again after twice its last wait: all have by then.
    sleep(denied.elapsed() + Duration::from_secs(2));
    assert_eq!(cut.rounds(), stood, "what the firewall forgot goes on again");
    cut.leave();
    let anew = Conversations::open(inside, outside, address, CONNECTIONS);
    wait_for(&anew, 5);
    let opened = anew.rounds().iter().all(|rounds| *rounds >= 5);
    wait_for(&left, 20);
    let faults = [left.end(), anew.end()].concat();
    let report = site.end_telling(&[
        "version 2 is in force: Rule changed",
        "version 2 stays in force: ",
        "version 3 is in force: Rule changed",
    ]);
    assert!(faults.is_empty() && opened, "{faults:?}; {report}");
    assert_eq!(report["version"], 3, "{report}");
    let dropped = |why: &str| report["outcomes"][why].as_u64();
    // The first while they were denied, the second when they were allowed again.
    assert!(dropped("not-allowed") > Some(0) && dropped("bad-tcp-state") > Some(0), "{report}");
}

/// A build with entries of another width takes the running one's place by the command, and converts
/// the entries: also those of servers that talk while inside only listens. Before that, a build
/// that can't convert is refused.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn connections_outlive_a_build_that_converts_its_entries() {
    let narrower = ("    original_packets: u64,", "    original_packets: u32,");
    let converts = [
        ("    durable\n)", "    durable,\n    from = Before\n)"),
        narrower,
        (
            "/// A connection that somebody",
            "#[derive(Clone, Copy, Plain)]\nstruct Before {\n    judged: Generation,\n    idle: u16,\n    \
             tcp: TcpState,\n    answered: bool,\n    original_packets: u64,\n    reply_packets: u64,\n}\n\n\
             impl From<Before> for Connection {\n    fn from(before: Before) -> Self {\n        \
             let Before { judged, idle, tcp, answered, original_packets, reply_packets } = before;\n        \
             let original_packets = original_packets as u32;\n        \
             Self { judged, idle, tcp, answered, original_packets, reply_packets }\n    }\n}\n\n\
             /// A connection that somebody",
        ),
    ];
    let new = firewall_with_rules("kills-converts", &converts);
    let refused = firewall_with_rules("kills-narrower", &[narrower]);
    let place = new.with_file_name("kills-converted");
    executable::copy(&firewall_with_rules("kills-rules", &[]), &place);
    let socket = place.with_file_name(format!("control-{}", std::process::id()));
    let words = ["--control", &socket.display().to_string()];
    let site = match Site::build_with("c", &place, &words) {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED kills: {why}")),
    };
    let talks = converse(&site);
    let upgrade = |program: &Path| {
        let mut command = cora();
        command.arg("upgrade").arg(&socket).arg("--program").arg(program);
        cora_tests::process::run(&mut command, Duration::from_mins(1))
    };
    let told = upgrade(&refused);
    assert_eq!(told.code, Some(1), "{told:?}");
    let why = "`Connection.original_packets` has 8 bytes, and 4 in the new program";
    assert!(told.stderr.contains(why), "{told:?}");
    wait_for(&talks, 5);
    let told = upgrade(&new).well("upgrade");
    assert!(
        told.stdout.contains(&format!("{CONNECTIONS} durable entries carried over")),
        "{told:?}"
    );
    wait_for(&talks, 5);
    site.kill("__nic");
    wait_for(&talks, 5);
    site.kill("__host");
    end_upgraded(site, talks);
}
