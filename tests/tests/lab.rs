//! Real programs talk through the firewall, the NAT and the gateway, and through the kernel in
//! their place: nothing disagrees. The same holds for the packets that policer and port-scan let
//! pass.
//!
//! Needs root and the programs that `cargo xtask lab` installs; says SKIPPED otherwise.

use std::path::Path;

use cora_lab::function::Function;
use cora_lab::limits::Limiter;
use cora_lab::middle::Ports;
use cora_lab::trial::{Request, run};
use cora_lab::verdict::{Agree, Table};
use cora_tests::namespace::Namespace;
use cora_tests::tell;
use cora_tests::workshop::{program, room};

const PROGRAMS: [&str; 8] =
    ["nft", "conntrack", "traceroute", "curl", "dnsmasq", "tcpdump", "ping", "ip"];

/// Returns the first thing that this machine lacks for the test.
fn lacking() -> Option<String> {
    let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let is_there = |program: &&str| places.iter().any(|at| Path::new(at).join(program).is_file());
    if let Some(program) = PROGRAMS.iter().find(|program| !is_there(program)) {
        return Some(format!("no {program}"));
    }
    if Ports::usual().0 == Ports::Tap && !Path::new("/dev/net/tun").exists() {
        return Some("neither AF_XDP nor /dev/net/tun".to_owned());
    }
    Namespace::create("lab-try").err().map(String::from)
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn programs_see_through_cora_what_they_see_through_the_kernel() {
    if let Some(why) = lacking() {
        return tell(&format!("SKIPPED lab: {why}"));
    }
    let functions = [Function::Firewall, Function::Nat, Function::Gateway];
    let limiters = Limiter::ALL;
    let request = Request {
        programs: functions.map(|function| (function, program(function.name()).to_owned())).into(),
        limiters: if Ports::usual().0 == Ports::Xdp {
            limiters.map(|limiter| (limiter, program(limiter.name()).to_owned())).into()
        } else {
            Vec::new()
        },
        ports: Ports::usual().0,
        seed: 1,
        rate_seconds: 0,
        directory: room("lab"),
    };
    let rows = run(&request).unwrap();
    let disagree = rows.iter().filter(|row| row.agree == Agree::No).count();
    assert_eq!(disagree, 0, "{}", Table(&rows));
    // All checks ran, and flows moved meanwhile.
    assert!(rows.iter().filter(|row| row.agree == Agree::Yes).count() > 90, "{}", Table(&rows));
    let moves = rows.iter().filter(|row| row.check == "moves of flows meanwhile");
    assert!(moves.clone().count() == 3 && moves.clone().all(|row| row.ours != "0"));
}
