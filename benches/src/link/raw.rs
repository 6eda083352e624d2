//! Raw frames: one end sends them back as they came, with exchanged addresses.

use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cora_host::parts::Wire;

use super::Took;
use super::veth::Pair;

/// Most frames on their way, as many as on the link's; and frames that are sent at once.
const WINDOW: u64 = 256;
const BURST: u64 = 64;
/// After this time without a frame, those on their way are lost.
const LOST: Duration = Duration::from_millis(20);
/// The EtherType that the link has, too.
const ETHERTYPE: [u8; 2] = cora_link::ETHERTYPE.to_be_bytes();

/// Sends frames of so many bytes for `time`.
pub(super) fn throughput(pair: &mut Pair, bytes: usize, time: Duration) -> Result<Took> {
    pair.time(|wire| generate(wire, bytes, time).map(|came| (came, came)), echo)
}

/// Sends one frame after the other; returns the time of each there and back, in ns.
pub(super) fn round_trips(pair: &mut Pair, bytes: usize, count: usize) -> Result<Vec<f64>> {
    let ask = |wire: &mut Wire| {
        let frame = frame(wire, bytes);
        (0..count).map(|_| round_trip(wire, &frame)).collect()
    };
    pair.run(ask, echo).map(|(times, _)| times)
}

fn frame(wire: &Wire, bytes: usize) -> Vec<u8> {
    let addresses = wire.addresses();
    let mut frame = [&addresses.peer[..], &addresses.own, &ETHERTYPE].concat();
    frame.resize(bytes, 7);
    frame
}

/// Whether it is of these frames: those of the kernel are others.
fn is_ours(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&ETHERTYPE)
}

fn receive(wire: &mut Wire) -> Result<u64> {
    let mut came = 0;
    let received = wire.receive(&mut |frame| came += u64::from(is_ours(frame)));
    received.map(|_| came).map_err(Error::other)
}

fn generate(wire: &mut Wire, bytes: usize, time: Duration) -> Result<u64> {
    let frame = frame(wire, bytes);
    let (mut sent, mut came, mut lost) = (0, 0, 0);
    let begun = Instant::now();
    let mut heard = begun;
    while begun.elapsed() < time {
        let back = receive(wire)?;
        came += back;
        if back > 0 {
            heard = Instant::now();
        } else if heard.elapsed() > LOST {
            (lost, heard) = (sent - came, Instant::now());
        }
        let room = WINDOW.saturating_sub(sent - came - lost).min(BURST);
        if room == 0 && back == 0 {
            std::thread::yield_now();
        }
        for _ in 0..room {
            sent += u64::from(wire.send(&frame));
        }
        wire.flush().map_err(Error::other)?;
    }
    Ok(came)
}

fn round_trip(wire: &mut Wire, frame: &[u8]) -> Result<f64> {
    let begun = Instant::now();
    wire.send(frame);
    wire.flush().map_err(Error::other)?;
    while receive(wire)? == 0 {
        if begun.elapsed() > LOST * 100 {
            return Err(Error::other("a raw frame was lost"));
        }
        std::thread::yield_now();
    }
    Ok(begun.elapsed().as_nanos() as f64)
}

/// Sends back what comes, until it is over.
fn echo(wire: &mut Wire, over: &AtomicBool) -> Result<()> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    while !over.load(Ordering::Acquire) {
        bytes.clear();
        ends.clear();
        let received = wire.receive(&mut |frame| {
            if is_ours(frame) {
                bytes.extend_from_slice(&frame[6..12]);
                bytes.extend_from_slice(&frame[..6]);
                bytes.extend_from_slice(&frame[12..]);
                ends.push(bytes.len());
            }
        });
        if received.map_err(Error::other)? == 0 {
            std::thread::yield_now();
            continue;
        }
        let mut begin = 0;
        for end in &ends {
            wire.send(&bytes[begin..*end]);
            begin = *end;
        }
        wire.flush().map_err(Error::other)?;
    }
    Ok(())
}
