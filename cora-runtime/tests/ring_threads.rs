//! The ring and the region between two threads, on the memory that runs: the tests for Miri.
#![cfg(not(loom))]

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use cora_runtime::link::region::{
    AttachError, HEADER_BYTES, HashSeed, Identity, LAYOUT_VERSION, NicStatus, Region, RegionLayout,
};
use cora_runtime::link::ring::{Consumer, Producer, PushError, SharedMemory};

const RECORDS: u64 = if cfg!(miri) { 50 } else { 200_000 };

/// A wait for the other thread, with a bound in case that thread has failed.
#[derive(Default)]
struct Patience(u64);

impl Patience {
    fn wait(&mut self) {
        self.0 += 1;
        assert!(self.0 < if cfg!(miri) { 20_000 } else { 50_000_000 }, "the other side is gone");
        thread::yield_now();
    }
}

/// Words that live as long as the process, and begin at a cache line, as a mapping does. They stay
/// reachable, so that leak checks do not report them.
fn words(count: usize) -> &'static [AtomicU64] {
    static KEPT: Mutex<Vec<&'static [AtomicU64]>> = Mutex::new(Vec::new());
    let words: &[AtomicU64] = Vec::leak((0..count + 7).map(|_| AtomicU64::new(!0)).collect());
    KEPT.lock().expect("no test panics here").push(words);
    let skip = words.as_ptr().addr().wrapping_neg() % 64 / 8;
    &words[skip..skip + count]
}

/// Payload of record `number`, which determines length and bytes.
fn payload(number: u64) -> Vec<u8> {
    (0..number * 37 % 200).map(|at| (at ^ number) as u8).collect()
}

fn produce(memory: SharedMemory) {
    let (mut producer, mut patience) = (Producer::new(memory), Patience::default());
    for number in 0..RECORDS {
        let payload = payload(number);
        let (head, tail) = payload.split_at(payload.len() / 3);
        loop {
            match producer.push(number as u16, &[head, tail]) {
                Ok(()) => break,
                Err(PushError::Full) => {
                    producer.publish();
                    patience.wait();
                }
                Err(error) => panic!("{error}"),
            }
        }
        if number % 3 == 0 {
            producer.publish();
        }
    }
    producer.publish();
}

fn consume(memory: SharedMemory) {
    let (mut consumer, mut patience) = (Consumer::new(memory), Patience::default());
    let mut buffer = vec![0; consumer.max_record()];
    let mut number = 0;
    while number < RECORDS {
        if let Some(record) = consumer.pop(&mut buffer).expect("an honest peer") {
            assert_eq!(record.kind, number as u16);
            assert_eq!(buffer[..record.len], payload(number));
            number += 1;
            if number % 5 == 0 {
                consumer.release();
            }
        } else {
            consumer.release();
            patience.wait();
        }
    }
    assert_eq!(consumer.is_empty(), Ok(true));
}

fn identity() -> Identity {
    Identity { plan: 0x1234, generation: 3, seed: HashSeed(99), resident: true, afresh: false }
}

#[test]
fn ring_carries_records_from_thread_to_thread() {
    let layout = RegionLayout::new([1024; 4]).expect("possible sizes");
    let words = words(layout.bytes() / 8);
    let host = Region::create(words, &layout, identity()).expect("long enough");
    assert_eq!(host.nic_status(), Some(NicStatus::Starting));
    thread::scope(|scope| {
        scope.spawn(|| {
            let nic = Region::attach(words, 0x1234).expect("the same plan");
            assert_eq!(nic.identity(), identity());
            nic.set_nic_status(NicStatus::Running);
            produce(nic.rings().punt);
            nic.set_nic_status(NicStatus::Done);
        });
        consume(host.rings().punt);
    });
    assert_eq!(host.nic_status(), Some(NicStatus::Done));
}

