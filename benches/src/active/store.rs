//! The example `mica` with the traffic of YCSB-B, 95 gets and 5 puts of 100: under a plan with its
//! regions fetched the NIC answers gets, and under another one the host answers all. Both halves
//! are on a core each, and the host's time is that with something to do.

use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use cora_traffic::pcap::Writer;
use serde::Deserialize;

use crate::asked::frame;
use crate::figure::Figure;
use crate::keys::{Skew, mix};
use crate::program::Program;
use crate::turns::Turns;

const PROGRAM: &str = "mica";
/// Names, and questions that are drawn.
const NAMES: u64 = 200_000;
const DRAWS: usize = 1 << 18;
/// Of 100 questions, so many are puts.
const PUTS: u64 = 5;
/// The host's time when the message goes there, against that when the items come.
const GOAL: f64 = 1.0 / 0.15;

/// A pass of both halves.
#[derive(Debug, Deserialize)]
struct Pass {
    packets: u64,
    nic_busy_ns: u64,
    host_busy_ns: u64,
    at_nic: u64,
}

pub(super) fn run(
    fetched: &Path,
    shipped: &Path,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    for (name, skew) in [("Zipf", Skew::Zipf), ("uniform", Skew::Uniform)] {
        let capture = fetched.join("store.pcap");
        save(&capture, skew)?;
        let [mut ours, mut theirs] = [const { Vec::new() }; 2];
        let mut at_nic = Vec::new();
        for _ in 0..if quick { 3 } else { 9 } {
            for (programs, all) in [(fetched, &mut ours), (shipped, &mut theirs)] {
                let program = programs.join(PROGRAM);
                let pass: Pass = Program::start_both(&program, &capture, NAMES as usize)?.ask()?;
                let per = |ns: u64| ns as f64 / pass.packets as f64;
                all.push((per(pass.host_busy_ns), per(pass.host_busy_ns + pass.nic_busy_ns)));
                if programs == fetched {
                    at_nic.push(pass.at_nic as f64 / pass.packets as f64);
                }
            }
        }
        let split = |all: Vec<(f64, f64)>| {
            let (host, both) = all.into_iter().unzip();
            [Turns::new(host), Turns::new(both)]
        };
        let ([host, both], [host_shipped, both_shipped]) = (split(ours), split(theirs));
        let figure = |what: &str| format!("active/YCSB-B, {name}, {what}");
        let (host_name, all) = (figure("the host's time"), figure("all time"));
        tell(Figure::of_times(host_name, &host, &host_shipped, "shipped", GOAL));
        tell(Figure::of_times(all, &both, &both_shipped, "shipped", 0.0));
        let answered = 100.0 * Turns::new(at_nic).median();
        eprintln!("{}: {answered:.1} % answered at the NIC", figure("fetched"));
    }
    Ok(())
}

/// Writes a capture: each name is put once, and then all questions are asked.
fn save(path: &Path, skew: Skew) -> std::io::Result<()> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    let to = SocketAddrV4::new(Ipv4Addr::new(10, 0, 1, 1), 7_000);
    let mut at = 0;
    let mut ask = |number: u64, name: u64, put: bool| {
        let from = Ipv4Addr::from(0x0a02_0000 + (number as u32 & 0xffff));
        at += 100;
        writer.write(at, &frame(SocketAddrV4::new(from, 4_000), to, &question(name, put)))
    };
    for name in 0..NAMES {
        ask(name, name, true)?;
    }
    for (number, name) in (NAMES..).zip(skew.draws(NAMES, DRAWS, 42)) {
        ask(number, name, mix(number) % 100 < PUTS)?;
    }
    writer.finish().map(drop)
}

/// A question in the form of the example: its kind, the name, and for a put the value.
fn question(name: u64, put: bool) -> Vec<u8> {
    let name = format!("user{name:012}");
    let mut bytes = vec![u8::from(put), name.len() as u8, 0];
    bytes.extend(name.as_bytes());
    if put {
        bytes.extend([64, 0]);
        bytes.extend([b'v'; 64]);
    }
    bytes
}
