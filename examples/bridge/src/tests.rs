//! The handler, frame by frame.

use super::*;

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const C: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
const ALL: [u8; 6] = [0xff; 6];

struct Link {
    conversations: cora::testing::TestTable<Conversation>,
    stations: cora::testing::TestMerged<Stations>,
}

impl Link {
    fn new() -> Self {
        Self { conversations: cora::testing::table(), stations: cora::testing::merged() }
    }

    /// A frame comes in at a port, so many seconds after the first, long before the next one.
    fn frame(&mut self, port: Port, source: [u8; 6], destination: [u8; 6], second: u64) -> Verdict {
        let verdict = self.before_merge(port, source, destination, second);
        cora::testing::merge(&mut self.stations);
        verdict
    }

    /// The same, and the next one comes at once.
    fn before_merge(
        &mut self,
        port: Port,
        source: [u8; 6],
        destination: [u8; 6],
        second: u64,
    ) -> Verdict {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&destination);
        frame[6..12].copy_from_slice(&source);
        let now = (1_000 + second) * SECOND;
        let mut packet = Packet::new(&mut frame, Meta { time: now, now, port, ..Meta::default() });
        bridge(&mut packet, &mut self.conversations, &mut self.stations)
    }
}

#[test]
fn what_stays_on_one_side_is_dropped() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, A, B, 0), Transmit, "nobody knows where B is");
    assert_eq!(link.frame(Port::INSIDE, B, A, 1), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::INSIDE, A, B, 2), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::OUTSIDE, C, A, 3), Transmit);
    assert_eq!(link.frame(Port::INSIDE, A, C, 4), Transmit);
}

#[test]
fn a_station_is_known_to_all_others() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, B, ALL, 0), Transmit, "it is for everybody");
    assert_eq!(link.frame(Port::INSIDE, A, B, 1), Drop(SAME_SIDE), "B never said anything to A");
}

#[test]
fn until_the_merge_only_whom_it_talks_to_knows_a_station() {
    let mut link = Link::new();
    assert_eq!(link.before_merge(Port::INSIDE, B, A, 0), Transmit);
    assert_eq!(link.before_merge(Port::INSIDE, A, B, 0), Drop(SAME_SIDE));
    assert_eq!(link.before_merge(Port::INSIDE, C, B, 0), Transmit, "not yet");
    cora::testing::merge(&mut link.stations);
    assert_eq!(link.before_merge(Port::INSIDE, C, B, 0), Drop(SAME_SIDE));
}

#[test]
fn a_station_that_moves_is_followed() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, B, A, 0), Transmit);
    assert_eq!(link.frame(Port::INSIDE, A, B, 1), Drop(SAME_SIDE));
    // At once by the station that it talks to.
    assert_eq!(link.before_merge(Port::OUTSIDE, B, A, 2), Transmit);
    assert_eq!(link.before_merge(Port::INSIDE, A, B, 2), Transmit);
    // And by others with the next merge.
    assert_eq!(link.before_merge(Port::OUTSIDE, C, B, 2), Transmit, "where it was");
    cora::testing::merge(&mut link.stations);
    assert_eq!(link.frame(Port::OUTSIDE, C, B, 3), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::INSIDE, B, ALL, 4), Transmit);
    assert_eq!(link.frame(Port::OUTSIDE, C, B, 4), Transmit);
    // Also where it said something else before.
    assert_eq!(link.frame(Port::OUTSIDE, A, B, 5), Transmit);
}

#[test]
fn a_silent_station_is_forgotten() {
    let mut link = Link::new();
    link.frame(Port::INSIDE, B, ALL, 0).unwrap();
    let age = AGE / SECOND;
    assert_eq!(link.frame(Port::INSIDE, A, B, age - 1), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::INSIDE, A, B, age), Transmit);
}

#[test]
fn what_no_bridge_forwards_is_dropped_by_name() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, ALL, A, 0), Drop(BAD_SOURCE));
    assert_eq!(link.frame(Port::INSIDE, [0; 6], A, 0), Drop(BAD_SOURCE));
    assert_eq!(link.frame(Port::INSIDE, A, [1, 0x80, 0xc2, 0, 0, 0], 0), Drop(FOR_BRIDGES));
    assert_eq!(link.frame(Port::INSIDE, A, [1, 0x80, 0xc2, 0, 0, 16], 0), Transmit);
}

/// One that talks all the time tells the others once a second.
#[test]
fn a_station_that_talks_lives() {
    let mut link = Link::new();
    for second in 0..AGE / SECOND + 2 {
        link.frame(Port::INSIDE, B, A, second).unwrap();
    }
    assert_eq!(link.frame(Port::INSIDE, C, B, AGE / SECOND + 2), Drop(SAME_SIDE));
}
