//! The parts of a packet's path in isolation, in time: `cargo bench --package cora-bench`.
//!
//! For work on one part. `cargo xtask bench` measures comparisons, in one run and by turns.

use std::hint::black_box;
use std::sync::atomic::AtomicU64;

use cora_core::hash::FlowHasher;
use cora_core::key::{Address, FiveTuple, Key as _, protocol};
use cora_core::packet::{Meta, Packet, checksum};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::{
    Changed, Described as _, Line, Memory, NO_FLOW, Pinned, Singleton, Tracked, Visit,
};
use cora_runtime::link::ring::{CONTROL_WORDS, Consumer, Producer, SharedMemory};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Returns a segment of 64 bytes with its frame check sequence left out, over IPv4 or IPv6.
fn segment(version: u8, tagged: bool) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if tagged {
        frame.extend([0x81, 0, 0, 7]);
    }
    if version == 4 {
        frame.extend([8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, protocol::TCP, 0, 0]);
        frame.extend([10, 0, 0, 1, 198, 18, 0, 1]);
        let ip = frame.len() - 20;
        let sum = checksum::internet(&frame[ip..]);
        frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 26, protocol::TCP, 64]);
        frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        frame.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
    frame.extend([0x13, 0x88, 1, 0xbb, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    frame.extend([0; 6]);
    frame
}

fn flow(number: u32) -> FiveTuple {
    FiveTuple {
        source: Address::v4(number.to_be_bytes()),
        destination: Address::v4([198, 18, 0, 1]),
        source_port: 5_000,
        destination_port: 443,
        protocol: protocol::TCP,
    }
}

fn packet(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packet");
    group.throughput(Throughput::Elements(1));
    for (name, mut frame) in [
        ("parse/ipv4", segment(4, false)),
        ("parse/ipv6", segment(6, false)),
        ("parse/ipv4 tagged", segment(4, true)),
    ] {
        group.bench_function(name, |bench| {
            bench.iter(|| Packet::new(black_box(&mut frame), Meta::default()).flow());
        });
    }
    let mut frame = segment(4, false);
    group.bench_function("rewrite/source and port", |bench| {
        let mut port = 0_u16;
        bench.iter(|| {
            port = port.wrapping_add(1);
            let mut packet = Packet::new(black_box(&mut frame), Meta::default());
            packet.set_source(Address::v4([192, 0, 2, 1]))?;
            packet.set_source_port(port)
        });
    });
    group.finish();
}

fn hash(criterion: &mut Criterion) {
    let (hasher, flow) = (FlowHasher::new(7), flow(1));
    criterion.bench_function("hash/five-tuple", |bench| {
        bench.iter(|| hasher.hash(&black_box(&flow).words()));
    });
}

/// Makes a table of 1,000 flows.
fn table() -> RawTable<FiveTuple, u64> {
    let shape = Shape { capacity: 1_000, spare: 8, idle: u64::MAX / 4, reply: true };
    let bytes = RawTable::<FiveTuple, u64>::bytes(shape);
    let lines = vec![Line::ZERO; bytes.div_ceil(Line::BYTES)].leak();
    let mut memory = Memory::new(lines).with_seed(7);
    let mut table = RawTable::create(&mut memory, shape).expect("as many lines as it asks for");
    table.begin(VISIT);
    for number in 0..1_000 {
        let key = flow(number);
        table.insert(key, key.reply(), 0).expect("it holds as many");
    }
    table
}

const VISIT: Visit = Visit { now: 1, horizon: 1, undo: false, flow: NO_FLOW, ahead: ALONE };

fn tables(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("table");
    group.throughput(Throughput::Elements(1));
    let mut table = table();
    for (name, first) in [("hit/1k", 0), ("miss/1k", 1_000)] {
        let mut number = 0;
        group.bench_function(name, |bench| {
            bench.iter(|| {
                number = (number + 7) % 1_000;
                table.begin(VISIT);
                table.find_mut(&flow(first + number)).map(|(_, count)| *count += 1)
            });
        });
    }
    group.bench_function("churn/1k", |bench| {
        let mut number = 0;
        bench.iter(|| {
            table.begin(VISIT);
            let gone = table.remove(&flow(number));
            let key = flow(number.wrapping_add(1_000));
            table.insert(key, key.reply(), 0).expect("one for one");
            table.commit();
            number = number.wrapping_add(1);
            gone
        });
    });
    group.finish();
}

/// Makes a ring of 64 KiB.
fn ring() -> (Producer<SharedMemory>, Consumer<SharedMemory>) {
    let words: Vec<AtomicU64> = (0..CONTROL_WORDS + 8_192).map(|_| AtomicU64::new(0)).collect();
    let memory = SharedMemory::new(words.leak()).expect("a ring's size");
    (Producer::new(memory), Consumer::new(memory))
}

fn rings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ring, one thread");
    for bytes in [56, 100, 1_500] {
        let (mut producer, mut consumer) = ring();
        let (record, mut buffer) = (vec![7; bytes], vec![0; 2_048]);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(format!("push and pop/{bytes} bytes"), |bench| {
            bench.iter_batched(
                || (),
                |()| {
                    producer.push(1, &[black_box(&record)]).expect("room");
                    producer.publish();
                    let popped = consumer.pop(&mut buffer).expect("an honest peer");
                    consumer.release();
                    popped
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// The elements of a pool, a durable singleton with a `u16` before them.
trait Elements: Plain {
    type One: Copy + Default;
    const COUNT: usize;
    fn new() -> Self;
    fn set(&mut self, at: usize, value: Self::One);
}

impl<T: Plain + Default, const N: usize> Elements for [T; N] {
    type One = T;
    const COUNT: usize = N;
    fn new() -> Self {
        [T::default(); N]
    }
    fn set(&mut self, at: usize, value: T) {
        self[at] = value;
    }
}

impl<T: Plain + Default, const N: usize> Elements for Tracked<T, N> {
    type One = T;
    const COUNT: usize = N;
    fn new() -> Self {
        Self::new([T::default(); N])
    }
    fn set(&mut self, at: usize, value: T) {
        *self.get_mut(at).expect("within") = value;
    }
}

#[derive(Clone, Copy)]
struct Pool<A> {
    next: u16,
    all: A,
}

impl<A: Plain> Plain for Pool<A> {
    const SIZE: usize = 2 + A::SIZE;
    const DURABLE: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.next.put(out);
        self.all.put(out.get_mut(2..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Some(Self { next: Plain::get(bytes)?, all: Plain::get(bytes.get(2..)?)? })
    }
    fn put_changed(&mut self, kept: &mut [u8], at: usize, changed: &mut Changed<'_>) {
        self.next.put_changed(kept, at, changed);
        self.all.put_changed(kept.get_mut(2..).unwrap_or_default(), at + 2, changed);
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

impl<A: Elements> Default for Pool<A> {
    fn default() -> Self {
        Self { next: 0, all: A::new() }
    }
}

/// Seven bytes in an encoding field by field.
#[derive(Clone, Copy, Default)]
struct Mapping(u32, u16, u8);

impl Plain for Mapping {
    const SIZE: usize = 7;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
        self.1.put(out.get_mut(4..).unwrap_or_default());
        self.2.put(out.get_mut(6..).unwrap_or_default());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let (second, third) = (Plain::get(bytes.get(4..)?)?, Plain::get(bytes.get(6..)?)?);
        Some(Self(Plain::get(bytes)?, second, third))
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

impl<A: Elements> Singleton for Pool<A> {
    const NAME: &'static str = "Pool";
}

/// Measures a burst that changed an element of the singleton, and the first field.
fn told<A: Elements>(criterion: &mut Criterion, name: &str, other: A::One) {
    let bytes = Pinned::<Pool<A>>::BYTES;
    let lines = vec![Line::ZERO; bytes / Line::BYTES + 8].leak();
    let mut pool = Pinned::<Pool<A>>::create(&mut Memory::new(lines)).expect("memory");
    let (mut at, mut round) = (0, 0_usize);
    criterion.bench_function(&format!("durable singleton/{name}"), |bench| {
        bench.iter(|| {
            let pool_now = pool.value();
            pool_now.next = pool_now.next.wrapping_add(1);
            at = (at + 7) % A::COUNT;
            round += 1;
            let is_other = (round / A::COUNT).is_multiple_of(2);
            pool_now.all.set(at, if is_other { black_box(other) } else { A::One::default() });
            let kept = pool.kept().expect("durable");
            kept.tell(&mut |at, block| {
                black_box((at, block));
            });
        });
    });
}

fn singletons(criterion: &mut Criterion) {
    const MAPPING: Mapping = Mapping(7, 7, 7);
    told::<[u32; 256]>(criterion, "1 KiB of u32", 7);
    told::<[u32; 32_768]>(criterion, "128 KiB of u32", 7);
    told::<[Mapping; 4_096]>(criterion, "28 KiB of structs", MAPPING);
    told::<[Mapping; 32_768]>(criterion, "224 KiB of structs", MAPPING);
    told::<Tracked<u32, 32_768>>(criterion, "128 KiB of u32, tracked", 7);
    told::<Tracked<u32, 262_144>>(criterion, "1 MiB of u32, tracked", 7);
    told::<Tracked<Mapping, 32_768>>(criterion, "224 KiB of structs, tracked", MAPPING);
}

criterion_group!(parts, packet, hash, tables, rings, singletons);
criterion_main!(parts);
