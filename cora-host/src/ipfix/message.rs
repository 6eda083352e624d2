//! IPFIX messages: templates and records to bytes.
//!
//! ```text
//! message   version 10, length, export time, sequence number, observation domain │ sets
//! set       2 and length │ templates        or   template's number and length │ records
//! template  number, count │ element, width (and enterprise)…
//! ```
//!
//! A template stands in a message before the first record that needs it; where messages may be
//! lost, each is repeated now and then, before the next record that needs it (RFC 7011, 8.1 and
//! 8.4). So a message has no more templates than records of theirs, and fits. The sequence number
//! counts the records in all messages before, whatever their templates.

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

/// The elements of records of one kind.
struct Template {
    elements: Vec<Element>,
    /// It stands in this message or one before, and need not be repeated yet.
    told: bool,
}

/// Makes messages.
pub(super) struct Messages {
    /// Bytes of a message, at most.
    longest: usize,
    repeats: bool,
    templates: Vec<Template>,
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
        self.templates.iter().any(|template| template.told && template.elements == elements)
    }

    fn number_of(&self, elements: &[Element]) -> Option<usize> {
        self.templates.iter().position(|template| template.elements == elements)
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
            self.templates.push(Template { elements: elements.to_vec(), told: false });
            self.templates.len() - 1
        });
        self.tell_template(number);
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

    /// The message that was taken last is lost: whoever reads on needs its templates.
    pub(super) fn tell_again(&mut self) {
        if self.bytes.is_empty() {
            self.forget_told();
        }
    }

    fn forget_told(&mut self) {
        for template in &mut self.templates {
            template.told = false;
        }
    }

    fn begin(&mut self) {
        let late = self.sent_since >= REPEAT_MESSAGES || self.since.elapsed() > REPEAT_AFTER;
        if self.repeats && late {
            self.forget_told();
            (self.since, self.sent_since) = (Instant::now(), 0);
        }
        self.begun = Instant::now();
        self.word(VERSION);
        self.word(0);
        self.double(0);
        self.double(self.sequence);
        self.double(DOMAIN);
        debug_assert_eq!(self.bytes.len(), HEAD);
    }

    /// Puts a template that was not told into a set of its own.
    fn tell_template(&mut self, number: usize) {
        let Template { elements, told } = &mut self.templates[number];
        if std::mem::replace(told, true) {
            return;
        }
        let elements = std::mem::take(elements);
        self.end_set();
        let begin = self.bytes.len();
        self.word(TEMPLATE_SET);
        self.word(0);
        self.word(FIRST_TEMPLATE + number as u16);
        self.word(elements.len() as u16);
        for element in &elements {
            let private = element.enterprise != 0;
            self.word(element.number | if private { ENTERPRISE } else { 0 });
            self.word(element.width);
            if private {
                self.double(element.enterprise);
            }
        }
        self.templates[number].elements = elements;
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
