//! Sources that try too many services: which are blocked, and at which service.
//!
//! The program counts services by a bitmap, which is not exact; nftables keeps each of them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::thread::sleep;
use std::time::Duration;

use super::Passage;
use crate::Result;
use crate::verdict::Observed;
use crate::wires::frames::{Direction, syn};

/// Services that a source may try in a minute.
const THRESHOLD: u16 = 50;
/// Services that sources try, and how often each.
const SOURCES: [(u16, u16); 6] = [(20, 1), (40, 1), (40, 3), (1, 200), (70, 1), (200, 1)];
/// Pause between two frames, so that they form no burst.
const PAUSE: Duration = Duration::from_micros(300);
/// Linear counting of 50 services in 256 bits has a standard error of 4.6 %: three of them.
const TOLERANCE: f64 = 0.14;

pub(super) fn configuration() -> String {
    format!("window 60\nthreshold {THRESHOLD}\nblock 300\n")
}

/// Returns rules that drop blocked sources, and accept services that a source has tried before. A
/// new service counts by a quota of bytes that no time refills: all frames have one length.
pub(super) fn rules() -> String {
    let head = "flags dynamic,timeout; size 65536;";
    let sets = [
        format!("set blocked {{ type ipv4_addr; {head} timeout 5m; }}"),
        format!("set tried {{ type ipv4_addr . ipv4_addr . inet_service; {head} timeout 1m; }}"),
        format!("set counts {{ type ipv4_addr; {head} timeout 1m; }}"),
    ];
    let quota = u32::from(THRESHOLD) * 46;
    let service = "ip saddr . ip daddr . tcp dport";
    let rules = [
        "ip saddr @blocked drop".to_owned(),
        "tcp flags & (syn | ack) != syn accept".to_owned(),
        format!("{service} @tried accept"),
        format!("add @tried {{ {service} }}"),
        format!(
            "update @counts {{ ip saddr quota over {quota} bytes }} add @blocked {{ ip saddr }} drop"
        ),
    ];
    let hook = "type filter hook forward priority 0; policy accept;";
    let (sets, rules) = (sets.join("\n "), rules.join("\n  "));
    format!("table ip limits {{ {sets}\n chain forward {{ {hook}\n  {rules}\n }}\n }}")
}

const fn source(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 30, 0, 1 + number as u8)
}

pub(super) fn observe(passage: &mut Passage) -> Result<Vec<Observed>> {
    let ask = |passage: &mut Passage, number: usize, from: u16, port: u16| {
        passage.send(&syn(source(number), Direction::SERVER, from, port))?;
        sleep(PAUSE);
        passage.take()
    };
    for (number, (services, times)) in SOURCES.into_iter().enumerate() {
        for time in 0..times {
            for port in 1..=services {
                ask(passage, number, 10_000 + time, port)?;
            }
        }
    }
    passage.take_the_rest()?;
    let first = std::mem::take(&mut passage.came);
    // A service that each source had reached.
    for number in 0..SOURCES.len() {
        ask(passage, number, 20_000, 1)?;
    }
    passage.take_the_rest()?;
    let mut seen = Vec::new();
    let mut blocked = Vec::new();
    for (number, (services, times)) in SOURCES.into_iter().enumerate() {
        let its = || first.iter().filter(|(from, _)| *from == source(number));
        let name = format!("{services} services");
        if its().count() == usize::from(services * times) {
            continue;
        }
        let reached: BTreeSet<u16> = its().map(|(_, port)| *port).collect();
        let what = format!("reached before that, of {name}");
        seen.push(Observed::near(what, f64::from(reached.len() as u16), TOLERANCE));
        blocked.push(name);
    }
    seen.insert(0, Observed::compared("who is stopped", blocked.join("; ")));
    let after: BTreeSet<Ipv4Addr> = passage.came.iter().map(|(from, _)| *from).collect();
    let after: Vec<String> = (0..SOURCES.len())
        .filter(|number| !after.contains(&source(*number)))
        .map(|number| format!("{} services", SOURCES[number].0))
        .collect();
    seen.push(Observed::compared("who gets nothing through afterwards", after.join("; ")));
    Ok(seen)
}
