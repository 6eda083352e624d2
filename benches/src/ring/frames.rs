//! Frames of 1500 bytes: Cora's ring against copying alone.

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cora_runtime::link::ring::{Consumer, Producer, SharedMemory, record_bytes};

use super::pair::{Patience, together};
use super::queue::{Apart, shared};

const FRAME: usize = 1500;
/// Bytes between the two threads, in a ring or in the two halves of a buffer.
const BYTES: usize = 256 << 10;
/// Frames published together.
const BATCH: usize = 32;

/// Fills a frame: its first word is its number, and every other byte is the same.
fn number_frame(frame: &mut [u8; FRAME], number: u64) {
    frame[..8].copy_from_slice(&number.to_le_bytes());
}

fn check_frame(frame: &[u8; FRAME], number: u64) {
    let (first, last) = (frame.first_chunk().copied(), frame.last());
    assert_eq!((first.map(u64::from_le_bytes), last), (Some(number), Some(&0x5a)));
}

/// Makes a ring for frames.
pub(super) fn ends() -> (Apart<Producer<SharedMemory>>, Apart<Consumer<SharedMemory>>) {
    let memory = shared(BYTES);
    (Apart(Producer::new(memory)), Apart(Consumer::new(memory)))
}

/// Sends frames through Cora's ring; returns ns per frame.
pub(super) fn through_ring(
    (Apart(producer), Apart(consumer)): &mut (
        Apart<Producer<SharedMemory>>,
        Apart<Consumer<SharedMemory>>,
    ),
    count: u64,
) -> f64 {
    let here = move || {
        // Each frame's first word is its number; the other words are equal in all frames.
        let (others, mut patience) = ([0x5a; FRAME - 8], Patience::default());
        for number in 0..count {
            while producer.push_behind(1, &[number], black_box(&others)).is_err() {
                producer.publish();
                patience.wait();
            }
            if number % BATCH as u64 == 0 {
                producer.publish();
            }
        }
        producer.publish();
    };
    let there = move || {
        let (mut frame, mut patience, mut number) = ([0; FRAME], Patience::default(), 0);
        while number < count {
            for _ in 0..BATCH {
                if consumer.pop(&mut frame).expect("an honest peer").is_none() {
                    patience.wait();
                    break;
                }
                check_frame(black_box(&frame), number);
                number += 1;
            }
            consumer.release();
        }
    };
    together(here, there) / count as f64
}

/// Measures the upper bound for any ring that copies in and out: frames are copied by `memcpy` into
/// half a buffer, which is handed over whole, and copied out there. Returns ns per frame.
pub(super) fn handed_over(count: u64) -> f64 {
    const STRIDE: usize = record_bytes(FRAME);
    const FRAMES: usize = BYTES / 2 / STRIDE;
    let halves = [(); 2].map(|()| Mutex::new(vec![0_u8; BYTES / 2]));
    let (filled, emptied) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let rounds = (count as usize).div_ceil(FRAMES);
    let wait = |index: &AtomicUsize, least: usize| {
        let mut patience = Patience::default();
        while index.load(Ordering::Acquire) < least {
            patience.wait();
        }
    };
    let here = || {
        let (mut frame, mut number) = ([0x5a; FRAME], 0);
        for round in 0..rounds {
            wait(&emptied, (round + 1).saturating_sub(2));
            let mut half = halves[round % 2].lock().expect("nobody panics");
            for place in half.chunks_exact_mut(STRIDE) {
                number_frame(&mut frame, number);
                place[..FRAME].copy_from_slice(black_box(&frame));
                number += 1;
            }
            drop(half);
            filled.store(round + 1, Ordering::Release);
        }
    };
    let there = || {
        let (mut frame, mut number) = ([0; FRAME], 0);
        for round in 0..rounds {
            wait(&filled, round + 1);
            let half = halves[round % 2].lock().expect("nobody panics");
            for place in half.chunks_exact(STRIDE) {
                frame.copy_from_slice(&place[..FRAME]);
                check_frame(black_box(&frame), number);
                number += 1;
            }
            drop(half);
            emptied.store(round + 1, Ordering::Release);
        }
    };
    together(here, there) / (rounds * FRAMES) as f64
}

/// Copies frames in and out of a buffer of the ring's size in one thread; returns ns per frame.
pub(super) fn one_thread(count: u64) -> f64 {
    const STRIDE: usize = record_bytes(FRAME);
    let mut buffer = vec![0_u8; BYTES];
    let (mut frame, mut out) = ([0x5a; FRAME], [0; FRAME]);
    let start = std::time::Instant::now();
    let mut number = 0;
    while number < count {
        for places in buffer.chunks_mut(STRIDE * BATCH) {
            let first = number;
            for place in places.chunks_exact_mut(STRIDE) {
                number_frame(&mut frame, number);
                place[..FRAME].copy_from_slice(black_box(&frame));
                number += 1;
            }
            for (place, number) in places.chunks_exact(STRIDE).zip(first..) {
                out.copy_from_slice(&place[..FRAME]);
                check_frame(black_box(&out), number);
            }
        }
    }
    start.elapsed().as_nanos() as f64 / number as f64
}
