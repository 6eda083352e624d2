//! Tenants of one agent: six that want all of its time, and hundreds in one process.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Request;
use super::shared_nic::{Server, SharedNic, client};
use crate::Result;
use crate::program::Service;
use crate::verdict::{Agree, Row};

/// Ports of the servers, from here on.
const FIRST: u16 = 7_001;
/// A share may deviate so much from a sixth, in thousandths of it.
const MOST_DEVIATION: u64 = 30;
/// Rounds of work of each tenant's packets.
const ROUNDS: [u32; 6] = [200, 500, 1_500, 5_000, 20_000, 60_000];

pub(super) fn judge(request: &Request) -> Result<Vec<Row>> {
    Ok(vec![shares(request)?, hundreds(request)?])
}

fn row(check: &str, ours: String, is_right: bool) -> Row {
    let agree = if is_right { Agree::Yes } else { Agree::No };
    Row { function: "tenants", check: check.to_owned(), kernel: "–".to_owned(), ours, agree }
}

/// Servers, and the program before each.
fn attached(
    nic: &SharedNic,
    request: &Request,
    tenants: u16,
    words: &[&str],
) -> Result<Vec<(Server, Service)>> {
    let mut all = Vec::new();
    for port in (FIRST..).take(usize::from(tenants)) {
        let server = Server::start(&nic.inside, &format!("10.78.0.1:{port}"), |_| None)?;
        let at = format!("udp:10.78.0.1:{port}");
        let mut command = nic.attaches(&request.echoes, &[&at]);
        all.push((server, Service::start(command.args(["--log", "error"]).args(words))?));
    }
    nic.wait_for(usize::from(tenants))?;
    Ok(all)
}

/// A question of `echoes`.
fn question(number: u64, rounds: u32) -> Vec<u8> {
    [&number.to_le_bytes()[..], &rounds.to_le_bytes()].concat()
}

fn shares(request: &Request) -> Result<Row> {
    let nic = SharedNic::start(&request.command, &request.directory, "ls", &[])?;
    let all = attached(&nic, request, 6, &[])?;
    let time = Duration::from_secs(if request.quick { 4 } else { 20 });
    let sockets: Vec<_> = (FIRST..)
        .take(6)
        .map(|port| client(&nic.outside, &format!("10.78.0.1:{port}")))
        .collect::<Result<_>>()?;
    let ends = Instant::now() + time;
    std::thread::scope(|scope| {
        for (socket, rounds) in sockets.iter().zip(ROUNDS) {
            scope.spawn(move || {
                // Answers are not waited for: queues are never empty.
                while Instant::now() < ends {
                    for number in 0..64 {
                        let _sent = socket.send(&question(number, rounds));
                    }
                    sleep(Duration::from_micros(400));
                }
            });
        }
    });
    let mut spent = Vec::new();
    for port in (FIRST..).take(6) {
        let counts = nic.tenant(&format!("udp:10.78.0.1:{port}"))?.unwrap_or_default();
        spent.push(counts["busy_ns"].as_u64().unwrap_or(0));
    }
    let sum: u64 = spent.iter().sum();
    let of = |spent: &u64| spent * 6_000 / sum.max(1);
    let (least, most) = (spent.iter().map(of).min(), spent.iter().map(of).max());
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    let is_right = least >= 1_000 - MOST_DEVIATION && most <= 1_000 + MOST_DEVIATION;
    let percent = |part: u64| format!("{}.{} %", part / 10, part % 10);
    let told = format!("{} to {} of a sixth", percent(least), percent(most));
    drop(all);
    nic.end()?;
    Ok(row("six tenants' shares of the time", told, is_right))
}

fn hundreds(request: &Request) -> Result<Row> {
    let tenants = if request.quick { 100 } else { 256 };
    let nic = SharedNic::start(&request.command, &request.directory, "lh", &["--tenants", "1024"])?;
    let all = attached(&nic, request, tenants, &["--share-process"])?;
    let mut right = 0;
    for port in (FIRST..).take(usize::from(tenants)) {
        let socket = client(&nic.outside, &format!("10.78.0.1:{port}"))?;
        let number = u64::from(port);
        let sent = socket.send(&question(number, 0));
        sent.map_err(|error| error.to_string())?;
        let mut answer = [0; 32];
        let expected = [number.to_le_bytes(), number.to_le_bytes()].concat();
        let length = socket.recv(&mut answer).unwrap_or(0);
        right += u16::from(answer.get(..length) == Some(&expected[..]));
    }
    let children = format!("/proc/{0}/task/{0}/children", nic.id());
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let processes = children.split_whitespace().count();
    let told = format!("{right} of {tenants} answer, in {processes} process");
    drop(all);
    nic.end()?;
    Ok(row("hundreds in one process", told, right == tenants && processes == 1))
}
