//! The programs' actions, and the results that they see.
//!
//! | module | programs |
//! | --- | --- |
//! | `reach` | ping, traceroute, and the errors that reach a client |
//! | `web` | curl: one file, a page's thirty at once, over each IP version |
//! | `names` | questions to dnsmasq |
//! | `crowd` | a thousand connections at once |
//! | `blocked` | unsolicited traffic from outside |
//! | `states` | connections that are brought into each state of TCP, and left there |
//! | `forged` | segments that no stack would send |
//! | `rate` | iperf3 |

mod blocked;
mod crowd;
mod forged;
mod names;
pub(crate) mod rate;
mod reach;
pub(crate) mod states;
mod web;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::thread::sleep;
use std::time::Duration;

use crate::Result;
use crate::conversations::Conversations;
use crate::site::Site;
use crate::verdict::Observed;

/// The ports of connections that last as long as all checks, over IPv4 and IPv6.
pub const SESSIONS: [u16; 2] = [7000, 7001];
/// The ports that traceroute sends its probes to.
pub const PROBES: RangeInclusive<u16> = 33_434..=33_534;
/// Ports inside that a host outside tries, by TCP and by UDP.
pub const INSIDE: [u16; 2] = [8081, 8082];
/// A closed port.
pub(crate) const NOBODY: u16 = 9;
/// Number of long sessions over each IP version.
const LONG_LIVED: usize = 8;

/// Runs all checks with compared results, while long sessions go on.
///
/// # Errors
/// When a program isn't there, or a server can't be opened; the programs' failures are results.
pub fn run(site: &Site) -> Result<Vec<Observed>> {
    let sessions: Vec<Conversations> = (site.function.servers().into_iter())
        .zip(SESSIONS)
        .map(|(server, port)| {
            let address = SocketAddr::new(server, port);
            Conversations::open(&site.clients, &site.servers, address, LONG_LIVED)
        })
        .collect();
    let mut seen = Vec::new();
    seen.extend(reach::run(site)?);
    seen.extend(web::run(site)?);
    seen.extend(names::run(site)?);
    seen.extend(crowd::run(site)?);
    seen.extend(blocked::run(site)?);
    seen.push(end(sessions));
    Ok(seen)
}

/// Ends the long sessions: none may have broken or stand still.
fn end(sessions: Vec<Conversations>) -> Observed {
    let before: Vec<Vec<u64>> = sessions.iter().map(Conversations::rounds).collect();
    sleep(Duration::from_millis(300));
    let (mut still, mut opened) = (0, 0);
    let mut faults = Vec::new();
    for (session, before) in sessions.into_iter().zip(before) {
        let now = session.rounds();
        opened += now.len();
        still += before.iter().zip(&now).filter(|(before, now)| before >= now).count();
        faults.extend(session.end());
    }
    let mut result = format!("{opened} sessions, {} broken, {still} stand still", faults.len());
    if let Some(fault) = faults.first() {
        result = format!("{result}: {fault}");
    }
    Observed::compared("long sessions with pauses", result)
}

/// Returns the check's name, with the IP version behind it where that isn't the usual one.
fn over(check: &str, server: std::net::IpAddr) -> String {
    if server.is_ipv4() { check.to_owned() } else { format!("{check} over IPv6") }
}
