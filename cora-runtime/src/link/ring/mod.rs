//! The ring: a first-in-first-out queue of records between two processes that share memory and
//! don't trust each other. One producer, one consumer, one direction.
//!
//! # Layout
//!
//! All of it is 64-bit words. Two index words, far enough apart that no cache line and no pair of
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
//! is its remainder by `n`. A record is contiguous: where the rest of a lap is too short for it, a
//! padding header closes the lap and the record begins the next one. The header word holds the
//! payload's length in bytes (20 bits), the lines of the batch that it begins, if it is a batch's
//! first (12 bits), a kind that the user chooses (16 bits), and a check (16 bits) made from all of
//! these and the position, so that stale or foreign words are noticed.
//!
//! # Showing records
//!
//! A consumer that waits looks at the word where the next header will be, so the line that tells of
//! a record is the one that brings it. Until then the word is no header of that position: zero, or
//! what is left from the lap before. The producer writes all of a batch except its first header,
//! sees to the word behind the last record, and then writes that header: the consumer sees the
//! whole batch at once. What a network wrote as payload is never taken for a header, because the
//! producer puts a zero over whatever behind a record would pass for one, before the record is
//! there. (It seldom has to. A zero each time would fetch one line more from the consumer for each
//! batch.)
//!
//! The index `head` follows when it is many lines behind, or when the producer [has nothing to
//! do](Producer::rest). A consumer reads it seldom: after looks in vain, and before it sleeps, to
//! find out a peer that is broken; and after many records in a row, to know how many more there
//! are.
//!
//! # Lines that come in time
//!
//! A line that the other core wrote takes as long to come as ten records to handle. So both ends
//! ask for lines ahead of the record at hand: the producer for those it will write, while they are
//! free, and the consumer for those it will read, if it knows that they are published. A batch's
//! first header, which it reads anyway, tells how many it has. It asks for no others: the producer
//! would have to fetch those back before it can write them.
//!
//! Where batches are long, all records of one but the first go [past the
//! caches](RingMemory::streaming), if that is faster on the processor at hand, with the consumer's
//! core as far away as it is: a producer whose stores don't have to fetch lines doesn't wait for
//! that core at all. How far away it is, the producer measures when it reads the consumer's index.
//!
//! # Invariants
//!
//! 1. `tail ≤ head ≤ tail + n - 8`, both multiples of 8 words: every record begins on a 64-byte
//!    line, and the line behind the last is never in use, so that its first word can be none of a
//!    record.
//! 2. A record takes at most a quarter of the data, so that it always fits, padding included, into
//!    an empty ring.
//! 3. A padding header is never the last thing published, and never begins a lap.
//! 4. Each side keeps its own index in private memory; what stands in the shared word is a copy for
//!    the peer. Whatever the peer wrote is checked against the private index before it is used.
//!
//! # Memory ordering
//!
//! Data words are read and written with relaxed atomics, indices with acquire and release:
//!
//! - The producer's data stores come before its release store of a batch's first header, the
//!   consumer's acquire load of that header before its data loads: what the consumer reads is what
//!   was pushed.
//! - That store comes before the release store of `head`, and the consumer loads `head` with
//!   acquire before it looks at the header again: where `head` says that a record is, its header is
//!   seen.
//! - What was streamed is settled before that store.
//! - The consumer's data loads come before its release store of `tail`, the producer's acquire load
//!   of `tail` before its next stores to the same words: nothing is overwritten before it was read.
//!
//! Loom explores this for small rings (`tests/ring_loom.rs`), with each of the three edges also
//! removed on purpose; Miri runs it on raw memory.
//!
//! # A hostile peer
//!
//! No reference to data in shared memory is handed out: records are copied in and out by accesses
//! that may meet another's, so a peer that writes at the wrong time makes garbage, not undefined
//! behaviour. A header is read once, and checked in its private copy. A side that sees something
//! impossible reports a [`RingError`] and uses the ring no more.

mod consumer;
mod copy;
mod distance;
mod memory;
mod producer;
mod record;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod stream;
mod writer;

pub use consumer::{Consumer, Popped};
pub use memory::{CONTROL_WORDS, RingMemory, SharedMemory, Streaming, shared_words};
pub use producer::{Producer, PushError};
pub use record::{MAX_RECORD, MAX_RING_BYTES, MIN_RING_BYTES, RingError, record_bytes};
