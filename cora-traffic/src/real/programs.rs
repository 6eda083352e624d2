//! The order of servers, clients, and the ordinary programs of this machine.

use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::clients::Server;
use super::network::{Network, SERVER_V4, SERVER_V6};
use super::{clients, servers};
use crate::TrafficError;

/// Time in which conversations may begin.
const TIME: Duration = Duration::from_secs(12);

/// Drives all traffic to its end.
pub(super) fn drive(network: &Network, lacking: &mut Vec<String>) -> Result<(), TrafficError> {
    let mut addresses: Vec<IpAddr> = vec![SERVER_V4.into()];
    if network.has_v6 {
        addresses.push(SERVER_V6.into());
    }
    let stop = AtomicBool::new(false);
    let stop = &stop;
    thread::scope(|scope| {
        let opened = scope.spawn(|| {
            network.outside.enter()?;
            addresses.iter().try_for_each(|&address| servers::open(scope, address, stop))?;
            Ok::<(), TrafficError>(())
        });
        let opened = opened.join().unwrap_or(Ok(()));
        let driven = opened.and_then(|()| {
            let until = Instant::now() + TIME;
            let servers: Vec<Server> =
                addresses.iter().map(|&address| Server { address, until }).collect();
            network.inside.visit(|| inside(&servers, lacking))?;
            network.outside.visit(|| servers.iter().for_each(|&from| clients::intrude(from)))
        });
        stop.store(true, Ordering::Relaxed);
        driven
    })
}

fn inside(servers: &[Server], lacking: &mut Vec<String>) {
    thread::scope(|scope| {
        scope.spawn(clients::unanswered);
        for &server in servers {
            scope.spawn(move || {
                clients::many_small(server);
                clients::large(server);
                // These two fail in part by their nature: see `clients`.
                drop(clients::half_closed(server));
                drop(clients::reset(server));
                clients::refused(server);
                clients::datagrams(server);
                drop(clients::echo(server));
            });
        }
    });
    for &server in servers {
        ordinary(server, lacking);
    }
}

/// Runs programs of an ordinary machine, if they are installed.
fn ordinary(server: Server, lacking: &mut Vec<String>) {
    let page = format!("http://{}/", SocketAddr::new(server.address, servers::WEB));
    let fetch = format!("import urllib.request as u; u.urlopen('{page}', timeout=4).read()");
    let plain = server.address.to_string();
    let programs: [(&str, Vec<&str>); 3] = [
        ("ping", vec!["-c", "3", "-i", "0.2", "-W", "1", &plain]),
        ("curl", vec!["-s", "--noproxy", "*", "--max-time", "4", &page]),
        ("python3", vec!["-c", &fetch]),
    ];
    for (program, arguments) in programs {
        if !run(program, &arguments, server.until) {
            let missing = format!("{program} is not installed: without it");
            if !lacking.contains(&missing) {
                lacking.push(missing);
            }
        }
    }
}

/// Runs a program, until then at most. Returns false if there is no such program.
fn run(program: &str, arguments: &[&str], until: Instant) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.env_remove("http_proxy").spawn() else { return false };
    while Instant::now() < until {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            _ => return true,
        }
    }
    drop(child.kill());
    drop(child.wait());
    true
}
