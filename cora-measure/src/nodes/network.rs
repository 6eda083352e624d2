//! Datagrams between nodes, in memory: each goes to the queue of the node that it is for. Those for
//! none of them are answers to the client.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Bytes that were taken out of a queue before the rest moves to its beginning.
const TAKEN: usize = 64 << 10;

/// Frames that wait, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
    taken: usize,
}

impl Queue {
    fn push(&mut self, frame: &[u8]) {
        if self.taken >= TAKEN || self.lengths.is_empty() {
            drop(self.bytes.drain(..self.taken));
            self.taken = 0;
        }
        self.bytes.extend_from_slice(frame);
        self.lengths.push_back(frame.len());
    }

    /// Takes the first frame, and returns its length. One that is too long for `room` is lost.
    pub(super) fn take(&mut self, room: &mut [u8]) -> Option<usize> {
        loop {
            let length = self.lengths.pop_front()?;
            let frame = self.bytes.get(self.taken..self.taken + length)?;
            self.taken += length;
            if let Some(room) = room.get_mut(..length) {
                room.copy_from_slice(frame);
                return Some(length);
            }
        }
    }
}

/// The nodes' queues, and the client's answers.
#[derive(Debug)]
pub(super) struct Network {
    nodes: Vec<SocketAddrV4>,
    pub(super) queues: Vec<Queue>,
    /// Answers so far, and how many frames of each length they were.
    pub(super) answers: u64,
    pub(super) lengths: BTreeMap<usize, u64>,
}

impl Network {
    /// Between nodes at these addresses.
    pub(super) fn between(nodes: Vec<SocketAddrV4>) -> Self {
        let queues = nodes.iter().map(|_| Queue::default()).collect();
        Self { nodes, queues, answers: 0, lengths: BTreeMap::new() }
    }

    /// A frame arrives where it is sent to.
    pub(super) fn carry(&mut self, frame: &[u8]) {
        let to = destination(frame);
        if let Some(node) = self.nodes.iter().position(|node| Some(*node) == to) {
            self.queues[node].push(frame);
        } else {
            self.answers += 1;
            *self.lengths.entry(frame.len()).or_default() += 1;
        }
    }
}

/// Where a UDP datagram over IPv4 without options goes, as nodes write them.
fn destination(frame: &[u8]) -> Option<SocketAddrV4> {
    let &[8, 0, 0x45] = frame.get(12..15)? else { return None };
    let address: [u8; 4] = frame.get(30..34)?.try_into().ok()?;
    let port: [u8; 2] = frame.get(36..38)?.try_into().ok()?;
    Some(SocketAddrV4::new(Ipv4Addr::from(address), u16::from_be_bytes(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: SocketAddrV4, bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; 42 + bytes];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[30..34].copy_from_slice(&to.ip().octets());
        frame[36..38].copy_from_slice(&to.port().to_be_bytes());
        frame
    }

    #[test]
    fn frames_come_in_order_at_the_node_that_they_are_for_and_others_are_answers() {
        let nodes = [7_001, 7_002].map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        let mut network = Network::between(nodes.to_vec());
        let mut room = [0; 2_048];
        // More than a queue has bytes before it moves them.
        for number in 0..1_000 {
            network.carry(&frame(nodes[1], number));
            network.carry(&frame(nodes[1], number + 1));
            if number > 0 {
                assert_eq!(network.queues[1].take(&mut room), Some(42 + number));
            }
            assert_eq!(network.queues[1].take(&mut room), Some(42 + number));
        }
        assert_eq!(network.queues[1].take(&mut room), Some(42 + 1_000));
        assert_eq!(network.queues[1].take(&mut room), None);
        assert_eq!(network.queues[0].take(&mut room), None);
        network.carry(&frame(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9), 21));
        network.carry(&[0; 60]);
        assert_eq!(network.answers, 2);
        assert_eq!(network.lengths, BTreeMap::from([(60, 1), (63, 1)]));
        network.carry(&frame(nodes[0], 100));
        assert_eq!(network.queues[0].take(&mut [0; 80]), None, "it is too long");
    }
}
