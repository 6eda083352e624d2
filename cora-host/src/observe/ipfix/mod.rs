//! Records of ended entries as IPFIX (RFC 7011): to a file (RFC 5655), or to a collector over UDP.
//!
//! | module | contents |
//! | --- | --- |
//! | `message` | encoding of templates and records into messages |
//! | `target` | the target of messages |
//!
//! The program decides the contents of records ([`cora_core::record`]), and templates list the
//! elements of each. The order of records is unspecified, since an expired entry is noticed when it
//! is examined.
//!
//! Unwritten records are counted and reported at once. Each message is a new attempt, so a disk
//! with free space again, or a collector that is back, receives the later records.

mod message;
mod target;

use std::fmt;
use std::io::Error;
use std::ops::AddAssign;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::record::element::{END_MILLISECONDS, START_MILLISECONDS};
use cora_core::record::{Element, Fields, When};
use cora_core::state::Malformed;
use cora_core::state::table::{Ending, Why};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::ingress::clock::Clock;
use crate::observe::ipfix::message::Messages;
use crate::observe::ipfix::target::Target;
pub(crate) use crate::observe::ipfix::target::TargetName;
use crate::process::log::{self, Part};

/// Counters of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// Records written, or sent to the network.
    pub exported: u64,
    /// Records that were lost: entries ended faster than they could be reported, or records are of
    /// too many kinds.
    pub lost: u64,
    /// Records in messages that the network or the file refused, or the collector's host rejected.
    pub unsent: u64,
    /// Number of messages.
    pub messages: u64,
}

impl AddAssign for Records {
    fn add_assign(&mut self, other: Self) {
        self.exported += other.exported;
        self.lost += other.lost;
        self.unsent += other.unsent;
        self.messages += other.messages;
    }
}

/// The program's function that makes the record of an entry.
type Tell = fn(usize, &[u8], When, &mut dyn Fields) -> Result<u64, Malformed>;

/// The exporter of a run's records. Clones share one target.
#[derive(Clone)]
pub(crate) struct Exporter {
    tell: Tell,
    shared: Arc<Mutex<Shared>>,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}

struct Shared {
    messages: Messages,
    target: Target,
    /// A buffer, reused for each record.
    told: Told,
    records: Records,
    /// Number of records in the last message: its fate is reported later.
    last: u64,
    trouble: Trouble,
    /// The clock of a live wire.
    clock: Option<Clock>,
}

/// Faults of the target.
#[derive(Default)]
struct Trouble {
    /// The first error of a file.
    failed: Option<Error>,
    /// Consecutive records lost until now.
    in_a_row: u64,
    /// When a fault was last reported.
    told: Option<Instant>,
}

/// Period of reports about a refusing collector.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// One record.
#[derive(Default)]
struct One {
    elements: Vec<Element>,
    bytes: Vec<u8>,
}

/// The records of one entry.
#[derive(Default)]
struct Told {
    /// Those before the last one.
    complete: Vec<One>,
    last: One,
    /// How far the wall clock is ahead of the entries' time (ms).
    ahead: i64,
}

/// Elements that are times, in milliseconds since 1970.
const TIMES: [u16; 2] = [START_MILLISECONDS.number, END_MILLISECONDS.number];

impl Fields for Told {
    fn field(&mut self, element: Element, value: &[u8]) {
        let One { elements, bytes } = &mut self.last;
        if element.is_text() {
            elements.push(element);
            // Shorter than 255 bytes, so its length takes one (RFC 7011, 7).
            let text = value.get(..254).unwrap_or(value);
            bytes.push(text.len() as u8);
            bytes.extend_from_slice(text);
            return;
        }
        elements.push(Element { width: value.len() as u16, ..element });
        match <[u8; 8]>::try_from(value) {
            // Entries use elapsed time; a collector expects wall time.
            Ok(time) if self.ahead != 0 && TIMES.contains(&element.number) => {
                let time = u64::from_be_bytes(time).saturating_add_signed(self.ahead);
                bytes.extend_from_slice(&time.to_be_bytes());
            }
            _ => bytes.extend_from_slice(value),
        }
    }

    fn another(&mut self) {
        self.complete.push(std::mem::take(&mut self.last));
    }
}

impl Exporter {
    /// Opens the target for the shard with this number, of a program with recorded states. `again`
    /// means that another process wrote there.
    pub(crate) fn open<A: App>(
        name: &TargetName,
        shard: u16,
        again: bool,
    ) -> Result<Self, RunError> {
        if A::RECORDED.is_empty() {
            return Err(RunError::NothingRecorded { program: A::NAME });
        }
        let target = Target::open(name, again)?;
        let domain = u32::from(shard) + 1;
        let messages = Messages::new(domain, target.longest(), target.repeats());
        let (told, records) = (Told::default(), Records::default());
        let trouble = Trouble::default();
        let shared = Shared { messages, target, told, records, last: 0, trouble, clock: None };
        Ok(Self { tell: A::record, shared: Arc::new(Mutex::new(shared)) })
    }

