//! Look-ups in configured tables beside their judges: `cargo bench --package cora-bench --bench
//! configured`. It also prints what a table's rows take in memory, and how long a version takes to
//! make and to cross.

use std::fmt::Write as _;
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Instant;

use cora::prelude::*;
use cora::testing::{TestRows, configured};
use cora_core::state::Home as _;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prefix_trie::PrefixMap;

const MOST: u32 = 1_000_000;
/// Look-ups before an address comes again.
const ASKED: usize = 1 << 20;

#[state(prefixes, capacity = 1_000_000)]
struct Route {
    port: u32,
}

#[state(map, key = SourceAddress, capacity = 1_000_000)]
struct Subscriber {
    rate: u32,
}

#[state(acl, capacity = 10_000)]
struct Rule {
    number: u32,
}

/// Random numbers (Knuth's MMIX generator), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }
}

/// Distinct IPv4 prefixes with about the lengths of the global routing table: of 100, 60 have 24
/// bits, 38 have 16 to 23, and 2 are longer.
fn prefixes(count: usize) -> Vec<(u32, u8)> {
    let mut random = Random(7);
    let mut found = std::collections::BTreeSet::new();
    while found.len() < count {
        let length = match random.next() % 100 {
            0..60 => 24,
            60..98 => 16 + (random.next() % 8) as u8,
            _ => 25 + (random.next() % 8) as u8,
        };
        // Unicast addresses.
        let address = (random.next() % (224 << 24)) & (u32::MAX << (32 - length));
        found.insert((address, length));
    }
    found.into_iter().collect()
}

fn text_of(prefixes: &[(u32, u8)]) -> String {
    let mut text = "prefix,port\n".to_owned();
    for (number, (address, length)) in prefixes.iter().enumerate() {
        writeln!(text, "{}/{length},{number}", Ipv4Addr::from(*address))
            .expect("a string takes all");
    }
    text
}

fn told(name: &str, value: impl std::fmt::Display, unit: &str) {
    println!("{name:<50} {value:>10} {unit}");
}

/// The time of a version: read from its file, and imported at the other side.
fn version<S: cora_core::state::Row>(name: &str, text: &str, rows: usize) -> TestRows<S> {
    let begin = Instant::now();
    let mut table = configured::<S>(text);
    told(&format!("{name}: made from its file"), begin.elapsed().as_millis(), "ms");
    let mut pieces = Vec::new();
    table.export(0, &mut |piece| pieces.push(piece.to_vec()));
    let mut there = configured::<S>("");
    let begin = Instant::now();
    for piece in &pieces {
        there.merge(piece).expect("a piece");
    }
    told(&format!("{name}: taken in, piece by piece"), begin.elapsed().as_millis(), "ms");
    let bytes: usize = pieces.iter().map(Vec::len).sum();
    told(&format!("{name}: bytes on the wire"), bytes / 1000, "kB");
    told(&format!("{name}: index"), table.index_bytes() / rows, "bytes a row");
    table
}

fn longest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("longest match");
    group.throughput(Throughput::Elements(1));
    for count in [1_000, 100_000, MOST as usize] {
        let prefixes = prefixes(count);
        let name = format!("{count} prefixes");
        let table = version::<Route>(&name, &text_of(&prefixes), count);
        let mut judge = PrefixMap::new();
        for (number, (address, length)) in prefixes.iter().enumerate() {
            judge.insert((*address, *length), number as u32);
        }
        let mut random = Random(9);
        let asked: Vec<u32> = (0..ASKED).map(|_| random.next() % (224 << 24)).collect();
        for address in &asked {
            let here = table.longest(Address::v4(address.to_be_bytes())).map(|route| route.port);
            assert_eq!(here, judge.get_lpm(&(*address, 32)).map(|(_, number)| *number));
        }
        let mut next = asked.iter().cycle();
        group.bench_function(format!("{name}/cora"), |bench| {
            bench.iter(|| {
                let address = Address::v4(next.next().expect("endless").to_be_bytes());
                table.longest(black_box(address)).map(|route| route.port)
            });
        });
        group.bench_function(format!("{name}/prefix-trie"), |bench| {
            bench.iter(|| {
                let address = *next.next().expect("endless");
                judge.get_lpm(black_box(&(address, 32))).map(|(_, number)| *number)
            });
        });
    }
    group.finish();
}

