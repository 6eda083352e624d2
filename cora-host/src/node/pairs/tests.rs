//! The connection between the wire and a pair: nothing is lost, nothing overtakes, and nobody waits
//! for an ended peer.

use std::sync::mpsc::{channel, sync_channel};

use cora_core::packet::{MAX_FRAME, Meta};
use cora_runtime::exec::burst::BURST;
use cora_runtime::link::payload::Parked;

use super::batch::{Batch, FRAMES, Front};
use super::lane::{Mark, Returned, Steered};
use super::*;
use crate::ingress::capture::Next;

fn stamp(number: u64) -> Stamp {
    Stamp {
        meta: Meta { time: number, now: number, port: Port::INSIDE },
        number,
        horizon: 0,
        egress: Port::INSIDE,
        parked: Parked::NONE,
        missing: 0,
    }
}

fn frame(number: u64) -> Vec<u8> {
    vec![number as u8; 14 + (number as usize * 37) % 200]
}

fn batch(numbers: impl Iterator<Item = u64>) -> Batch {
    let mut batch = Batch::new();
    for number in numbers {
        assert!(batch.push(&stamp(number), &frame(number)), "no room for {number}");
    }
    batch
}

fn contents(batch: Batch) -> Vec<(u64, Vec<u8>)> {
    let mut front = Front::of(batch);
    let mut contents = Vec::new();
    while let Some((stamp, frame)) = front.peek() {
        contents.push((stamp.number, frame.to_vec()));
        front.pass();
    }
    contents
}

fn expected(numbers: impl Iterator<Item = u64>) -> Vec<(u64, Vec<u8>)> {
    numbers.map(|number| (number, frame(number))).collect()
}

#[test]
fn a_batch_holds_several_bursts_and_any_frame() {
    let mut full = batch(0..FRAMES as u64);
    assert!(!full.push(&stamp(999), &frame(999)), "more than it holds");
    let (mut seen, mut bursts) = (Vec::new(), Vec::new());
    let handled: Result<(), ()> = full.each_burst(|burst| {
        bursts.push(burst.len());
        for arrival in burst.arrivals() {
            seen.push((arrival.stamp().number, arrival.packet.frame().to_vec()));
        }
        Ok(())
    });
    assert_eq!((handled, bursts), (Ok(()), vec![BURST; FRAMES / BURST]));
    assert_eq!(seen, expected(0..FRAMES as u64));
    assert_eq!(contents(full), expected(0..FRAMES as u64));

    let mut longest = Batch::new();
    assert!(longest.push(&stamp(1), &vec![7; MAX_FRAME]));
    assert!(longest.push(&stamp(2), &vec![8; 2048 * 31 - 512]), "there is room for short ones");
    assert!(!longest.push(&stamp(3), &vec![9; MAX_FRAME]));
    let kept = contents(longest);
    assert_eq!((kept.len(), kept[0].1.len(), kept[1].1[0]), (2, MAX_FRAME, 8));
}

#[test]
fn a_lane_gives_every_batch_back_with_what_left() {
    let (wire, steered) = sync_channel(4);
    let (back, from) = channel();
    let mut lane = Lane::new(steered, back);
    let mut buffer = vec![0; MAX_FRAME];
    assert!(lane.is_quiet());
    assert_eq!(lane.next(&mut buffer).unwrap(), Next::NotYet);

    wire.send(Steered::Frames(batch(0..3))).unwrap();
    wire.send(Steered::Frames(batch(3..5))).unwrap();
    wire.send(Steered::End(77)).unwrap();
    assert!(!lane.is_quiet(), "a frame has come");
    for number in 0..5 {
        let Next::Frame(stamp, length) = lane.next(&mut buffer).unwrap() else {
            panic!("{number}")
        };
        assert_eq!((stamp.number, &buffer[..length]), (number, &frame(number)[..]));
        // Two frames leave for each one that arrives: more output than an input batch can hold is
        // accepted.
        for _ in 0..2 {
            lane.write(&stamp, &buffer[..length]).unwrap();
        }
    }
    assert_eq!(lane.next(&mut buffer).unwrap(), Next::End(77));
    assert_eq!(lane.next(&mut buffer).unwrap(), Next::End(77), "the end stays the end");
    assert_eq!(lane.packets(), (5, 10));
    lane.finish().unwrap();
    drop(lane);

    let returned: Vec<Returned> = from.iter().collect();
    let marks: Vec<Mark> = returned.iter().map(|returned| returned.mark).collect();
    assert_eq!(marks, [Mark::Emptied, Mark::Emptied, Mark::Last], "one per batch that came");
    let numbers: Vec<u64> = returned
        .into_iter()
        .flat_map(|returned| contents(returned.batch))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(numbers, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
}

#[test]
fn what_does_not_fit_goes_in_another_batch() {
    let (_wire, steered) = sync_channel(1);
    let (back, from) = channel();
    let mut lane = Lane::new(steered, back);
    let numbers = 0..3 * FRAMES as u64 + 5;
    for number in numbers.clone() {
        lane.write(&stamp(number), &frame(number)).unwrap();
    }
    lane.finish().unwrap();
    drop(lane);
    let returned: Vec<Returned> = from.iter().collect();
    assert!(returned.iter().all(|returned| returned.mark != Mark::Emptied), "none came");
    let left: Vec<_> = returned.into_iter().flat_map(|returned| contents(returned.batch)).collect();
    assert_eq!(left, expected(numbers));
}

#[test]
fn a_wire_that_is_gone_ends_the_pair() {
    let (wire, steered) = sync_channel(1);
    let (back, _from) = channel();
    let mut lane = Lane::new(steered, back);
    drop(wire);
    assert!(!lane.is_quiet(), "it has something to find out");
    let next = lane.next(&mut [0; 64]);
    assert!(matches!(next, Err(RunError::Abandoned)), "{next:?}");
    assert!(matches!(lane.receive(), Err(RunError::Abandoned)));
}