    /// Sets the clock of the entries' times.
    pub(crate) fn by(self, clock: Clock) -> Self {
        self.shared().clock = Some(clock);
        self
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // A panic while writing leaves whole records or none.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Exports an entry that ended.
    pub(crate) fn ended(&self, state: u16, ending: Ending<'_>) {
        let when = match ending.why {
            Why::Expired => When::Expired,
            Why::Removed => When::Removed,
            Why::Evicted => When::Evicted,
        };
        self.add(state, ending.piece, when);
    }

    /// Exports an entry that was present at the end of the run, at this time.
    pub(crate) fn left(&self, state: u16, piece: &[u8], now: u64) {
        self.add(state, piece, When::Left(now));
    }

    fn add(&self, state: u16, piece: &[u8], when: When) {
        let mut shared = self.shared();
        let shared = &mut *shared;
        shared.told.complete.clear();
        shared.told.last.elements.clear();
        shared.told.last.bytes.clear();
        let ahead = shared.clock.map_or(0, Clock::wall_ahead);
        // Rounded to the nearest, since the two clocks are read one after the other.
        shared.told.ahead = ahead.saturating_add(500_000).div_euclid(1_000_000);
        match (self.tell)(state.into(), piece, when, &mut shared.told) {
            Ok(used) => shared.add_all(used.saturating_add_signed(ahead)),
            // The entry could not be kept, or it came over a ring and is invalid.
            Err(Malformed) => shared.records.lost += 1,
        }
    }

    /// Sends waiting records, if they have waited too long.
    pub(crate) fn tick(&self) {
        let mut shared = self.shared();
        if shared.messages.is_late() {
            shared.flush();
        }
    }

    /// Sends waiting records; returns the counters.
    pub(crate) fn finish(&self) -> Records {
        let mut shared = self.shared();
        shared.flush();
        if let Some(why) = shared.target.last_word() {
            shared.was_lost(&why);
        }
        shared.records
    }

    /// Why records are missing in the file, if any are.
    pub(crate) fn failure(&self) -> Option<String> {
        let shared = self.shared();
        let (path, why) = (shared.target.file()?, shared.trouble.failed.as_ref()?);
        let unsent = shared.records.unsent;
        Some(format!("{}: {unsent} records could not be written: {why}", path.display()))
    }
}

impl Shared {
    /// Adds the records of the entry that was told. Those without elements are left out: a template
    /// without fields would withdraw another one (RFC 7011, 8.1).
    fn add_all(&mut self, used: u64) {
        let told = std::mem::take(&mut self.told);
        let records = told.complete.iter().chain([&told.last]);
        for one in records.filter(|one| !one.elements.is_empty()) {
            self.add(one, used);
        }
        self.told = told;
    }

    fn add(&mut self, One { elements, bytes }: &One, used: u64) {
        if self.messages.refuses(elements) {
            self.records.lost += 1;
            return;
        }
        if self.messages.is_full_for(elements, bytes) {
            self.flush();
        }
        self.messages.add(elements, bytes, used);
    }

    fn flush(&mut self) {
        let Some((bytes, records)) = self.messages.take() else { return };
        let fate = self.target.send(&bytes);
        if let Some(why) = &fate.before {
            self.was_lost(why);
        }
        if let Some(why) = fate.this {
            self.last = 0;
            self.records.unsent += records;
            self.messages.tell_again();
            self.complain(records, why);
            return;
        }
        self.last = records;
        self.records.exported += records;
        self.records.messages += 1;
        self.is_well();
    }

    /// The last message was counted as sent, but is lost.
    fn was_lost(&mut self, why: &Error) {
        let records = std::mem::take(&mut self.last);
        self.records.exported -= records;
        self.records.unsent += records;
        self.records.messages -= u64::from(records > 0);
        self.messages.tell_again();
        if self.trouble.told.is_none_or(|told| told.elapsed() > TELL_EVERY) {
            self.trouble.told = Some(Instant::now());
            let unsent = self.records.unsent;
            log::warn(
                Part::Records,
                format_args!("--ipfix: the collector refuses records ({why}): {unsent} are unsent"),
            );
        }
    }

    /// Reports that the target refused a message.
    fn complain(&mut self, records: u64, why: Error) {
        let is_new = match self.target.file() {
            Some(_) => self.trouble.in_a_row == 0,
            None => self.trouble.told.is_none_or(|told| told.elapsed() > TELL_EVERY),
        };
        self.trouble.in_a_row += records;
        if is_new {
            self.trouble.told = Some(Instant::now());
            let target = self.target.file().unwrap_or(Path::new("the collector")).display();
            log::warn(
                Part::Records,
                format_args!(
                    "--ipfix: {target} takes no records ({why}): they are lost, and counted as unsent, until it does"
                ),
            );
        }
        self.trouble.failed.get_or_insert(why);
    }

    /// The target accepted a message.
    fn is_well(&mut self) {
        let lost = std::mem::take(&mut self.trouble.in_a_row);
        if let (true, Some(path)) = (lost > 0, self.target.file()) {
            let path = path.display();
            let lost = format_args!("--ipfix: {path} takes records again; {lost} were lost");
            log::info(Part::Records, lost);
        }
    }
}

#[cfg(test)]
mod tests;
