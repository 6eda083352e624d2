//! memcached with the cache before its sockets, by UDP and TCP, and without.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use super::shared_nic::{SERVERS, SharedNic, within};
use super::{LIMIT, Request};
use crate::Result;
use crate::program::{Service, run};
use crate::verdict::Observed;

/// Where memcached listens.
const SERVER: &str = "10.78.0.1:11211";
const AT: [&str; 2] = ["udp:10.78.0.1:11211", "tcp:10.78.0.1:11211"];
/// Tests that `memccapable -a` has.
const TESTS: usize = 27;

pub(super) fn with_cache(request: &Request) -> Result<Vec<Observed>> {
    let nic = SharedNic::start(&request.command, &request.directory, "lm", &[])?;
    let _server = server(&nic)?;
    let config = request.directory.join("server.txt");
    std::fs::write(&config, format!("server {SERVER}\n"))
        .map_err(|error| format!("{}: {error}", config.display()))?;
    let mut command = nic.attaches(&request.cache, &AT);
    let cache =
        Service::start(command.args(["--config", &format!("Server={}", config.display())]))?;
    nic.wait_for(1)?;
    let mut seen = observe(&nic, request)?;
    let output = cache.interrupt_well("the cache", LIMIT)?;
    let report: Value = serde_json::from_str(&output.text()).unwrap_or_default();
    let answered = &report["messages"]["by_handler"]["cache"]["done"];
    seen.push(Observed::told("reads answered by the cache", answered.to_string()));
    nic.end()?;
    Ok(seen)
}

pub(super) fn plain(request: &Request) -> Result<Vec<Observed>> {
    let nic = SharedNic::without("lp")?;
    let _server = server(&nic)?;
    observe(&nic, request)
}

fn server(nic: &SharedNic) -> Result<Service> {
    if !Path::new("/usr/bin/memccapable").exists() {
        return Err("no memccapable: apt-get install memcached libmemcached-tools".into());
    }
    let mut command = nic.inside.command("memcached");
    command.args(["-u", "root", "-l", SERVERS, "-U", "11211", "-t", "4"]);
    let server = Service::start(&mut command)?;
    let address = SERVER.parse().map_err(|error| format!("{SERVER}: {error}"))?;
    let listens = || {
        let connect = || std::net::TcpStream::connect_timeout(&address, LIMIT / 100).is_ok();
        nic.outside.visit(connect).unwrap_or(false)
    };
    if within(LIMIT / 10, listens) { Ok(server) } else { Err("memcached does not listen".into()) }
}

fn observe(nic: &SharedNic, request: &Request) -> Result<Vec<Observed>> {
    let mut command = nic.outside.command("memccapable");
    let capable = run(command.args(["-h", SERVERS, "-a"]), LIMIT)?.text();
    let passed = capable.matches("[pass]").count();
    let mut seen = vec![Observed::compared("memccapable -a", format!("{passed} of {TESTS} pass"))];
    // The last one of them flushed all.
    sleep(Duration::from_millis(1_100));
    let operations = if request.quick { 20_000 } else { 300_000 };
    let mut command = nic.outside.command(&request.clients.display().to_string());
    command.args([SERVER, "--json", "--operations", &operations.to_string()]);
    let output = run(command.args(["--items", "200", "--tcp", "0.5", "--writes", "0.2"]), LIMIT)?;
    let text = output.text();
    let told: Value = text.lines().last().and_then(|it| it.parse().ok()).unwrap_or_default();
    if told.is_null() {
        return Err(format!("the clients say nothing: {}", output.stderr));
    }
    let wrong = format!("{}, {}", told["items_wrong"], told["senseless"]);
    seen.push(Observed::compared("clients: stale items, senseless answers", wrong));
    seen.push(Observed::told("clients: operations", told["operations"].to_string()));
    Ok(seen)
}
