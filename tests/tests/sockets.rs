//! The cache before a server of memcached's protocol, live, between two kernels: its clients'
//! history is linearizable, while the half that answers is killed, and memcached's own tests pass.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

#[path = "sockets/server.rs"]
mod server;

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use cora_tests::process::{Ended, start, wait_until};
use cora_tests::site::Site;
use cora_tests::tell;
use cora_tests::workshop::{build, cargo, is_full, program, room, target};
use serde_json::Value;
use server::Server;

/// Where the server listens, in the namespace `inside`.
const SERVER: &str = "10.77.0.1:11211";
const SOON: Duration = Duration::from_secs(10);
/// Upper bound on the clients' work.
const LIMIT: Duration = Duration::from_mins(5);

/// The cache between two networks; `None` if this machine can't have them.
fn site(label: &str) -> Option<Site> {
    let file = room(&format!("sockets-{label}")).join("server.txt");
    std::fs::write(&file, format!("server {SERVER}\n")).unwrap();
    let words = ["--config", &format!("Server={}", file.display())];
    match Site::build_passing(label, program("cache"), &words) {
        Ok(site) => Some(site),
        Err(why) => {
            tell(&format!("SKIPPED sockets {label}: {why}"));
            None
        }
    }
}

/// The example's clients.
fn clients() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let words = ["build", "--package", "cache", "--example", "clients"];
        let _built = build(cargo().args(words)).well("the clients");
    });
    target().join("debug/examples/clients")
}

/// The clients do so many operations outside, and tell of them; `happen` meanwhile.
fn ask(site: &Site, operations: u64, words: &[&str], happen: impl FnOnce()) -> Value {
    let mut command = site.outside.command(&clients().display().to_string());
    command.args([SERVER, "--json", "--operations", &operations.to_string()]).args(words);
    let running = start(&mut command);
    happen();
    let ended: Ended = running.end(LIMIT);
    let told = ended.stderr.clone();
    assert!(ended.code.is_some(), "{told}");
    let told_of = ended.stdout.lines().last().and_then(|line| line.parse().ok());
    told_of.unwrap_or_else(|| panic!("no figures: {told}"))
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// Names, writes and their ways: many changes of few items.
const HOT: [&str; 8] = ["--items", "50", "--writes", "0.2", "--tcp", "0.3", "--patience", "1000"];

/// Questions that were answered by the cache: `get`s that did not reach the server.
fn saved(report: &Value) -> u64 {
    count(&report["messages"]["by_handler"]["cache"], "done")
}

/// A server of four threads, each of which takes its time before and behind each operation.
#[test]
fn no_client_reads_a_value_older_than_a_change_that_it_knows_of() {
    let Some(site) = site("sk") else { return };
    let server = Server::start(&site.inside, SERVER.parse().unwrap());
    let operations = if is_full() { 200_000 } else { 15_000 };
    // It answers nothing while changes of before its time may be under way.
    sleep(Duration::from_millis(1_100));
    let told = ask(&site, operations, &HOT, || {
        for _ in 0..3 {
            sleep(Duration::from_millis(1_500));
            site.kill("__nic");
        }
    });
    drop(server);
    let report = site.end();
    tell(&format!("{told} {}", report["outcomes"]));
    assert_eq!((count(&told, "items_wrong"), count(&told, "senseless")), (0, 0), "{told}");
    assert!(count(&told, "operations") > operations * 9 / 10, "{told}");
    assert_eq!(count(&report["restarts"], "NIC"), 3, "{report:#}");
    assert!(saved(&report) > 100, "{report:#}");
}

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _waited = self.0.wait();
    }
}

fn memcached(site: &Site) -> Ends {
    let mut command = site.inside.command("memcached");
    command.args(["-u", "root", "-l", "10.77.0.1", "-U", "11211", "-t", "4"]);
    let server = Ends(command.stdout(Stdio::null()).spawn().unwrap());
    let connect = || TcpStream::connect_timeout(&SERVER.parse().unwrap(), SOON / 10).is_ok();
    let listens = || site.outside.within(connect).join().unwrap();
    assert!(wait_until(SOON, listens), "memcached does not listen");
    server
}

/// memcached itself: its own tests by TCP, and clients by UDP and TCP.
#[test]
fn memcached_is_the_same_behind_the_cache() {
    let lacks = ["memcached", "memccapable"]
        .into_iter()
        .find(|program| !Path::new("/usr/bin").join(program).exists());
    if let Some(program) = lacks {
        return tell(&format!("SKIPPED sockets memcached: no {program}"));
    }
    let Some(site) = site("sm") else { return };
    let server = memcached(&site);
    let mut capable: Command = site.outside.command("memccapable");
    let capable = start(capable.args(["-h", "10.77.0.1", "-a"])).end(LIMIT).well("memccapable");
    assert_eq!(capable.stdout.matches("[pass]").count(), 27, "{}", capable.stdout);
    // The last one of them flushed all.
    sleep(Duration::from_millis(1_100));
    let told = ask(&site, 20_000, &["--items", "200", "--tcp", "0.5"], || {});
    drop(server);
    let report = site.end();
    assert_eq!((count(&told, "items_wrong"), count(&told, "senseless")), (0, 0), "{told}");
    assert!(saved(&report) > 1_000, "{report:#}");
}
