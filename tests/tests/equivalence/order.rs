//! Which packets leave in the order they came in, where that isn't the two directions of a connection.
//!
//! Packets that share a group have an order among them, and no others do: under a source's key the two directions of
//! a connection are two flows, and each may be at another side.

use std::collections::BTreeMap;
use std::path::Path;

use cora::prelude::{Address, Packet};
use cora_tests::captures;
use cora_traffic::is_inside;

use crate::input::ip;

/// What a program's packets belong together by, where that is coarser than a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Group {
    Source,
    Inside,
}

/// The packets of each group; those without an address are one more.
type Groups = BTreeMap<Option<[Address; 2]>, Vec<Vec<u8>>>;

impl Group {
    /// That of the program with this name; `None` for connections.
    pub(crate) fn of(program: &str) -> Option<Self> {
        match program {
            "policer" | "port-scan" => Some(Self::Source),
            "connection-limiter" => Some(Self::Inside),
            _ => None,
        }
    }

    /// Where the port isn't known any more, both ends tell which is inside; when both are, they stay together.
    fn ends(self, packet: &Packet<'_>) -> Option<[Address; 2]> {
        let (source, destination) = (packet.source().ok()?, packet.destination().ok()?);
        match (self, is_inside(ip(source)), is_inside(ip(destination))) {
            (Self::Source, ..) | (Self::Inside, true, false) => Some([source; 2]),
            (Self::Inside, false, true) => Some([destination; 2]),
            (Self::Inside, ..) => Some([source.min(destination), source.max(destination)]),
        }
    }

    fn packets(self, capture: &Path) -> Groups {
        let mut groups = Groups::new();
        captures::each(capture, |_, packet| {
            groups.entry(self.ends(packet)).or_default().push(packet.frame().to_vec());
        });
        groups
    }

    /// Each group's packets are the same, in the same order.
    #[track_caller]
    pub(crate) fn compare(self, of: &str, expected: &Path, found: &Path) {
        let (expected, found) = (self.packets(expected), self.packets(found));
        let none = Vec::new();
        for group in expected.keys().chain(found.keys()) {
            let packets = [&expected, &found].map(|side| side.get(group).unwrap_or(&none));
            let differs = packets[0].iter().zip(packets[1]).position(|(a, b)| a != b);
            let lengths = packets.map(Vec::len);
            assert!(
                differs.is_none() && lengths[0] == lengths[1],
                "{of}: the packets of {group:?} differ from number {differs:?} on: {lengths:?}"
            );
        }
    }
}
