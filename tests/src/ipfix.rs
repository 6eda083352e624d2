//! A reader of IPFIX messages by RFC 7011. It shares no code with the writer.

use std::collections::BTreeMap;

/// The width of values of any length (RFC 7011, 7).
const ANY: usize = 65_535;

/// The enterprise number and the number of an element.
pub type Id = (u32, u16);
/// The values of one record, by element.
pub type Values = BTreeMap<Id, Vec<u8>>;

/// Reads messages of one session.
#[derive(Debug, Default)]
pub struct Decoder {
    domains: BTreeMap<u32, Domain>,
    /// The records so far.
    pub records: Vec<Values>,
}

/// An observation domain: it numbers its templates and its records.
#[derive(Debug, Default)]
struct Domain {
    templates: BTreeMap<u16, Vec<(Id, usize)>>,
    records: usize,
}

impl Decoder {
    /// Reads consecutive messages.
    pub fn file(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let length = usize::from(word(bytes, 2));
            let (message, rest) = bytes.split_at(length);
            self.message(message);
            bytes = rest;
        }
    }

    /// Reads one message.
    pub fn message(&mut self, message: &[u8]) {
        assert_eq!(word(message, 0), 10, "version");
        assert_eq!(usize::from(word(message, 2)), message.len(), "length");
        let domain = self.domains.entry(double(message, 12)).or_default();
        // The sequence number counts the records before this message.
        assert_eq!(double(message, 8) as usize, domain.records, "sequence number");
        let mut sets = &message[16..];
        while !sets.is_empty() {
            let (set, rest) = sets.split_at(usize::from(word(sets, 2)));
            match word(set, 0) {
                2 => domain.templates(&set[4..]),
                number @ 256.. => self.records.extend(domain.data(number, &set[4..])),
                other => panic!("a set of kind {other}"),
            }
            sets = rest;
        }
    }
}

impl Domain {
    fn templates(&mut self, mut bytes: &[u8]) {
        while bytes.len() >= 4 {
            let (number, count) = (word(bytes, 0), word(bytes, 2));
            // It would withdraw the template (RFC 7011, 8.1).
            assert!(count > 0, "template {number} without a field");
            bytes = &bytes[4..];
            let mut fields = Vec::new();
            for _ in 0..count {
                let (id, width) = (word(bytes, 0), usize::from(word(bytes, 2)));
                let private = id & 0x8000 != 0;
                let enterprise = if private { double(bytes, 4) } else { 0 };
                bytes = &bytes[if private { 8 } else { 4 }..];
                fields.push(((enterprise, id & 0x7fff), width));
            }
            let before = self.templates.insert(number, fields.clone());
            assert!(before.is_none_or(|before| before == fields), "template {number} changed");
        }
    }

    fn data(&mut self, template: u16, mut bytes: &[u8]) -> Vec<Values> {
        let mut records = Vec::new();
        let fields = &self.templates[&template];
        // A value of any length has at least its length, in one byte.
        let least = |(_, width): &(Id, usize)| if *width == ANY { 1 } else { *width };
        let length = fields.iter().map(least).sum();
        while bytes.len() >= length {
            let mut record = Values::new();
            for (id, width) in fields {
                let mut width = *width;
                if width == ANY {
                    width = usize::from(bytes[0]);
                    assert_ne!(width, 255, "a length of two bytes");
                    bytes = &bytes[1..];
                }
                let (value, rest) = bytes.split_at(width);
                record.insert(*id, value.to_vec());
                bytes = rest;
            }
            records.push(record);
        }
        assert!(bytes.iter().all(|byte| *byte == 0), "padding");
        self.records += records.len();
        records
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().expect("as many"))
}

fn double(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("as many"))
}