/// Long and short ones are copied in different ways.
#[test]
fn ring_carries_frames_of_any_length_from_thread_to_thread() {
    let words = words(32 + 8192);
    for word in words {
        word.store(0, Relaxed);
    }
    let memory = SharedMemory::new(words).expect("a ring's size");
    let body = |number: u64| -> Vec<u8> {
        (0..number * 97 % 1600).map(|at| ((at * 7) ^ (at >> 8) ^ number) as u8).collect()
    };
    let frames = RECORDS / 10;
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut producer, mut patience) = (Producer::new(memory), Patience::default());
            for number in 0..frames {
                while let Err(error) = producer.push_behind(1, &[number], &body(number)) {
                    assert_eq!(error, PushError::Full);
                    producer.publish();
                    patience.wait();
                }
            }
            producer.publish();
        });
        let (mut consumer, mut patience) = (Consumer::new(memory), Patience::default());
        let (mut buffer, mut number) = (vec![0; consumer.max_record()], 0);
        while number < frames {
            if let Some(record) = consumer.pop(&mut buffer).expect("an honest peer") {
                let (head, frame) = buffer[..record.len].split_at(8);
                assert_eq!((head, frame), (&number.to_le_bytes()[..], &body(number)[..]));
                number += 1;
            } else {
                consumer.release();
                patience.wait();
            }
        }
    });
}

/// The indices are words 0 and 16 of a ring's memory.
#[test]
fn ring_survives_nonsense_in_shared_memory() {
    let words = words(32 + 32);
    let memory = SharedMemory::new(words).expect("a ring's size");
    for (head, tail) in [(!0, !0), (8, 0), (0, 8), (1 << 63, 0), (!7, !7), (!7, 0), (32, 0)] {
        words[0].store(head, Relaxed);
        words[16].store(tail, Relaxed);
        let (mut producer, mut consumer) = (Producer::new(memory), Consumer::new(memory));
        if producer.push(1, &[b"honest"]).is_ok() {
            producer.publish();
        }
        let (mut buffer, mut popped) = ([0; 64], 0);
        while let Ok(Some(_)) = consumer.pop(&mut buffer) {
            popped += 1;
        }
        assert!(popped <= 3, "four lines hold three records and what ends them");
    }
}

#[test]
fn ring_memory_has_a_size_a_ring_can_have() {
    let words = words(32 + 128);
    assert!(SharedMemory::new(&words[..32 + 32]).is_some());
    assert!(SharedMemory::new(&words[..32 + 128]).is_some());
    for count in [0, 31, 32, 32 + 16, 32 + 31, 32 + 33, 32 + 96] {
        assert!(SharedMemory::new(&words[..count]).is_none(), "{count} words");
    }
}

#[test]
fn region_refuses_in_sentences() {
    let layout = RegionLayout::new([512; 4]).expect("possible sizes");
    let words = words(layout.bytes() / 8);
    let needs = layout.bytes();
    let attach = |words| Region::attach(words, 0x1234).map(|region| region.identity());
    let is = |outcome: Result<Identity, AttachError>, sentence: &str| {
        let error = outcome.expect_err(sentence);
        assert_eq!(error.to_string(), sentence);
        assert!((1..64).contains(&error.code()));
    };
    is(attach(words), "the shared memory is not a Cora region: it begins with 0xffffffffffffffff");
    is(
        Region::create(&words[..600], &layout, identity()).map(|region| region.identity()),
        &format!("the shared region has 4800 bytes where it needs {needs}"),
    );
    Region::create(words, &layout, identity()).expect("long enough");
    assert_eq!(attach(words), Ok(identity()));
    let newer = |seen| Region::attach_newer(words, 0x1234, seen).map(|region| region.identity());
    let generation = identity().generation;
    assert_eq!(newer(generation - 1), Ok(identity()));
    is(
        newer(generation),
        &format!(
            "the shared region is of generation {generation}, and generation {generation} was seen before: attach to the region that the living side made last"
        ),
    );
    let cut = HEADER_BYTES / 8 + 88;
    is(
        attach(&words[..cut]),
        &format!("the shared region has {} bytes where it needs {needs}", 8 * cut),
    );
    is(
        attach(&words[..600]),
        &format!("the shared region has 4800 bytes where it needs {HEADER_BYTES}"),
    );
    is(
        attach(&words[..5]),
        &format!("the shared region has 40 bytes where it needs {HEADER_BYTES}"),
    );
    is(
        Region::attach(words, 5).map(|region| region.identity()),
        "the shared region carries plan 0x0000000000001234, but this program was built for plan \
         0x0000000000000005: build both halves from one source (cargo build --features nic)",
    );
    words[1].store(77, Relaxed);
    is(
        attach(words),
        &format!(
            "the shared region has layout version 77, but this program was built with version \
             {LAYOUT_VERSION}: build both halves with one version of Cora"
        ),
    );
}

