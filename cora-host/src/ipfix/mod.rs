//! Records of entries that ended, as IPFIX (RFC 7011): to a file (RFC 5655), or to a collector by
//! UDP.
//!
//! | module | what |
//! | --- | --- |
//! | `message` | messages: templates and records to bytes |
//! | `target` | where messages go |
//!
//! What is exported is the program's ([`cora_core::record`]); which elements a record has tells its
//! template. Records come in no particular order: an expired entry is noticed when somebody looks
//! at it.

mod message;
mod target;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cora_core::app::App;
use cora_core::record::{Element, Fields, When};
use cora_core::state::Malformed;
use cora_core::state::table::Ending;
use serde::Serialize;

use crate::RunError;
use message::Messages;
use target::Target;
pub(crate) use target::TargetName;

/// What became of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Records {
    /// Records written, or handed to the network.
    pub exported: u64,
    /// Of entries that ended faster than that could be told, or whose records are of too many
    /// kinds.
    pub lost: u64,
    /// Of messages that the network would not take.
    pub unsent: u64,
    /// Messages.
    pub messages: u64,
}

/// How a program tells the record of an entry.
type Tell = fn(usize, &[u8], When, &mut dyn Fields) -> Result<u64, Malformed>;

/// Where the records of a run go. Clones go to the same place.
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
    /// Kept from one record to the next.
    told: Told,
    records: Records,
    /// A file would not be written: why. Nothing more is.
    failed: Option<RunError>,
}

/// The record of one entry.
#[derive(Default)]
struct Told {
    elements: Vec<Element>,
    bytes: Vec<u8>,
}

impl Fields for Told {
    fn field(&mut self, element: Element, value: &[u8]) {
        self.elements.push(Element { width: value.len() as u16, ..element });
        self.bytes.extend_from_slice(value);
    }
}

impl Exporter {
    /// Opens the target for a program with recorded states. `again` says that a process before this
    /// one wrote there.
    pub(crate) fn open<A: App>(name: &TargetName, again: bool) -> Result<Self, RunError> {
        if A::RECORDED.is_empty() {
            return Err(RunError::NothingRecorded { program: A::NAME });
        }
        let target = Target::open(name, again)?;
        let messages = Messages::new(target.longest(), target.repeats());
        let (told, records) = (Told::default(), Records::default());
        let shared = Shared { messages, target, told, records, failed: None };
        Ok(Self { tell: A::record, shared: Arc::new(Mutex::new(shared)) })
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // Whoever panicked while writing leaves whole records behind, or none.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An entry ended.
    pub(crate) fn ended(&self, state: u16, ending: Ending<'_>) {
        let when = if ending.removed { When::Removed } else { When::Expired };
        self.add(state, ending.piece, when);
    }

    /// An entry was there when the run was over, at this time.
    pub(crate) fn left(&self, state: u16, piece: &[u8], now: u64) {
        self.add(state, piece, When::Left(now));
    }

    fn add(&self, state: u16, piece: &[u8], when: When) {
        let mut shared = self.shared();
        let shared = &mut *shared;
        shared.told.elements.clear();
        shared.told.bytes.clear();
        match (self.tell)(state.into(), piece, when, &mut shared.told) {
            Ok(used) => shared.add(used),
            // No room was left to keep it, or it came over a ring and is none.
            Err(Malformed) => shared.records.lost += 1,
        }
    }

    /// Sends what waits, if it has waited for a while.
    pub(crate) fn tick(&self) {
        let mut shared = self.shared();
        if shared.messages.is_late() {
            shared.flush();
        }
    }

    /// Sends what waits; what became of all records.
    pub(crate) fn finish(&self) -> Result<Records, RunError> {
        let mut shared = self.shared();
        shared.flush();
        shared.failed.take().map_or(Ok(shared.records), Err)
    }
}

impl Shared {
    fn add(&mut self, used: u64) {
        let Told { elements, bytes } = &self.told;
        if self.messages.refuses(elements) {
            self.records.lost += 1;
            return;
        }
        if self.messages.is_full_for(elements, bytes) {
            self.flush();
        }
        let Told { elements, bytes } = &self.told;
        self.messages.add(elements, bytes, used);
    }

    fn flush(&mut self) {
        let Some((bytes, records)) = self.messages.take() else { return };
        if self.failed.is_some() {
            return;
        }
        match self.target.send(&bytes) {
            Ok(true) => {
                self.records.exported += records;
                self.records.messages += 1;
            }
            Ok(false) => self.records.unsent += records,
            Err(error) => self.failed = Some(error),
        }
    }
}

#[cfg(test)]
mod tests;
