//! Frames a second there and back by each kind of port. One thread sends by AF_XDP; another returns
//! the frames by the measured port, in bursts of 32, with exchanged addresses.
//!
//! `cargo run --release -p cora-port --example echo [SECONDS [BYTES]]`, as root: it makes two
//! network namespaces, and prints a line of JSON per port.
#![expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]

#[path = "../tests/veth/pair.rs"]
mod pair;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use cora_port::{Port, PortError};
use pair::Pair;

const BURST: usize = 32;
/// Most frames under way: fewer than any ring holds.
const WINDOW: u64 = 512;
/// After this time without a frame, those under way are lost.
const LOST: Duration = Duration::from_millis(20);

/// Frames in one buffer that is reused.
struct Burst {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Burst {
    const fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new() }
    }

    fn receive(&mut self, port: &mut dyn Port) -> Result<usize, PortError> {
        self.bytes.clear();
        self.ends.clear();
        let (bytes, ends) = (&mut self.bytes, &mut self.ends);
        port.receive(BURST, &mut |frame| {
            bytes.extend_from_slice(frame);
            ends.push(bytes.len());
        })
    }

    /// Exchanges the addresses of each frame, and sends them all.
    fn hand_back(&mut self, port: &mut dyn Port) -> Result<(), PortError> {
        let mut frames: [&[u8]; BURST] = [&[]; BURST];
        let mut rest = self.bytes.as_mut_slice();
        let mut start = 0;
        for (place, end) in frames.iter_mut().zip(&self.ends) {
            let (frame, behind) = rest.split_at_mut(end - start);
            let (to, from) = frame.split_at_mut(6);
            to.swap_with_slice(&mut from[..6]);
            (*place, rest, start) = (frame, behind, *end);
        }
        port.transmit(&frames[..self.ends.len()]);
        port.flush()
    }
}

/// Returns received frames until it is told to stop.
fn echo(mut port: Box<dyn Port>, stop: Arc<AtomicBool>) -> JoinHandle<Box<dyn Port>> {
    spawn(move || {
        let mut burst = Burst::new();
        while !stop.load(Ordering::Relaxed) {
            let came = burst.receive(port.as_mut()).expect("the interface stays");
            if came == 0 {
                std::thread::yield_now();
            } else {
                burst.hand_back(port.as_mut()).expect("the interface stays");
            }
        }
        port
    })
}

/// Sends for `time`; returns the rate of returned frames a second, and the number lost.
fn generate(port: &mut dyn Port, time: Duration, size: usize) -> Result<(f64, u64), PortError> {
    let mut frame = vec![7; size];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let frames = [frame.as_slice(); BURST];
    let (mut sent, mut came, mut lost) = (0, 0, 0);
    let begun = Instant::now();
    let mut heard = begun;
    while begun.elapsed() < time {
        let back = port.receive(BURST, &mut |_| ())? as u64;
        came += back;
        if back > 0 {
            heard = Instant::now();
        } else if heard.elapsed() > LOST {
            lost += sent - came - lost;
            heard = Instant::now();
        }
        if sent - came - lost + BURST as u64 <= WINDOW {
            sent += port.transmit(&frames) as u64;
            port.flush()?;
        } else if back == 0 {
            std::thread::yield_now();
        }
    }
    Ok((came as f64 / begun.elapsed().as_secs_f64(), lost))
}

fn measure(kind: &str, time: Duration, size: usize) -> Option<()> {
    let pair = Pair::new("echo")?;
    let opened = "the port that is measured opens";
    let (port, generator) = if kind == "tap:t0" {
        let tap = pair.open(0, kind).expect(opened);
        pair.ip(0, "link set dev t0 up").expect("it is there");
        (tap, pair.open(0, "xdp:t0?attach=generic"))
    } else {
        (pair.open(1, kind).expect(opened), pair.open(0, "xdp:a?attach=generic"))
    };
    let mut generator = generator.expect("AF_XDP is there");
    let stop = Arc::new(AtomicBool::new(false));
    let notes = port.notes();
    let thread = echo(port, Arc::clone(&stop));
    let measured = generate(generator.as_mut(), time, size);
    stop.store(true, Ordering::Relaxed);
    let port = thread.join().expect("it ends in good order");
    let (rate, lost) = measured.expect("the interface stays");
    let (mpps, count) = (rate / 1e6, port.counters());
    println!(
        "{{\"port\":\"{kind}\",\"bytes\":{size},\"mpps\":{mpps:.3},\"lost\":{lost},\"ring_full\":{},\"notes\":{notes:?}}}",
        count.receive_ring_full + count.transmit_ring_full
    );
    Some(())
}

/// Measures the loop itself: frames made in memory are handed back to it.
fn in_memory(time: Duration, size: usize) {
    let name = format!("mem:flows=16;size={size}").parse().expect("a name");
    let mut port = cora_port::open(&name).expect("memory is always there");
    let (mut burst, begun) = (Burst::new(), Instant::now());
    while begun.elapsed() < time {
        burst.receive(port.as_mut()).expect("it has no end");
        burst.hand_back(port.as_mut()).expect("it has no end");
    }
    let mpps = port.counters().transmitted as f64 / begun.elapsed().as_secs_f64() / 1e6;
    println!("{{\"port\":\"mem\",\"bytes\":{size},\"mpps\":{mpps:.3}}}");
}

fn main() {
    let mut numbers = std::env::args().skip(1).map(|it| it.parse::<usize>().expect("a number"));
    let time = Duration::from_secs(numbers.next().unwrap_or(3) as u64);
    let size = numbers.next().unwrap_or(60).max(60);
    for kind in ["xdp:b?attach=native", "xdp:b?attach=generic", "packet:b", "tap:t0"] {
        if measure(kind, time, size).is_none() {
            break;
        }
    }
    in_memory(time, size);
}
