//! Encodes templates and records into IPFIX messages.
//!
//! ```text
//! message   version 10, length, export time, sequence number, observation domain │ sets
//! set       2 and length │ templates        or   template's number and length │ records
//! template  number, count │ element, width (and enterprise)…
//! ```
//!
//! A template precedes the first record that needs it. Where messages may be lost, each template is
//! repeated periodically, before the next record that needs it (RFC 7011, 8.1 and 8.4). So a
//! message has at most one template per record, and fits. The sequence number counts the records in
//! all earlier messages, of any template.

use std::time::{Duration, Instant};

use cora_core::record::Element;

const VERSION: u16 = 10;
const HEAD: usize = 16;
const SET_HEAD: usize = 4;
const TEMPLATE_SET: u16 = 2;
/// Lower numbers are reserved for sets of other kinds.
const FIRST_TEMPLATE: u16 = 256;
/// Limit of templates. A program that needs more uses elements for variable data, not for kinds of
/// records.
const MOST_TEMPLATES: usize = 64;
/// The bit that announces an enterprise number.
const ENTERPRISE: u16 = 1 << 15;

/// When to repeat templates if messages may be lost: after this many messages, or this time.
const REPEAT_MESSAGES: u32 = 64;
const REPEAT_AFTER: Duration = Duration::from_secs(30);
/// Maximum time that a record waits for others.
const LATE: Duration = Duration::from_secs(1);

/// The elements of one kind of records.
struct Template {
    elements: Vec<Element>,
    /// It is in this message or an earlier one, and needs no repetition yet.
    told: bool,
}

/// Builds messages.
pub(super) struct Messages {
    /// The observation domain: the packets of one shard, which are counted from 1.
    domain: u32,
    /// Maximum length of a message in bytes.
    longest: usize,
    repeats: bool,
    templates: Vec<Template>,
    since: Instant,
    sent_since: u32,
    /// The message under construction; empty, or beginning with its header.
    bytes: Vec<u8>,
    /// When its first record was added.
    begun: Instant,
    /// The set under construction: its template and its offset.
    set: Option<(usize, usize)>,
    records: u32,
    sequence: u32,
    /// The latest last use of an entry (s).
    time: u32,
}

impl Messages {
    pub(super) fn new(domain: u32, longest: usize, repeats: bool) -> Self {
        let now = Instant::now();
        Self {
            domain,
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

    /// Whether a record of these elements would exceed the message length.
    pub(super) fn is_full_for(&self, elements: &[Element], record: &[u8]) -> bool {
        if self.bytes.is_empty() {
            return false;
        }
        // An upper bound, so an unnecessary set header or template does no harm.
        let template = if self.is_told(elements) { 0 } else { SET_HEAD + template_bytes(elements) };
        self.bytes.len() + template + SET_HEAD + record.len() > self.longest
    }

    fn is_told(&self, elements: &[Element]) -> bool {
        self.templates.iter().any(|template| template.told && template.elements == elements)
    }

    fn number_of(&self, elements: &[Element]) -> Option<usize> {
        self.templates.iter().position(|template| template.elements == elements)
    }

    /// Whether there is no template for a record of these elements, and no space for one.
    pub(super) fn refuses(&self, elements: &[Element]) -> bool {
        self.templates.len() >= MOST_TEMPLATES && self.number_of(elements).is_none()
    }

    /// Whether a record has waited too long.
    pub(super) fn is_late(&self) -> bool {
        self.records > 0 && self.begun.elapsed() > LATE
    }

    /// Adds a record of an entry with this last use (ns).
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

    /// The message, if there is one, and its number of records.
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

    /// The last message is lost: its templates must be sent again.
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
        self.double(self.domain);
        debug_assert_eq!(self.bytes.len(), HEAD);
    }

    /// Adds a template, unless it was sent, in a set of its own.
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

    /// Writes the length of the set at this offset.
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
