//! IPFIX messages: templates and records to bytes.
//!
//! ```text
//! message   version 10, length, export time, sequence number, observation domain │ sets
//! set       2 and length │ templates        or   template's number and length │ records
//! template  number, count │ element, width (and enterprise)…
//! ```
//!
//! A template stands in a message before the first record that needs it; where messages may be
//! lost, all of them are repeated now and then (RFC 7011, 8.1 and 8.4). The sequence number counts
//! the records in all messages before.

use std::time::{Duration, Instant};

use cora_core::record::Element;

const VERSION: u16 = 10;
const HEAD: usize = 16;
const SET_HEAD: usize = 4;
const TEMPLATE_SET: u16 = 2;
/// Numbers below are those of sets of other kinds.
const FIRST_TEMPLATE: u16 = 256;
/// The only one: all that the program sees.
const DOMAIN: u32 = 1;
/// A program whose records are of more kinds than this tells something else than kinds.
const MOST_TEMPLATES: usize = 64;
/// The bit that says that an enterprise number follows.
const ENTERPRISE: u16 = 1 << 15;

/// How often templates are repeated where messages may be lost: after so many messages, or so long.
const REPEAT_MESSAGES: u32 = 64;
const REPEAT_AFTER: Duration = Duration::from_secs(30);
/// How long a record waits for others, at most.
const LATE: Duration = Duration::from_secs(1);

/// Makes messages.
pub(super) struct Messages {
    /// Bytes of a message, at most.
    longest: usize,
    repeats: bool,
    templates: Vec<Vec<Element>>,
    /// How many of them stand in this message or one before, and need not be repeated yet.
    told: usize,
    since: Instant,
    sent_since: u32,
    /// The message that grows; empty or with its head.
    bytes: Vec<u8>,
    /// When its first record was added.
    begun: Instant,
    /// The set that grows: its template, and where it begins.
    set: Option<(usize, usize)>,
    records: u32,
    sequence: u32,
    /// The latest time of an entry's last use (s).
    time: u32,
}

impl Messages {
    pub(super) fn new(longest: usize, repeats: bool) -> Self {
        let now = Instant::now();
        Self {
            longest,
            repeats,
            templates: Vec::new(),
            told: 0,
            since: now,
            sent_since: 0,
            bytes: Vec::new(),
            begun: now,
            set: None,
            records: 0,
            sequence: 0,
            time: 0,
        }
    }

    /// Whether a record of these elements would make the message too long.
    pub(super) fn is_full_for(&self, elements: &[Element], record: &[u8]) -> bool {
        if self.bytes.is_empty() {
            return false;
        }
        // At most, so that a set's head or a template that need not be does not matter.
        let template = if self.is_told(elements) { 0 } else { SET_HEAD + template_bytes(elements) };
        self.bytes.len() + template + SET_HEAD + record.len() > self.longest
    }

    fn is_told(&self, elements: &[Element]) -> bool {
        self.number_of(elements).is_some_and(|number| number < self.told)
    }

    fn number_of(&self, elements: &[Element]) -> Option<usize> {
        self.templates.iter().position(|template| template == elements)
    }

    /// Whether there is no template for a record of these elements, nor room for one.
    pub(super) fn refuses(&self, elements: &[Element]) -> bool {
        self.templates.len() >= MOST_TEMPLATES && self.number_of(elements).is_none()
    }

    /// Whether a record has waited for long.
    pub(super) fn is_late(&self) -> bool {
        self.records > 0 && self.begun.elapsed() > LATE
    }

    /// Adds a record of an entry that was last used then (ns).
    pub(super) fn add(&mut self, elements: &[Element], record: &[u8], used: u64) {
        if self.bytes.is_empty() {
            self.begin();
        }
        self.time = self.time.max((used / 1_000_000_000) as u32);
        let number = self.number_of(elements).unwrap_or_else(|| {
            self.templates.push(elements.to_vec());
            self.templates.len() - 1
        });
        if number >= self.told {
            self.tell_templates();
        }
        if self.set.is_none_or(|(template, _)| template != number) {
            self.end_set();
            self.set = Some((number, self.bytes.len()));
            self.word(FIRST_TEMPLATE + number as u16);
            self.word(0);
        }
        self.bytes.extend_from_slice(record);
        self.records += 1;
    }

    /// The message, if there is one, and how many records are in it.
    pub(super) fn take(&mut self) -> Option<(Vec<u8>, u64)> {
        if self.records == 0 {
            return None;
        }
        self.end_set();
        let length = (self.bytes.len() as u16).to_be_bytes();
        self.bytes[2..4].copy_from_slice(&length);
        self.bytes[4..8].copy_from_slice(&self.time.to_be_bytes());
        let records = std::mem::take(&mut self.records);
        self.sequence = self.sequence.wrapping_add(records);
        self.sent_since += 1;
        Some((std::mem::take(&mut self.bytes), records.into()))
    }

    fn begin(&mut self) {
        let late = self.sent_since >= REPEAT_MESSAGES || self.since.elapsed() > REPEAT_AFTER;
        if self.repeats && late {
            self.told = 0;
        }
        self.begun = Instant::now();
        self.word(VERSION);
        self.word(0);
        self.double(0);
        self.double(self.sequence);
        self.double(DOMAIN);
        debug_assert_eq!(self.bytes.len(), HEAD);
    }

    /// Puts templates that were not told into a set of their own, as far as there is room; the last
    /// one in any case.
    fn tell_templates(&mut self) {
        self.end_set();
        if self.told == 0 {
            (self.since, self.sent_since) = (Instant::now(), 0);
        }
        let begin = self.bytes.len();
        self.word(TEMPLATE_SET);
        self.word(0);
        for number in self.told..self.templates.len() {
            self.word(FIRST_TEMPLATE + number as u16);
            let template = std::mem::take(&mut self.templates[number]);
            self.word(template.len() as u16);
            for element in &template {
                let private = element.enterprise != 0;
                self.word(element.number | if private { ENTERPRISE } else { 0 });
                self.word(element.width);
                if private {
                    self.double(element.enterprise);
                }
            }
            self.templates[number] = template;
        }
        self.told = self.templates.len();
        self.close(begin);
    }

    fn end_set(&mut self) {
        if let Some((_, begin)) = self.set.take() {
            self.close(begin);
        }
    }

    /// Writes the length of the set that begins there.
    fn close(&mut self, begin: usize) {
        let length = ((self.bytes.len() - begin) as u16).to_be_bytes();
        self.bytes[begin + 2..begin + 4].copy_from_slice(&length);
    }

    fn word(&mut self, word: u16) {
        self.bytes.extend_from_slice(&word.to_be_bytes());
    }

    fn double(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_be_bytes());
    }
}

fn template_bytes(elements: &[Element]) -> usize {
    let one = |element: &Element| if element.enterprise == 0 { 4 } else { 8 };
    SET_HEAD + elements.iter().map(one).sum::<usize>()
}
