//! All signatures as one automaton (Aho and Corasick, 1975). A byte takes one look-up, independent
//! of the number of signatures and of the bytes.
//!
//! The automaton is case-insensitive. For a case-sensitive signature, a match is then compared with
//! the bytes of the stream.

use super::*;

/// Kinds of signatures.
pub(crate) const KINDS: usize = 8;
/// Maximum number of transitions: nodes times classes of bytes.
pub(crate) const TRANSITIONS: usize = 1 << 19;
/// Maximum number of nodes where patterns end.
pub(crate) const ENDS: usize = 4_096;
/// Maximum length of the lists of these nodes, all together.
pub(crate) const LISTED: usize = 8_192;
/// Maximum length of one of them.
pub(crate) const LISTED_AT_ONE: usize = 16;
/// Maximum number of rows.
pub(crate) const ROWS: usize = 2_048;
/// Maximum number of bytes of case-sensitive patterns.
pub(crate) const EXACT: usize = 1 << 15;

/// The action of a signature, from the least strict on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Plain)]
pub(crate) enum Action {
    Pass,
    Alert,
    /// Drops the flow's packets.
    Drop,
    /// Drops them, and sends a reset to both ends.
    Reset,
}

/// The direction of a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub(crate) enum To {
    Both,
    /// From the end that opened the connection to the other one.
    Server,
    Client,
}

/// A row of the file without its pattern.
#[derive(Clone, Copy, Debug, Plain)]
pub(crate) struct Signature {
    /// A position in [`compile::NAMES`].
    pub(crate) kind: u8,
    pub(crate) action: Action,
    /// 0: any.
    pub(crate) protocol: u8,
    /// The server's port. 0: any.
    pub(crate) port: u16,
    pub(crate) to: To,
    /// The pattern ends within so many bytes of the stream.
    pub(crate) within: u16,
    /// Offset and length of the case-sensitive pattern. Length 0: the signature has none.
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

/// The file as an automaton. Node 0 is the root; the nodes where patterns end have the highest
/// numbers.
#[state(read_mostly)]
pub(crate) struct Signatures {
    pub(crate) generation: Generation,
    /// The class of each byte. Class 0 is that of bytes in no pattern.
    pub(crate) classes: [u8; 256],
    /// A node has 2 to the power of `shift` transitions, one per class.
    pub(crate) shift: u8,
    /// The first node where a pattern ends.
    pub(crate) first_end: u16,
    pub(crate) transitions: [u16; TRANSITIONS],
    /// Where the list of each node begins in `listed`; it ends where the next one begins.
    pub(crate) lists: [u16; ENDS + 1],
    /// Numbers of rows.
    pub(crate) listed: [u16; LISTED],
    pub(crate) rows: [Signature; ROWS],
    pub(crate) exact: [u8; EXACT],
}

/// Without a file there are no matches.
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

/// Bytes of a stream without a gap, and the offset of the first one.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) at: usize,
    pub(crate) bytes: &'a [u8],
}

/// The connection and the direction of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Traffic {
    pub(crate) protocol: u8,
    /// The server's port.
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

/// The start of a scan: a node, and the number of bytes of the chunk before it.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) node: u16,
    pub(crate) known: usize,
}

/// The result of a scan.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The kinds that matched, as bits.
    pub(crate) kinds: u16,
    pub(crate) action: Action,
    /// The row with that action, from 1.
    pub(crate) row: u16,
}

impl Found {
    pub(crate) const NOTHING: Self = Self { kinds: 0, action: Action::Pass, row: 0 };
}

impl Signatures {
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// Scans a chunk. Returns the node after it, and the result.
    pub(crate) fn scan(&self, start: Start, chunk: Chunk<'_>, of: Traffic) -> (u16, Found) {
        let (mut node, mut found) = (start.node, Found::NOTHING);
        for (index, byte) in chunk.bytes.iter().enumerate().skip(start.known) {
            let class = self.classes.get(usize::from(*byte)).copied().unwrap_or_default();
            let transition = (usize::from(node) << self.shift) | usize::from(class);
            node = self.transitions.get(transition).copied().unwrap_or_default();
            if node >= self.first_end {
                let so_far = chunk.bytes.get(..=index).unwrap_or_default();
                self.note_ends(node, Chunk { bytes: so_far, ..chunk }, of, &mut found);
            }
        }
        (node, found)
    }

    /// Adds the signatures that match at the end of a chunk, which has led to this node.
    fn note_ends(&self, node: u16, chunk: Chunk<'_>, of: Traffic, found: &mut Found) {
        let list = usize::from(node - self.first_end);
        let at = |list| usize::from(self.lists.get(list).copied().unwrap_or_default());
        let list = self.listed.get(at(list)..at(list + 1)).unwrap_or_default();
        for row in list.iter().take(LISTED_AT_ONE) {
            let Some(signature) = self.rows.get(usize::from(*row)) else { continue };
            if self.matches(signature, chunk, of) {
                found.kinds |= 1 << signature.kind;
                if signature.action > found.action {
                    (found.action, found.row) = (signature.action, row + 1);
                }
            }
        }
    }

    fn matches(&self, signature: &Signature, chunk: Chunk<'_>, of: Traffic) -> bool {
        let (at, length) = (usize::from(signature.exact_at), usize::from(signature.exact_length));
        let exact = self.exact.get(at..at + length).unwrap_or_default();
        // Bytes before the chunk are missing: they count as equal.
        let exact = exact.get(length.saturating_sub(chunk.bytes.len())..).unwrap_or_default();
        let is_to = match signature.to {
            To::Both => true,
            To::Server => of.direction == Direction::Original,
            To::Client => of.direction == Direction::Reply,
        };
        is_to
            && (signature.protocol == 0 || signature.protocol == of.protocol)
            && (signature.port == 0 || signature.port == of.port)
            && chunk.at + chunk.bytes.len() <= usize::from(signature.within)
            && chunk.bytes.ends_with(exact)
    }
}
