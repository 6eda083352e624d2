//! The counters of a half, in memory that others read while it runs, and after it died.
//!
//! ```text
//! word 0      sequence: odd while the half writes
//! word 1      its counts, in the order of Report
//! word 32     bursts by number of packets: 1, 2–3, 4–7, and so on
//! word 64     tables, four words each: entries, capacity, evicted, expired
//! word 320    counts of handlers of messages
//! word 576    outcomes, eight words each: length of the name, the name, count
//! ```
//!
//! The half alone writes them, between its rounds: amid a round it counts in memory of its own. A
//! reader that meets a sequence of another value before and behind its reading begins again. It
//! trusts nothing: a half may write anything here at any time.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use cora_core::outcome::{OTHER, Outcomes};

use crate::link::message::Report;

/// Words of a block.
pub const COUNTER_WORDS: usize = OUTCOMES + OUTCOME_SLOTS * OUTCOME_WORDS;

/// Most tables that are told of.
const TOLD_TABLES: usize = 64;
/// Words for counts of handlers of messages.
pub const TOOK_WORDS: usize = 256;
/// Classes of bursts by length.
pub const BURST_CLASSES: usize = 8;

const REPORT: usize = 1;
const BURSTS: usize = 32;
const TABLES: usize = 64;
const TABLE_WORDS: usize = 4;
const TOOK: usize = TABLES + TABLE_WORDS * TOLD_TABLES;
const OUTCOMES: usize = TOOK + TOOK_WORDS;
const OUTCOME_SLOTS: usize = 72;
const OUTCOME_WORDS: usize = 8;
/// Longest name of an outcome that has a slot of its own.
const NAME_BYTES: usize = (OUTCOME_WORDS - 2) * 8;

/// How often a reader begins again. A half that dies amid its writing leaves an odd sequence: then
/// its words are read as they are.
const TRIES: usize = 64;

const _: () = assert!(REPORT + Report::WORDS <= BURSTS && BURSTS + BURST_CLASSES <= TABLES);

/// The counters of a half.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    words: &'static [AtomicU64; COUNTER_WORDS],
}

/// Takes a table, with its state's number.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(usize, Table);

/// How full a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Its entries, including expired ones that were not noticed yet.
    pub entries: u64,
    /// Entries that it has room for; 0 if there is no such table.
    pub capacity: u64,
    /// Entries that made room for others.
    pub evicted: u64,
    /// Entries that expired.
    pub expired: u64,
}

impl Counters {
    /// The counters in these words; `None` if they are too few.
    #[must_use]
    pub fn new(words: &'static [AtomicU64]) -> Option<Self> {
        words.first_chunk().map(|words| Self { words })
    }

