//! The ring: a first-in-first-out queue of records between two processes that share memory and
//! don't trust each other. One producer, one consumer, one direction.
//!
//! # Layout
//!
//! All of it is 64-bit words: two index words, far enough apart that no cache line and no pair of
//! lines holds both, and then the data, a power of two of words long:
//!
//! ```text
//! word 0          16          32                                       32 + n
//!      ├ head ─────┼ tail ─────┼ data ───────────────────────────────────┤
//!        written     written     written by the producer,
//!        by the      by the      read by the consumer
//!        producer    consumer
//!
//! data ┌────────┬───────────────┬────────┬──────────┬────────┬─────────┐
//!      │ header │ payload       │ header │ payload  │ header │ (unused)│  one lap
//!      └────────┴───────────────┴────────┴──────────┴────────┴─────────┘
//!      ├ record, a multiple of 64 bytes ┤            ├ padding to the lap's end
//! ```
//!
//! `head` and `tail` count words since the beginning and never wrap; a position's place in the data
//! is its remainder by `n`. A record is contiguous: if the rest of a lap is too short for it, a
//! padding header closes the lap and the record begins the next one. The header word holds the
//! payload's length in bytes (20 bits) and the number of lines of its batch, if it is the batch's
//! first (12 bits). It also holds a kind that the user chooses (16 bits), and a check (16 bits).
//! The check covers all of these and the position, so that stale or foreign words are noticed.
//!
//! # Publishing records
//!
//! A waiting consumer polls the word of the next header, so the line that announces a record is the
//! line that brings it. Until then the word is no header of that position: it is zero, or left from
//! the lap before. The producer writes all of a batch except its first header, clears the word
//! behind the last record if need be, and then writes that header. So the consumer sees the whole
//! batch at once. Payload from a network is never taken for a header: if the word behind a record
//! would pass for one, the producer writes a zero over it before the record is there. (It seldom
//! has to. A zero each time would fetch one more line from the consumer for each batch.)
//!
//! The index `head` follows when it lags many lines, or when the producer [has nothing to
//! do](Producer::rest). A consumer reads it seldom. It does so after idle polls and before it
//! sleeps, to detect a broken peer, and after many records in a row, to learn how many more there
//! are.
//!
//! # Prefetching
//!
//! A line that the other core wrote takes as long to come as ten records to handle. So both ends
//! prefetch ahead of the current record: the producer free lines that it will write, and the
//! consumer lines that it knows to be published. A batch's first header, which it reads anyway, has
//! their number. It prefetches no others: the producer would have to fetch those back before it can
//! write them.
//!
//! In long batches, all records but the first [bypass the caches](StorePolicy::streaming) by
//! non-temporal stores. They do so if that is faster on this processor, at the distance of the
//! consumer's core. Such stores fetch no lines, so the producer does not wait for that core at all.
//! It measures the distance when it reads the consumer's index.
//!
//! # Invariants
//!
//! 1. `tail ≤ head ≤ tail + n - 8`, both multiples of 8 words. Every record begins on a 64-byte
//!    line, and the line behind the last is never in use, so that its first word is no record's.
//! 2. A record takes at most a quarter of the data, so that it always fits, padding included, into
//!    an empty ring.
//! 3. A padding header is never the last thing published, and never begins a lap.
//! 4. Each side keeps its own index in private memory; the shared word is a copy for the peer. A
//!    value that the peer wrote is checked against the private index before it is used.
//!
//! # Memory ordering
//!
//! Data words are read and written with relaxed atomics, indices with acquire and release:
//!
//! - The producer's data stores come before its release store of a batch's first header, the
//!   consumer's acquire load of that header before its data loads: the consumer reads the data that
//!   was pushed.
//! - That store comes before the release store of `head`, and the consumer loads `head` with
//!   acquire before it reads the header again: it sees the header of every record that `head`
//!   covers.
//! - Streamed words are settled before the release store of the first header.
//! - The consumer's data loads come before its release store of `tail`, the producer's acquire load
//!   of `tail` before its next stores to the same words: nothing is overwritten before it was read.
//!
//! Loom explores this for small rings (`tests/ring_loom.rs`), and also with each of the three edges
//! removed on purpose; Miri runs it on raw memory.
//!
//! # A hostile peer
//!
//! No reference to data in shared memory is handed out. Records are copied in and out by accesses
//! that may race with the peer's, so a peer that writes at the wrong time makes garbage, not
//! undefined behaviour. A header is read once, and checked in its private copy. A side that sees
//! something impossible reports a [`RingError`] and stops using the ring.

mod consumer;
mod copy;
mod distance;
mod memory;
mod policy;
mod producer;
mod record;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod stream;
mod writer;

pub use consumer::{Consumer, Popped};
pub use memory::{CONTROL_WORDS, RingMemory, SharedMemory, shared_words};
pub use policy::{StorePolicy, Streaming};
pub use producer::{Producer, PushError};
pub use record::{MAX_RECORD, MAX_RING_BYTES, MIN_RING_BYTES, RingError, record_bytes};
