//! The handler, frame by frame.

use super::*;

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const C: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
const ALL: [u8; 6] = [0xff; 6];

struct Link {
    conversations: cora::testing::TestTable<Conversation>,
    stations: Box<Stations>,
}

impl Link {
    fn new() -> Self {
        Self { conversations: cora::testing::table(), stations: Box::default() }
    }

    /// A frame comes in at a port, so many seconds after the first.
    fn frame(&mut self, port: Port, source: [u8; 6], destination: [u8; 6], second: u64) -> Verdict {
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
fn a_station_that_moves_is_followed() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, B, A, 0), Transmit);
    assert_eq!(link.frame(Port::INSIDE, A, B, 1), Drop(SAME_SIDE));
    // At once by whom it talks to.
    assert_eq!(link.frame(Port::OUTSIDE, B, A, 2), Transmit);
    assert_eq!(link.frame(Port::INSIDE, A, B, 3), Transmit);
    // And by others, when they ask again.
    assert_eq!(link.frame(Port::OUTSIDE, C, B, 4), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::INSIDE, B, ALL, 5), Transmit);
    assert_eq!(link.frame(Port::OUTSIDE, C, B, 6), Drop(SAME_SIDE), "not yet");
    assert_eq!(link.frame(Port::OUTSIDE, C, B, 4 + u64::from(REFRESH)), Transmit);
}

#[test]
fn a_silent_station_is_forgotten() {
    let mut link = Link::new();
    link.frame(Port::INSIDE, B, ALL, 0).unwrap();
    let almost = u64::from(AGE) - 1;
    assert_eq!(link.frame(Port::INSIDE, A, B, almost), Drop(SAME_SIDE));
    assert_eq!(link.frame(Port::INSIDE, A, B, almost + u64::from(REFRESH)), Transmit);
}

#[test]
fn what_no_bridge_forwards_is_dropped_by_name() {
    let mut link = Link::new();
    assert_eq!(link.frame(Port::INSIDE, ALL, A, 0), Drop(BAD_SOURCE));
    assert_eq!(link.frame(Port::INSIDE, [0; 6], A, 0), Drop(BAD_SOURCE));
    assert_eq!(link.frame(Port::INSIDE, A, [1, 0x80, 0xc2, 0, 0, 0], 0), Drop(FOR_BRIDGES));
    assert_eq!(link.frame(Port::INSIDE, A, [1, 0x80, 0xc2, 0, 0, 16], 0), Transmit);
}

/// More stations than a set has room for: the longest silent one is forgotten, others are not.
#[test]
fn a_full_set_forgets_the_longest_silent() {
    let mut stations = Box::<Stations>::default();
    let set = Stations::set(A).0;
    let all = (0_u32..).map(|number| {
        let [a, b, c, d] = number.to_be_bytes();
        [2, 1, a, b, c, d]
    });
    let mates: Vec<[u8; 6]> =
        all.filter(|mac| Stations::set(*mac).0 == set).take(WAYS + 1).collect();
    for (second, mac) in (10..).zip(&mates) {
        stations.learn(*mac, 1, second);
    }
    assert_eq!(stations.port_of(mates[0], 20), UNKNOWN);
    assert!(mates[1..].iter().all(|mac| stations.port_of(*mac, 20) == 1));
}
