//! Short conversations: failed or fragmented ones, intrusions and floods.

use super::tcp::segment;
use super::{MICROSECOND, MILLISECOND, Queue, SECOND, error, payload};
use crate::random::Random;
use crate::wire::{self, ACK, Fragment, Path, RST, SYN, UDP};

/// Makes an unanswered connection: the client may repeat its SYN after 1, 2 and 4 seconds.
pub(crate) fn half_open(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    let syn = segment(path, SYN, random.next() as u32, 0, &[]);
    let tries = random.between(1, 4);
    for (_, wait) in (0..tries).zip([0, SECOND, 2 * SECOND, 4 * SECOND]) {
        queue.push(wait, path, syn.clone());
    }
    queue
}

/// Makes a connection to a closed port.
pub(crate) fn refused(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    let sequence = random.next() as u32;
    queue.push(0, path, segment(path, SYN, sequence, 0, &[]));
    let reset = segment(&path.back(), RST | ACK, 0, sequence.wrapping_add(1), &[]);
    queue.push(random.between(1, 60) * MILLISECOND, &path.back(), reset);
    queue
}

/// Makes a datagram to a closed port and its ICMP error, from outside or from inside.
pub(crate) fn unreachable(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    let refuse = |queue: &mut Queue, along: &Path, random: &mut Random| {
        let data = payload(random, 40);
        let datagram = wire::frame(along, UDP, &wire::udp(along, &data, true));
        let (back, complaint) = error(along, &datagram, [[3, 3], [1, 4]], [0; 4], false);
        queue.push(500 * MICROSECOND, along, datagram);
        queue.push(20 * MILLISECOND, &back, complaint);
    };
    if random.percent(30) {
        let data = payload(random, 30);
        queue.push(0, path, wire::frame(path, UDP, &wire::udp(path, &data, true)));
        refuse(&mut queue, &path.back(), random);
    } else {
        refuse(&mut queue, path, random);
    }
    queue
}

/// Makes packets with a hop limit that ends on the way, as for the trace of a route.
pub(crate) fn expired(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    for hops in 1..=random.between(1, 3) {
        let path = Path { hops: hops as u8, ..*path };
        let data = payload(random, 32);
        let probe = wire::frame(&path, UDP, &wire::udp(&path, &data, true));
        let (back, complaint) = error(&path, &probe, [[11, 0], [3, 0]], [0; 4], true);
        queue.push(MILLISECOND, &path, probe);
        queue.push(9 * MILLISECOND, &back, complaint);
    }
    queue
}

/// Makes a datagram and an answer in fragments; some out of order, some never complete.
pub(crate) fn fragments(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    for path in [*path, path.back()] {
        let length = random.between(1_500, 5_000);
        let datagram = wire::udp(&path, &payload(random, length), true);
        let pieces: Vec<&[u8]> = datagram.chunks(1_400).collect();
        let sent = if random.percent(10) { pieces.len() - 1 } else { pieces.len() };
        for (number, piece) in pieces.iter().enumerate().take(sent) {
            let more = number + 1 < pieces.len();
            let place = Fragment { offset: number as u16 * 1_400, more };
            let wait = if number == 0 { 10 * MILLISECOND } else { 13 * MICROSECOND };
            queue.push(wait, &path, wire::fragment(&path, UDP, piece, place));
        }
        if random.percent(25) {
            queue.swap_last_two();
        }
    }
    queue
}

/// Makes an intrusion attempt from outside.
pub(crate) fn intrusion(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    let sequence = random.next() as u32;
    match random.below(4) {
        0 | 1 => {
            let syn = segment(path, SYN, sequence, 0, &[]);
            queue.push(0, path, syn.clone());
            queue.push(SECOND, path, syn);
        }
        2 => queue.push(0, path, segment(path, ACK, sequence, sequence ^ 0xffff, b"hello")),
        _ => queue.push(0, path, wire::frame(path, UDP, &wire::udp(path, b"\0\x01probe", true))),
    }
    queue
}

/// Makes one packet of a flood.
pub(crate) fn flood(path: &Path, random: &mut Random) -> Queue {
    let mut queue = Queue::default();
    queue.push(0, path, segment(path, SYN, random.next() as u32, 0, &[]));
    queue
}
