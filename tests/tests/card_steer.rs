//! An operator's orders to a run whose NIC half is on a card that is another machine: `configure`
//! crosses the link, and `upgrade` replaces the programs at both ends, while clients and servers
//! talk by TCP and check every byte.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cora_tests::accounts::{accounts, count};
use cora_tests::card_site::{CardSite, PATIENCE};
use cora_tests::conversations::Conversations;
use cora_tests::machines::Machines;
use cora_tests::process::{Ended, halves, run, wait_until};
use cora_tests::site::{Site, unexpected};
use cora_tests::watch::Watch;
use cora_tests::workshop::{changed, cora, program, room};
use cora_tests::{executable, tell};
use serde_json::Value;

/// Upper bound on an order.
const LIMIT: Duration = Duration::from_secs(100);
/// Upper bound on the time until something is there.
const SOON: Duration = Duration::from_secs(10);
/// Connections, half of them echoes.
const CONNECTIONS: usize = 16;
/// Exchanges that each of them makes to show that it goes on.
const EXCHANGES: u64 = 10;

/// Builds the NAT of a later day: it knows the connections of the earlier one.
fn later_nat() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let change = ("const FORWARDED: u8 = u8::MAX;", "const FORWARDED: u8 = 255;");
    BUILT.get_or_init(|| changed("card-steer-later", "nat", &[change]))
}

/// A NAT at both ends, each in a file of its own that an operator may replace.
struct Places {
    host: PathBuf,
    card: PathBuf,
}

impl Places {
    fn new(label: &str) -> Self {
        let room = room(&format!("card-steer-{label}"));
        let [host, card] = ["host", "card"].map(|end| room.join(end).join("nat"));
        for place in [&host, &card] {
            executable::copy(program("nat"), place);
        }
        Self { host, card }
    }

    fn site(&self, label: &str) -> Option<CardSite> {
        built(CardSite::build(label, [&self.host, &self.card], &[]))
    }
}

fn built<T>(site: Result<T, String>) -> Option<T> {
    site.map_err(|why| tell(&format!("SKIPPED card_steer: {why}"))).ok()
}

/// Asks the run to become the program in its file, as an operator does.
fn upgrade(site: &CardSite) -> Ended {
    run(cora().arg("upgrade").arg(site.socket()), LIMIT)
}

/// Waits until the run works with so many upgrades behind it; returns its status.
fn works(site: &CardSite, upgrades: u64) -> Value {
    let mut last = Value::Null;
    let works = wait_until(3 * SOON, || {
        last = site.ask("status").unwrap_or_default();
        last["works"] == true && last["upgrades"] == upgrades
    });
    assert!(works, "{last:#}\n{}\nThe card: {}", site.log(), site.agent.log());
    last
}

/// Asserts that all connections go on, and that the program opens new ones.
fn goes_on(site: &CardSite, watch: &mut Watch, when: &str) {
    let stuck = watch.stuck(EXCHANGES);
    let opened = site.connect_soon();
    let words = site.agent.log();
    assert!(stuck == 0 && opened.is_ok(), "{when}: {stuck} stand still, {opened:?}\n{words}");
}

/// Ends connections and run: none was broken, and each packet has an outcome.
fn end(site: CardSite, watch: Watch) -> (Value, String) {
    let bytes = watch.talks.bytes();
    let faults = watch.talks.end();
    let words = site.agent.log();
    let (report, log) = site.end();
    assert!(faults.is_empty(), "{faults:?}: {report:#}\n{log}\nThe card: {words}");
    assert!(bytes > CONNECTIONS as u64 * EXCHANGES * 100, "{bytes}");
    accounts(&report);
    (report, log)
}

