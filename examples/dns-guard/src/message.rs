//! DNS messages (RFC 1035), as far as the guard reads them: the header, and the question.

use super::*;

pub(crate) const DNS: u16 = 53;
const HEADER: usize = 12;
/// A name on the wire, its length bytes included.
const LONGEST_NAME: usize = 255;
/// The longest message that repeats a question: the question ends with its type and its class.
pub(crate) const LONGEST_QUESTION: usize = HEADER + LONGEST_NAME + 4;

/// A domain name by a hash, which does not tell upper from lower case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
pub(crate) struct Name {
    hash: [u8; 8],
}

impl Name {
    const ROOT: Self = Self { hash: [0; 8] };

    /// The name with one more label in front. The secret is fixed, because the rows of a file have
    /// the same hashes on all machines; the hash only saves the length of a name in keys.
    fn under(self, label: &[u8]) -> Self {
        let mut words = [0; 10];
        let (head, rest) = words.split_at_mut(2);
        head.copy_from_slice(&[u64::from_le_bytes(self.hash), label.len() as u64]);
        for (word, bytes) in rest.iter_mut().zip(label.chunks(8)) {
            for byte in bytes {
                *word = *word << 8 | u64::from(byte.to_ascii_lowercase());
            }
        }
        let used = words.get(..2 + label.len().div_ceil(8)).unwrap_or_default();
        Self { hash: sip_hash([0x5eed, 0xd45], used).to_le_bytes() }
    }
}

/// A row of a file says a name as people write it.
impl FromColumns for Name {
    const COLUMNS: &'static [&'static str] = &["name"];

    #[host_only]
    fn from_columns(file: &mut dyn cora::config::File) -> Option<Self> {
        cora::config::read(file, "name")
    }
}

#[host_only]
impl core::str::FromStr for Name {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let mut labels = text.split('.');
        if text.len() > LONGEST_NAME - 2 || labels.any(|label| !(1..64).contains(&label.len())) {
            return Err("a name has labels of 1 to 63 bytes between dots, 253 bytes together");
        }
        Ok(text.rsplit('.').fold(Self::ROOT, |name, label| name.under(label.as_bytes())))
    }
}

/// A message with one question.
pub(crate) struct Message<'a> {
    pub(crate) id: u16,
    pub(crate) is_answer: bool,
    /// Header and question.
    question: &'a [u8],
    /// Where the labels of the name begin, counted from the end of the header.
    labels: [u8; LONGEST_NAME / 2],
    count: usize,
}

impl<'a> Message<'a> {
    pub(crate) fn of(payload: &'a [u8]) -> Result<Self, Reason> {
        let header = payload.first_chunk::<HEADER>().ok_or(Truncated)?;
        // More or fewer questions than one are not in use (RFC 9619).
        let &[id_high, id_low, flags, _, 0, 1, ..] = header else { return Err(Malformed) };
        let mut labels = [0; LONGEST_NAME / 2];
        let (mut at, mut count) = (0, 0);
        loop {
            let length = *payload.get(HEADER + at).ok_or(Truncated)?;
            if length == 0 {
                break;
            }
            // A pointer: the first name has nothing before it to point to.
            let place = labels.get_mut(count).filter(|_| length < 64).ok_or(Malformed)?;
            *place = u8::try_from(at).map_err(|_| Malformed)?;
            (at, count) = (at + 1 + usize::from(length), count + 1);
        }
        if at >= LONGEST_NAME {
            return Err(Malformed);
        }
        let question = payload.get(..HEADER + at + 1 + 4).ok_or(Truncated)?;
        let id = u16::from_be_bytes([id_high, id_low]);
        Ok(Self { id, is_answer: flags & 0x80 != 0, question, labels, count })
    }

    /// The domains that the name belongs to, from the top-level one to the name itself.
    pub(crate) fn domains(&self) -> impl Iterator<Item = Name> {
        let name = self.question.get(HEADER..).unwrap_or_default();
        let labels = self.labels.get(..self.count).unwrap_or_default();
        labels.iter().rev().scan(Name::ROOT, move |domain, at| {
            let (length, behind) = name.get(usize::from(*at)..)?.split_first()?;
            *domain = domain.under(behind.get(..usize::from(*length))?);
            Some(*domain)
        })
    }

    pub(crate) fn name(&self) -> Name {
        self.domains().last().unwrap_or(Name::ROOT)
    }

    /// The answer that there is no such name, and its length: header and question, and no records.
    pub(crate) fn refusal(&self) -> ([u8; LONGEST_QUESTION], usize) {
        let mut answer = [0; LONGEST_QUESTION];
        for (to, from) in answer.iter_mut().zip(self.question) {
            *to = *from;
        }
        // An answer; the kind of question stays, and whether recursion was wanted.
        answer[2] = answer[2] & 0x79 | 0x80;
        // Recursion was available; NXDOMAIN.
        answer[3] = 0x83;
        answer[6..HEADER].fill(0);
        (answer, self.question.len())
    }
}
