//! The file of signatures, and the construction of the automaton from it. The host alone has both.
//!
//! ```text
//! # kind     action  protocol  port  to      within  case   pattern
//! web-attack reset   tcp       80    server  any     any    /etc/passwd
//! policy     alert   tcp       22    any     8       exact  SSH-1.
//! malware    drop    udp       any   any     any     any    |de ad be ef|beacon
//! ```
//!
//! A pattern is the rest of its line; bytes between bars are hexadecimal. It has to end within the
//! first `within` bytes of the stream.

use std::collections::{BTreeMap, VecDeque};

use super::automaton::{ENDS, LISTED_AT_ONE, Signature, TRANSITIONS, To};
use super::*;

/// The kinds, in the order of their numbers.
pub(crate) const NAMES: [&str; KINDS] =
    ["policy", "scan", "web-attack", "exploit", "malware", "control", "leak", "tunnel"];

const LINE: &str = "a line is `KIND ACTION PROTOCOL PORT TO WITHIN CASE PATTERN`";
const KIND: &str = "a kind is policy, scan, web-attack, exploit, malware, control, leak or tunnel";
const LENGTH: &str = "a pattern has 3 to 128 bytes";
const HEXADECIMAL: &str = "between bars stand pairs of hexadecimal digits; a bar itself is |7c|";
const TOO_MANY: &str = "more than 2,048 signatures";
const TOO_LARGE: &str = "the patterns have more nodes than there is room for: take shorter ones, \
                         or some with the same beginning";
const TOO_ALIKE: &str = "more than 16 patterns end in one place: some are the end of others";

/// Reads a file.
pub(crate) fn signatures(text: &str) -> Result<Signatures, &'static str> {
    let mut made = Signatures::default();
    let (mut trie, mut count, mut exact) = (Trie::new(), 0, 0);
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (mut signature, is_exact, pattern) = row(line)?;
        if is_exact {
            let place = made.exact.get_mut(exact..exact + pattern.len()).ok_or(TOO_LARGE)?;
            place.copy_from_slice(&pattern);
            signature.exact_at = exact as u16;
            signature.exact_length = pattern.len() as u8;
            exact += pattern.len();
        }
        *made.rows.get_mut(count).ok_or(TOO_MANY)? = signature;
        trie.add(&pattern.to_ascii_lowercase(), count as u16);
        count += 1;
    }
    trie.link();
    trie.fill(&mut made)?;
    Ok(made)
}

/// A row, whether it is case-sensitive, and its pattern.
fn row(line: &str) -> Result<(Signature, bool, Vec<u8>), &'static str> {
    let mut rest = line;
    let mut column = || {
        let (word, behind) = rest.split_once(char::is_whitespace).ok_or(LINE)?;
        rest = behind.trim_start();
        Ok::<_, &'static str>(word)
    };
    let kind = column()?;
    let kind = NAMES.iter().position(|name| *name == kind).ok_or(KIND)? as u8;
    let action = match column()? {
        "alert" => Action::Alert,
        "drop" => Action::Drop,
        "reset" => Action::Reset,
        _ => return Err("an action is alert, drop or reset"),
    };
    let protocol = match column()? {
        "any" => 0,
        "tcp" => protocol::TCP,
        "udp" => protocol::UDP,
        _ => return Err("a protocol is tcp, udp or any"),
    };
    let port = number(column()?, 0).ok_or("a port is 1 to 65535, or any")?;
    let to = match column()? {
        "any" => To::Both,
        "server" => To::Server,
        "client" => To::Client,
        _ => return Err("a direction is to the server, the client or any"),
    };
    let within = number(column()?, u16::MAX).ok_or("`within` is a number of bytes, or any")?;
    let is_exact = match column()? {
        "any" => false,
        "exact" => true,
        _ => return Err("a case is exact or any"),
    };
    let signature = Signature { kind, action, protocol, port, to, within, ..Signature::NONE };
    Ok((signature, is_exact, pattern(rest)?))
}

/// A number other than 0; `any` is `otherwise`.
fn number(word: &str, otherwise: u16) -> Option<u16> {
    if word == "any" { Some(otherwise) } else { word.parse().ok().filter(|number| *number != 0) }
}