#[test]
fn an_upgrade_replaces_both_programs_and_breaks_no_connection() {
    let places = Places::new("upgrade");
    let Some(site) = places.site("su") else { return };
    let agent = site.agent.id();
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    goes_on(&site, &mut watch, "before");
    let before = works(&site, 0);
    // Nothing was put on the card: it says so before anything stops.
    executable::copy(later_nat(), &places.host);
    let refused = |why: &str| {
        let refused = upgrade(&site);
        assert!(refused.code == Some(1) && refused.stderr.contains(why), "{why}: {refused:?}");
        let status = works(&site, 0);
        for field in ["generation", "plan", "pid"] {
            assert_eq!(status[field], before[field], "{why}: {field}");
        }
        assert!(!site.agent.log().contains("ended"), "{}", site.agent.log());
    };
    refused("the card has no program that goes with");
    // A program of another kind, and none at all.
    executable::copy(program("firewall"), &places.card);
    refused("the card has no program that goes with");
    executable::script(&places.card, "exit 1");
    refused("the card has no program that goes with");
    assert!(site.agent.log().contains("is not a program of Cora"), "{}", site.agent.log());
    goes_on(&site, &mut watch, "after refusals");
    // Once it is there, the question is answered in another way.
    executable::copy(later_nat(), &places.card);
    let _done = upgrade(&site).well("upgrade");
    let after = works(&site, 1);
    assert!(after["plan"] != before["plan"] && after["pid"] == before["pid"], "{after:#}");
    assert!(count(&after, "carried") >= CONNECTIONS as u64, "{after:#}");
    goes_on(&site, &mut watch, "after the upgrade");
    let became = |site: &CardSite, words: &str| {
        assert!(site.agent.log().contains(words), "{words}: {}", site.agent.log());
        assert_eq!(site.agent.id(), agent);
    };
    became(&site, "this agent becomes it");
    // The agent is still able to be what it was, though its file is gone.
    executable::copy(program("nat"), &places.host);
    let _done = upgrade(&site).well("upgrade back");
    assert_eq!(works(&site, 2)["plan"], before["plan"]);
    goes_on(&site, &mut watch, "after the way back");
    became(&site, "this agent becomes that again");
    let (report, log) = end(site, watch);
    assert_eq!(report["upgrades"], 2, "{report:#}");
    assert_eq!(unexpected(&log), [""; 0]);
}

