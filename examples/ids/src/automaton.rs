//! All signatures as one automaton (Aho and Corasick, 1975): a look-up for each byte, however many
//! signatures there are and whatever an attacker sends.
//!
//! The automaton tells no upper from lower case. Where a signature does, the bytes of the stream
//! are compared with its pattern.

use super::*;

/// Kinds of signatures.
pub(crate) const KINDS: usize = 8;
/// Transitions: nodes times classes of bytes.
pub(crate) const TRANSITIONS: usize = 1 << 19;
/// Nodes where patterns end.
pub(crate) const ENDS: usize = 4_096;
/// Signatures that end at nodes, all together.
pub(crate) const LISTED: usize = 8_192;
/// Signatures that end at one node.
pub(crate) const LISTED_AT_ONE: usize = 16;
/// Rows of a file.
pub(crate) const ROWS: usize = 2_048;
/// Bytes of patterns that tell upper from lower case.
pub(crate) const EXACT: usize = 1 << 15;

/// What a signature asks for; the stricter the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Plain)]
pub(crate) enum Action {
    Pass,
    Alert,
    /// The flow's packets are dropped.
    Drop,
    /// They are, and both ends get a reset.
    Reset,
}

/// The directions that a signature is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub(crate) enum To {
    Both,
    /// From the end that opened the connection.
    Server,
    Client,
}

/// A row of the file, but for its pattern.
#[derive(Clone, Copy, Debug, Plain)]
pub(crate) struct Signature {
    /// From 0, in the order of their names.
    pub(crate) kind: u8,
    pub(crate) action: Action,
    /// 0 for each.
    pub(crate) protocol: u8,
    /// The port of the end that did not open; 0 for each.
    pub(crate) port: u16,
    pub(crate) to: To,
    /// Bytes of the stream in which the pattern has to end.
    pub(crate) within: u16,
    /// Where the exact pattern is, and its length: 0 for one in any case.
    pub(crate) exact_at: u16,
    pub(crate) exact_length: u8,
}

impl Signature {
    pub(crate) const NONE: Self = Self {
        kind: 0,
        action: Action::Pass,
        protocol: 0,
        port: 0,
        to: To::Both,
        within: 0,
        exact_at: 0,
        exact_length: 0,
    };
}

/// The file, as an automaton. Its nodes are numbered such that those where a pattern ends come
/// last. Node 0 is the root.
#[state(read_mostly)]
pub(crate) struct Signatures {
    pub(crate) generation: Generation,
    /// The class of each byte: 0 for those of no pattern.
    pub(crate) classes: [u8; 256],
    /// A node has 2 to the power of this many transitions, one for each class.
    pub(crate) shift: u8,
    /// The first node where a pattern ends.
    pub(crate) first_end: u16,
    pub(crate) transitions: [u16; TRANSITIONS],
    /// Where the list of each node with an end begins; that of the next node begins behind it.
    pub(crate) lists: [u16; ENDS + 1],
    /// Numbers of rows.
    pub(crate) listed: [u16; LISTED],
    pub(crate) rows: [Signature; ROWS],
    pub(crate) exact: [u8; EXACT],
}

/// Without a file nothing matches.
impl Default for Signatures {
    fn default() -> Self {
        Self {
            generation: Generation::default(),
            classes: [0; 256],
            shift: 0,
            first_end: 1,
            transitions: [0; TRANSITIONS],
            lists: [0; ENDS + 1],
            listed: [0; LISTED],
            rows: [Signature::NONE; ROWS],
            exact: [0; EXACT],
        }
    }
}

#[host_only]
impl Configure for Signatures {
    fn configure(text: &str) -> Result<Self, &'static str> {
        compile::signatures(text)
    }
}

/// Bytes of a stream without a gap, and the place of the first one.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a> {
    pub(crate) at: usize,
    pub(crate) bytes: &'a [u8],
}

/// The connection that bytes belong to, and their direction.
#[derive(Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) protocol: u8,
    /// Of the end that did not open.
    pub(crate) port: u16,
    pub(crate) direction: Direction,
}

impl Traffic {
    pub(crate) fn of(flow: &FiveTuple, direction: Direction) -> Self {
        let port = match direction {
            Direction::Original => flow.destination_port,
            Direction::Reply => flow.source_port,
        };
        Self { protocol: flow.protocol, port, direction }
    }
}

/// Where a scan begins: at this node, behind so many bytes of the stretch.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) node: u16,
    pub(crate) known: usize,
}

/// What a scan found.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// A bit for each kind.
    pub(crate) kinds: u16,
    pub(crate) action: Action,
    /// The row that asks for the action, from 1.
    pub(crate) row: u16,
}

impl Found {
    pub(crate) const NOTHING: Self = Self { kinds: 0, action: Action::Pass, row: 0 };
}

impl Signatures {
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Scans a stretch. Returns the node behind it, and the signatures that match.
    pub(crate) fn scan(&self, start: Start, stretch: Stretch<'_>, of: Traffic) -> (u16, Found) {
        let (mut node, mut found) = (start.node, Found::NOTHING);
        for (index, byte) in stretch.bytes.iter().enumerate().skip(start.known) {
            let class = self.classes.get(usize::from(*byte)).copied().unwrap_or_default();
            let transition = (usize::from(node) << self.shift) | usize::from(class);
            node = self.transitions.get(transition).copied().unwrap_or_default();
            if node >= self.first_end {
                let so_far = stretch.bytes.get(..=index).unwrap_or_default();
                self.note_ends(node, Stretch { bytes: so_far, ..stretch }, of, &mut found);
            }
        }
        (node, found)
    }

    /// The signatures that end at a node, behind a stretch.
    fn note_ends(&self, node: u16, stretch: Stretch<'_>, of: Traffic, found: &mut Found) {
        let list = usize::from(node - self.first_end);
        let at = |list| usize::from(self.lists.get(list).copied().unwrap_or_default());
        let list = self.listed.get(at(list)..at(list + 1)).unwrap_or_default();
        for row in list.iter().take(LISTED_AT_ONE) {
            let Some(signature) = self.rows.get(usize::from(*row)) else { continue };
            if self.matches(signature, stretch, of) {
                found.kinds |= 1 << signature.kind;
                if signature.action > found.action {
                    (found.action, found.row) = (signature.action, row + 1);
                }
            }
        }
    }

    fn matches(&self, signature: &Signature, stretch: Stretch<'_>, of: Traffic) -> bool {
        let (at, length) = (usize::from(signature.exact_at), usize::from(signature.exact_length));
        let exact = self.exact.get(at..at + length).unwrap_or_default();
        // Bytes before the stretch are gone: they count as equal.
        let exact = exact.get(length.saturating_sub(stretch.bytes.len())..).unwrap_or_default();
        let is_to = match signature.to {
            To::Both => true,
            To::Server => of.direction == Direction::Original,
            To::Client => of.direction == Direction::Reply,
        };
        is_to
            && (signature.protocol == 0 || signature.protocol == of.protocol)
            && (signature.port == 0 || signature.port == of.port)
            && stretch.at + stretch.bytes.len() <= usize::from(signature.within)
            && stretch.bytes.ends_with(exact)
    }
}