/// A side that knows the region without its header goes on, whatever a peer writes there.
#[test]
fn region_that_is_known_can_not_be_talked_away() {
    let layout = RegionLayout::new([512; 4]).expect("possible sizes");
    let words = words(layout.bytes() / 8);
    let made = Region::create(words, &layout, identity()).expect("long enough");
    let sound = format!("{:?}", made.rings());
    for (at, word) in [(0, 0), (1, 77), (2, 5), (3, u64::MAX), (5, 8), (8, 1 << 40), (15, 3)] {
        words[at].store(word, Relaxed);
        let known = Region::known(words, &layout, identity()).expect("nothing is read of it");
        assert_eq!((known.identity(), format!("{:?}", known.rings())), (identity(), sound.clone()));
        assert!(Region::attach(words, 0x1234).is_err() || at == 3, "word {at} = {word}");
    }
    let short = Region::known(&words[..600], &layout, identity()).map(|region| region.identity());
    assert!(matches!(short, Err(AttachError::TooShort { .. })), "{short:?}");
}

#[test]
fn region_tells_the_host_of_a_refusal() {
    let layout = RegionLayout::new([512; 4]).expect("possible sizes");
    let words = words(layout.bytes() / 8);
    cora_runtime::link::region::refuse(words, 9);
    let host = Region::create(words, &layout, identity()).expect("long enough");
    assert_eq!(host.nic_status(), Some(NicStatus::Starting), "no region, nothing written");
    let error = Region::attach(words, 1).expect_err("another plan");
    cora_runtime::link::region::refuse(words, error.code());
    assert_eq!(host.nic_status(), Some(NicStatus::Refused(error.code())));
}

#[test]
fn region_rings_lie_within_and_apart() {
    const HEADER: u64 = HEADER_BYTES as u64;
    let layout = RegionLayout::new([512; 4]).expect("possible sizes");
    let words = words(layout.bytes() / 8);
    // Words 8 to 15 of the header: offset and size of each ring.
    for (at, bad) in [
        (8, 0),
        (8, HEADER + 64),
        (8, HEADER + 256),
        (8, u64::MAX),
        (8, u64::MAX - 255),
        (8, 1 << 40),
        (9, 0),
        (9, 513),
        (9, 1024),
        (9, u64::MAX),
        (9, 1 << 63),
        (10, HEADER),
        (14, HEADER),
    ] {
        Region::create(words, &layout, identity()).expect("long enough");
        words[at].store(bad, Relaxed);
        let outcome = Region::attach(words, 0x1234).map(|region| region.identity());
        assert!(
            matches!(outcome, Err(AttachError::BadRing { .. })),
            "word {at} = {bad}: {outcome:?}"
        );
    }
    Region::create(words, &layout, identity()).expect("long enough");
    words[5].store(HEADER, Relaxed);
    let error = Region::attach(words, 0x1234).expect_err("rings beyond the region");
    assert_eq!(
        error.to_string(),
        format!(
            "part 1 of wire-in, wire-out, punt, back and payload buffers (offset {HEADER}, 512 \
             bytes) does not fit the shared region of {HEADER} bytes"
        )
    );
}

#[test]
fn region_layouts_are_checked() {
    let error = RegionLayout::new([512, 512, 500, 512]).expect_err("no power of two");
    assert_eq!(
        error.to_string(),
        "the ring punt can't have 500 bytes: it takes a power of two from 256 to 1073741824"
    );
    assert!(RegionLayout::new([128; 4]).is_err());
    assert!(RegionLayout::new([1 << 31; 4]).is_err());
}