/// The new program passes all checks, and then turns out to be another one at one end: the one
/// before comes back, and finds its card.
fn comes_back(label: &str, misleads: impl Fn(&Places) -> (PathBuf, &'static str), why: &str) {
    let places = Places::new(label);
    let Some(site) = places.site(label) else { return };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    goes_on(&site, &mut watch, "before");
    let before = works(&site, 0);
    for place in [&places.host, &places.card] {
        executable::copy(later_nat(), place);
    }
    let (place, other) = misleads(&places);
    let (later, other) = (later_nat().display(), program(other).display());
    let text = format!(
        "case \"$*\" in __layout|__build|*--rehearse*) exec {later} \"$@\";; esac; exec {other} \"$@\""
    );
    executable::script(&place, &text);
    assert_eq!(site.ask("upgrade").unwrap_or_default()["upgrades"], 0);
    let generation = count(&before, "generation");
    let back = wait_until(3 * SOON, || {
        let status = site.ask("status").unwrap_or_default();
        status["works"] == true && count(&status, "generation") > generation
    });
    assert!(back, "{}\nThe card: {}", site.log(), site.agent.log());
    assert_eq!(works(&site, 0)["plan"], before["plan"]);
    goes_on(&site, &mut watch, "after the way back");
    let words = site.agent.log();
    let (_, log) = end(site, watch);
    assert!(log.contains("the one before comes back") && log.contains(why), "{log}\n{words}");
    tell(&format!("{log}The card: {words}"));
}

#[test]
fn a_program_of_the_host_that_fails_gives_the_card_back() {
    let host = |places: &Places| (places.host.clone(), "stateful-firewall");
    comes_back("sb", host, "`Session` is not a durable state of the new program");
}

/// The agent has become the wrong program, and becomes again what it was.
#[test]
fn a_program_of_the_card_that_fails_gives_the_place_back() {
    let card = |places: &Places| (places.card.clone(), "firewall");
    comes_back("sd", card, "the card's program was built for another plan");
}

/// The card lost its power after the operator had put the new program there: the old one at the
/// host is refused, and the new one gets the card.
#[test]
fn an_upgrade_finds_an_agent_that_is_the_new_program() {
    let places = Places::new("again");
    let Some(mut site) = places.site("sg") else { return };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    goes_on(&site, &mut watch, "before");
    executable::copy(later_nat(), &places.card);
    site.agent.start_again();
    let refuses = || site.agent.log().contains("built for another plan");
    assert!(wait_until(SOON, refuses), "{}\nThe card: {}", site.log(), site.agent.log());
    executable::copy(later_nat(), &places.host);
    let _done = upgrade(&site).well("upgrade");
    works(&site, 1);
    goes_on(&site, &mut watch, "after the upgrade");
    end(site, watch);
}

/// The agent of a local card is a process of the program that runs: nothing is put anywhere else.
#[test]
fn an_upgrade_replaces_a_local_card() {
    let room = room("card-steer-local");
    let [place, socket] = ["nat", "control"].map(|name| room.join(name));
    executable::copy(program("nat"), &place);
    let words = ["--card", "local", "--control", &socket.display().to_string()];
    let Some(site) = built(Site::build_with("sl", &place, &words)) else { return };
    let server = "203.0.113.1:7".parse().unwrap();
    let talks =
        Conversations::open_patient(&site.inside, &site.outside, server, CONNECTIONS, PATIENCE);
    let mut watch = Watch::over(talks, PATIENCE);
    assert_eq!(watch.stuck(EXCHANGES), 0, "before");
    executable::copy(later_nat(), &place);
    let _done = run(cora().arg("upgrade").arg(&socket), LIMIT).well("upgrade");
    assert_eq!(watch.stuck(EXCHANGES), 0, "after");
    assert_eq!(halves(site.pid(), "__local-card").len(), 1, "the one before has ended");
    let faults = watch.talks.end();
    let report = site.end();
    assert!(faults.is_empty(), "{faults:?}: {report:#}");
    assert_eq!((&report["upgrades"], &report["nic"]), (&1.into(), &"card:ethernet".into()));
    accounts(&report);
}

#[test]
fn a_configuration_crosses_the_link() {
    let room = room("card-steer-configure");
    let rules = room.join("rules.txt");
    let write = |text: &str| fs::write(&rules, text).unwrap();
    write("");
    let firewall = [program("stateful-firewall"); 2];
    let words = ["--config", &format!("Rule={}", rules.display())];
    let Some(site) = built(CardSite::build("sc", firewall, &words)) else { return };
    let mut watch = Watch::over(site.converse(CONNECTIONS), PATIENCE);
    goes_on(&site, &mut watch, "before");
    let configure = || run(cora().arg("configure").arg(site.socket()), LIMIT);
    write("protocol,destination_port,allow\ntcp,7,false\n");
    let _done = configure().well("configure");
    assert_eq!(works(&site, 0)["version"], 2);
    // The NIC half has these connections: no more packets of theirs pass.
    let rounds = watch.talks.rounds();
    watch.pass(Duration::from_secs(1));
    let late = watch.talks.rounds();
    assert!(late.iter().zip(&rounds).all(|(late, before)| late - before < 20), "{late:?}");
    watch.pass(Duration::from_secs(1));
    assert_eq!(watch.talks.rounds(), late, "they are denied");
    let refused = site.connect(Duration::from_secs(2));
    assert!(refused.is_err(), "the rule denies it");
    // What is wrong is refused, and what was in force stays so.
    write("protocol,destination_port,allow\ntcp,x,false\n");
    let wrong = configure();
    assert!(wrong.code == Some(1) && wrong.stderr.contains("rules.txt"), "{wrong:?}");
    write("protocol,destination_port,allow\ntcp,8,false\n");
    let _done = configure().well("configure again");
    assert_eq!(works(&site, 0)["version"], 3);
    site.connect_soon().expect("no rule denies it any more");
    watch.talks.leave();
    let (report, _) = site.end();
    accounts(&report);
    assert!(count(&report["outcomes"], "not-allowed") > 0, "{report:#}");
}

/// What waits at the card's ports between two runs of one agent is for neither.
#[test]
fn a_run_gets_no_packets_of_the_time_before_it() {
    let nat = [program("nat"); 2];
    let Some(mut site) = built(CardSite::build("sw", nat, &[])) else { return };
    works(&site, 0);
    let refuses = |site: &CardSite| {
        let refused = site.connect_soon().expect_err("nobody listens");
        assert!(refused.contains("refused"), "{refused}");
    };
    refuses(&site);
    let (first, _) = site.run_again(|site| {
        let told = || site.agent.log().contains("ended with exit status 0");
        assert!(wait_until(SOON, told), "{}", site.agent.log());
        let send = || {
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            (0..200).all(|_| socket.send_to(&[0; 100], "203.0.113.1:9").is_ok())
        };
        assert!(site.inside.within(send).join().unwrap());
    });
    works(&site, 0);
    refuses(&site);
    let words = site.agent.log();
    let (second, _) = site.end();
    accounts(&second);
    let came = count(&second, "packets_in");
    assert!((1..200).contains(&came), "{came} packets came: {words}");
    assert!(words.contains("frames that had waited at the ports are dropped"), "{words}");
    for report in [first, second] {
        let both = ["inside", "outside"].map(|side| count(&report["ports"][side], "received"));
        assert_eq!(both.iter().sum::<u64>(), count(&report, "packets_in"), "{report:#}");
    }
}

/// Nobody answers until the run ends: that is no success.
#[test]
fn a_run_whose_card_never_came_fails() {
    let Some(machines) = built(Machines::build("sn")) else { return };
    let words = ["--live", "card", "--seconds", "1"];
    let mut command: Command = machines.run(program("nat"), &words);
    let ended = run(&mut command, LIMIT);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("never came: no NIC half worked in this run"), "{ended:?}");
}