fn pattern(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut pattern = Vec::new();
    for (index, piece) in text.split('|').enumerate() {
        if index % 2 == 0 {
            pattern.extend(piece.bytes());
            continue;
        }
        let digits: Vec<char> = piece.chars().filter(|digit| !digit.is_whitespace()).collect();
        for pair in digits.chunks(2) {
            let &[high, low] = pair else { return Err(HEXADECIMAL) };
            let byte = high.to_digit(16).zip(low.to_digit(16)).ok_or(HEXADECIMAL)?;
            pattern.push((byte.0 << 4 | byte.1) as u8);
        }
    }
    if text.matches('|').count() % 2 == 1 {
        return Err(HEXADECIMAL);
    }
    if (3..=128).contains(&pattern.len()) { Ok(pattern) } else { Err(LENGTH) }
}

#[derive(Default)]
struct Node {
    next: BTreeMap<u8, usize>,
    /// The node of the longest proper suffix that is a prefix of a pattern.
    fail: usize,
    /// Rows of the patterns that end here.
    ends: Vec<u16>,
}

/// All patterns by their prefixes. Node 0 is the root.
struct Trie {
    nodes: Vec<Node>,
    /// All nodes but the root, by their depth.
    order: Vec<usize>,
}

impl Trie {
    fn new() -> Self {
        Self { nodes: vec![Node::default()], order: Vec::new() }
    }

    fn add(&mut self, pattern: &[u8], row: u16) {
        let mut at = 0;
        for byte in pattern {
            let fresh = self.nodes.len();
            let next = *self.nodes[at].next.entry(*byte).or_insert(fresh);
            if next == fresh {
                self.nodes.push(Node::default());
            }
            at = next;
        }
        self.nodes[at].ends.push(row);
    }

    /// The transition from a node for a byte.
    fn step(&self, mut at: usize, byte: u8) -> usize {
        loop {
            if let Some(next) = self.nodes[at].next.get(&byte) {
                return *next;
            }
            if at == 0 {
                return 0;
            }
            at = self.nodes[at].fail;
        }
    }

    /// Finds `fail` of all nodes, and adds the ends of that node.
    fn link(&mut self) {
        let mut waiting = VecDeque::from([0]);
        while let Some(at) = waiting.pop_front() {
            let edges: Vec<_> = self.nodes[at].next.iter().map(|(b, to)| (*b, *to)).collect();
            for (byte, to) in edges {
                let fail = if at == 0 { 0 } else { self.step(self.nodes[at].fail, byte) };
                let mut ends = self.nodes[fail].ends.clone();
                self.nodes[to].fail = fail;
                self.nodes[to].ends.append(&mut ends);
                self.order.push(to);
                waiting.push_back(to);
            }
        }
    }

    fn fill(&self, made: &mut Signatures) -> Result<(), &'static str> {
        let mut used: Vec<u8> = self.nodes.iter().flat_map(|n| n.next.keys().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let classes = (used.len() + 1).next_power_of_two();
        for (byte, class) in (0..=255_u8).zip(&mut made.classes) {
            let place = used.iter().position(|one| *one == byte.to_ascii_lowercase());
            *class = place.map_or(0, |place| place + 1) as u8;
        }
        made.shift = classes.trailing_zeros() as u8;
        let most = usize::from(u16::MAX).min(TRANSITIONS >> made.shift);
        if self.nodes.len() > most {
            return Err(TOO_LARGE);
        }
        // The nodes where patterns end have the highest numbers.
        let is_end = |at: &usize| !self.nodes[*at].ends.is_empty();
        let all = || std::iter::once(0).chain(self.order.iter().copied());
        let (inner, ends): (Vec<_>, Vec<_>) = all().partition(|at| !is_end(at));
        made.first_end = inner.len() as u16;
        let mut numbers = vec![0; self.nodes.len()];
        for (number, at) in (0..).zip(inner.iter().chain(&ends)) {
            numbers[*at] = number;
        }
        for (at, number) in numbers.iter().enumerate() {
            let first = usize::from(*number) << made.shift;
            for (class, byte) in (1..).zip(&used) {
                made.transitions[first + class] = numbers[self.step(at, *byte)];
            }
        }
        self.list(&ends, made)
    }

    /// The rows that end at each node.
    fn list(&self, ends: &[usize], made: &mut Signatures) -> Result<(), &'static str> {
        if ends.len() > ENDS {
            return Err(TOO_LARGE);
        }
        let mut used = 0;
        for (list, at) in ends.iter().enumerate() {
            let rows = &self.nodes[*at].ends;
            if rows.len() > LISTED_AT_ONE {
                return Err(TOO_ALIKE);
            }
            let place = made.listed.get_mut(used..used + rows.len()).ok_or(TOO_LARGE)?;
            place.copy_from_slice(rows);
            used += rows.len();
            made.lists[list + 1] = used as u16;
        }
        Ok(())
    }
}