    /// No counts yet, of a half that is about to start.
    pub fn clear(self) {
        for word in self.words {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Tells all counts of a half: its own, its bursts, and what its handlers did; `tables` visits
    /// each table with its state's number.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell(
        self,
        counts: &Report,
        bursts: &[u64; BURST_CLASSES],
        (outcomes, took): (&Outcomes, &[u64]),
        tables: &mut dyn FnMut(Tell<'_>),
    ) {
        self.write(|| {
            self.put(REPORT, &counts.words());
            self.put(BURSTS, bursts);
            self.put(TOOK, took);
            self.put_outcomes(outcomes);
            tables(&mut |state, Table { entries, capacity, evicted, expired }| {
                if state < TOLD_TABLES {
                    self.put(TABLES + TABLE_WORDS * state, &[entries, capacity, evicted, expired]);
                }
            });
        });
    }

    /// Tells the counts that must be known of a half which dies in its next round.
    #[inline]
    pub fn tell_outcomes(self, outcomes: &Outcomes, took: &[u64]) {
        self.write(|| {
            // Messages that were sent are known before any outcome of them is.
            self.put(TOOK, took);
            self.put_outcomes(outcomes);
        });
    }

    /// Tells the counts of handlers of messages alone.
    #[inline]
    pub fn tell_took(self, words: &[u64]) {
        self.put(TOOK, words);
    }

    /// Sets one word, for whoever copies the counters of a half that is elsewhere.
    pub fn set(self, at: usize, word: u64) {
        if let Some(place) = self.words.get(at) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// All words, as they stood between two writings of the half, or as they are where it wrote all
    /// the time, or died meanwhile.
    #[must_use]
    pub fn read(self) -> Read {
        let mut read = Read { words: [0; COUNTER_WORDS], is_whole: false };
        for _ in 0..TRIES {
            let before = self.words[0].load(Ordering::Acquire);
            for (to, from) in read.words.iter_mut().zip(self.words) {
                *to = from.load(Ordering::Relaxed);
            }
            fence(Ordering::Acquire);
            read.is_whole = before & 1 == 0 && self.words[0].load(Ordering::Relaxed) == before;
            if read.is_whole {
                break;
            }
            core::hint::spin_loop();
        }
        read
    }

    #[inline(always)]
    fn write(self, write: impl FnOnce()) {
        let before = self.words[0].load(Ordering::Relaxed) & !1;
        self.words[0].store(before | 1, Ordering::Relaxed);
        fence(Ordering::Release);
        write();
        self.words[0].store(before.wrapping_add(2), Ordering::Release);
    }

    #[inline]
    fn put(self, at: usize, words: &[u64]) {
        for (place, word) in self.words.get(at..).unwrap_or_default().iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
    }

    /// Names without a slot are added up in the last one.
    fn put_outcomes(self, outcomes: &Outcomes) {
        let (slots, _) = self.words[OUTCOMES..].as_chunks();
        let Some((last, slots)) = slots.split_last() else { return };
        let (mut slots, mut rest) = (slots.iter(), 0);
        outcomes.each(&mut |name, count| match slots.next().filter(|_| name.len() <= NAME_BYTES) {
            Some(slot) => put_outcome(slot, name, count),
            None => rest += count,
        });
        if rest > 0 {
            put_outcome(last, OTHER, rest);
        }
    }
}

type Slot = [AtomicU64; OUTCOME_WORDS];

#[inline]
fn put_outcome([length, name @ .., place]: &Slot, of: &str, count: u64) {
    length.store(of.len() as u64, Ordering::Relaxed);
    for (word, bytes) in name.iter().zip(of.as_bytes().chunks(8)) {
        let mut whole = [0; 8];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
    }
    place.store(count, Ordering::Relaxed);
}

/// Counters, as they were read.
#[derive(Clone, Debug)]
pub struct Read {
    words: [u64; COUNTER_WORDS],
    is_whole: bool,
}

impl Read {
    /// The words, of which the first is the sequence.
    #[must_use]
    pub const fn words(&self) -> &[u64; COUNTER_WORDS] {
        &self.words
    }

    /// Whether all words are of one moment.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The half's counts.
    #[must_use]
    pub fn report(&self) -> Report {
        let words = self.words.get(REPORT..).and_then(<[u64]>::first_chunk);
        words.map_or_else(Report::default, |words| Report::from_words(*words))
    }

    /// Bursts by number of packets: 1, 2–3, 4–7, and so on.
    #[must_use]
    pub fn bursts(&self) -> &[u64] {
        self.words.get(BURSTS..BURSTS + BURST_CLASSES).unwrap_or_default()
    }

    /// The table of the state with this number; `None` if it has none, or none was told of yet.
    #[must_use]
    pub fn table(&self, state: usize) -> Option<Table> {
        let (tables, _) = self.words.get(TABLES..TOOK)?.as_chunks();
        let [entries, capacity, evicted, expired] = *tables.get(state)?;
        (capacity > 0).then_some(Table { entries, capacity, evicted, expired })
    }

    /// Counts of handlers of messages, as words of `Took`.
    #[must_use]
    pub fn took(&self) -> &[u64] {
        self.words.get(TOOK..OUTCOMES).unwrap_or_default()
    }

    /// Visits the outcomes that occurred: the name, which may be any bytes, and the count.
    pub fn each_outcome(&self, visit: &mut dyn FnMut(&[u8], u64)) {
        let (slots, _) =
            self.words.get(OUTCOMES..).unwrap_or_default().as_chunks::<OUTCOME_WORDS>();
        for [length, name @ .., count] in slots {
            let bytes = zerocopy::IntoBytes::as_bytes(name);
            if *count > 0 {
                visit(bytes.get(..*length as usize).unwrap_or(bytes), *count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::string::String;
    use std::vec::Vec;

    use cora_core::verdict::reasons::{NotAllowed, NotIp};
    use cora_core::verdict::{Forward, Reason};

    use super::*;

    fn counters() -> Counters {
        let words: Vec<AtomicU64> = (0..COUNTER_WORDS).map(|_| AtomicU64::new(0)).collect();
        Counters::new(words.leak()).expect("they are enough")
    }

    fn outcomes(counters: Counters) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        counters.read().each_outcome(&mut |name, count| {
            let sum: &mut u64 = all.entry(String::from_utf8_lossy(name).into_owned()).or_default();
            *sum = sum.saturating_add(count);
        });
        all
    }

    #[test]
    fn what_a_half_told_is_read_whole() {
        let counters = counters();
        let mut counted = Outcomes::new();
        counted.dropped(NotIp);
        counters.tell_outcomes(&counted, &[]);
        // A name that precedes the existing ones moves them to later slots.
        counted.forwarded(Forward::Transmit);
        counted.dropped(NotAllowed);
        counted.dropped(NotIp);
        counters.tell_outcomes(&counted, &[4, 5]);
        let read = counters.read();
        assert_eq!(&read.took()[..3], &[4, 5, 0]);
        assert_eq!((read.words()[0], read.table(0)), (4, None));
        let expected = [("not-allowed", 1), ("not-ip", 2), ("transmit", 1)];
        assert_eq!(outcomes(counters), expected.map(|(name, count)| (name.into(), count)).into());
        counters.clear();
        assert_eq!(outcomes(counters), BTreeMap::new());
    }

    #[test]
    fn no_outcome_is_left_out_however_many_names_there_are() {
        let (counters, mut counted) = (counters(), Outcomes::new());
        for n in 0..300 {
            counted.dropped(Reason::new(std::format!("reason-{n}").leak()));
        }
        for _ in 0..2 {
            counters.tell_outcomes(&counted, &[]);
        }
        assert_eq!(outcomes(counters).values().sum::<u64>(), 300);
    }

    #[test]
    fn whatever_a_half_writes_can_be_read() {
        let counters = counters();
        for word in counters.words {
            word.store(u64::MAX, Ordering::Relaxed);
        }
        let all = outcomes(counters);
        assert_eq!(all.len(), 1);
        let read = counters.read();
        assert_eq!((read.table(TOLD_TABLES), read.report().packets), (None, u64::MAX));
        assert!(read.table(TOLD_TABLES - 1).is_some());
        // The next half begins with an even sequence.
        counters.tell_outcomes(&Outcomes::new(), &[]);
        assert_eq!(counters.read().words()[0] & 1, 0);
    }

    #[test]
    fn a_reader_sees_no_half_of_a_writing() {
        let counters = counters();
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let writer = std::thread::spawn(move || {
            let mut counted = Outcomes::new();
            for count in 0..rounds {
                counters.tell_outcomes(&counted, &[count]);
                counted.dropped(NotIp);
            }
        });
        let mut seen = 0;
        loop {
            let is_over = writer.is_finished();
            let read = counters.read();
            if read.is_whole() {
                let mut dropped = 0;
                read.each_outcome(&mut |_, count| dropped = count);
                assert_eq!(dropped, read.took()[0]);
                seen += 1;
            }
            if is_over {
                break;
            }
        }
        writer.join().expect("it writes to its end");
        assert!(seen > 0);
    }
}