fn map(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("map");
    group.throughput(Throughput::Elements(1));
    let mut text = "address,rate\n".to_owned();
    for number in 0..MOST {
        writeln!(text, "{},{number}", Ipv4Addr::from(0x0a00_0000 + number))
            .expect("a string takes all");
    }
    let table = version::<Subscriber>("map of 1000000", &text, MOST as usize);
    let mut random = Random(9);
    let asked: Vec<u32> = (0..ASKED).map(|_| 0x0a00_0000 + random.next() % MOST).collect();
    let mut next = asked.iter().cycle();
    group.bench_function("1000000 rows/cora", |bench| {
        bench.iter(|| {
            let address = Address::v4(next.next().expect("endless").to_be_bytes());
            table.get(black_box(&SourceAddress(address))).map(|row| row.rate)
        });
    });
    let judge: hashbrown::HashMap<u32, u32, foldhash::fast::RandomState> =
        (0..MOST).map(|number| (0x0a00_0000 + number, number)).collect();
    group.bench_function("1000000 rows/hashbrown", |bench| {
        bench.iter(|| judge.get(black_box(next.next().expect("endless"))).copied());
    });
    group.finish();
}

/// Rules as firewalls have them: most name a net of servers and a port, some a source, the last
/// nothing. The judge compares a flow with one after the other.
fn acl(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("acl");
    group.throughput(Throughput::Elements(1));
    for count in [100, 1_000, 10_000] {
        let mut random = Random(11);
        let mut text = "source,destination,protocol,destination_port,number\n".to_owned();
        let mut rules = Vec::new();
        for number in 0..count - 1 {
            let destination = (random.next() & 0xffff_ff00, 24);
            let source = if random.next().is_multiple_of(4) {
                Some((random.next() & 0xffff_0000, 16))
            } else {
                None
            };
            let port = (random.next() % 1024) as u16;
            let said = source.map_or("any".to_owned(), |(it, length)| {
                format!("{}/{length}", Ipv4Addr::from(it))
            });
            writeln!(text, "{said},{}/24,tcp,{port},{number}", Ipv4Addr::from(destination.0))
                .expect("a string takes all");
            rules.push((source, destination, port));
        }
        writeln!(text, "any,any,any,any,{}", count - 1).expect("a string takes all");
        let table = version::<Rule>(&format!("acl of {count}"), &text, count);
        let inside =
            |(net, length): (u32, u32), address: u32| (net ^ address) >> (32 - length) == 0;
        let scan = |source: u32, destination: u32, port: u16| {
            let fits = |rule: &(Option<(u32, u32)>, (u32, u32), u16)| {
                rule.2 == port
                    && inside(rule.1, destination)
                    && rule.0.is_none_or(|net| inside(net, source))
            };
            rules.iter().position(fits).unwrap_or(rules.len()) as u32
        };
        // Half of the flows fit a rule with a port.
        let asked: Vec<(u32, u32, u16)> = (0..ASKED / 16)
            .map(|_| {
                let (source, destination, port) = rules[random.next() as usize % rules.len()];
                let any = random.next();
                let source = source.map_or(any, |(net, _)| net | (any & 0xffff));
                let other = u16::from(random.next().is_multiple_of(2));
                (source, destination.0 | (random.next() & 0xff), port ^ other)
            })
            .collect();
        let flow = |(source, destination, destination_port): (u32, u32, u16)| FiveTuple {
            source: Address::v4(source.to_be_bytes()),
            destination: Address::v4(destination.to_be_bytes()),
            source_port: 5_000,
            destination_port,
            protocol: protocol::TCP,
        };
        for one in &asked {
            let here = table.first(&flow(*one)).map(|rule| rule.number);
            assert_eq!(here, Some(scan(one.0, one.1, one.2)));
        }
        let mut next = asked.iter().cycle();
        group.bench_function(format!("{count} rules/cora"), |bench| {
            bench.iter(|| {
                table
                    .first(&flow(black_box(*next.next().expect("endless"))))
                    .map(|rule| rule.number)
            });
        });
        group.bench_function(format!("{count} rules/scan"), |bench| {
            bench.iter(|| {
                let (source, destination, port) = black_box(*next.next().expect("endless"));
                scan(source, destination, port)
            });
        });
    }
    group.finish();
}

criterion_group!(configured_tables, longest, map, acl);
criterion_main!(configured_tables);
