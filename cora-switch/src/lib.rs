//! The flow table that deals buckets to shards, the protocol that hands buckets over, and the
//! policy that moves them by load.
//!
//! A run has several shards: cores of the NIC or of the host, each with the states that only it
//! touches. Rules of a flow table deal each [bucket](cora_core::bucket) to the in-queue of one
//! shard. A bucket's state is at that shard, its owner. When the bucket moves, its rule, its state
//! and its frames must change together, although no two of them can. This crate has no input and
//! output: the supervisor, which owns the queues, drives its [`Dealer`].
//!
//! | module | concept |
//! | --- | --- |
//! | [`rules`] | rules, their operations, and the contract of a flow table |
//! | [`Emulated`] | a flow table in software, in the place of a NIC's |
//! | [`records`] | control records to and from shards |
//! | [`coordinator`] | the state machine that moves buckets |
//! | [`dealer`] | coordinator and flow table, driven in one place, in records of the link |
//! | [`balance`] | which buckets move by load |
//!
//! # The handover
//!
//! Each shard has an in-queue and an out-queue. Both are first in, first out, and carry frames and
//! records. Bucket `b` moves from shard X to shard Y with epoch `e`, which is higher than all
//! earlier ones:
//!
//! ```text
//!    supervisor                flow table      X                     Y
//! 1  Leaving(e, b) ──────────────────────────→ handles on
//!    Coming(e, b) ────────────────────────────────────────────────→ holds frames of b
//! 2  insert(b → Y, e) ───────→ frames of b ───────────────────────→
//! 3  ←──────────────── answer
//!    Going(e) ───────────────────────────────→ has handled all of b
//! 4  the wire ←─────────────────────── output
//!    ←──────────────────────────────── Entry…
//!    Entry… ──────────────────────────────────────────────────────→
//! 5  ←─────────────────────────────── Gone(e)  no longer owns b
//!    Arrived(e) ──────────────────────────────────────────────────→ owns b, handles held frames
//!    remove(b → X) ──────────→
//! ```
//!
//! A move is of a set of buckets of one shard. There is one move at a time, and others wait.
//!
//! # Why it is correct
//!
//! 1. *Every frame meets an owner.* A rule leads to Y only after it was asked for, and `Coming` is
//!    in Y's queue before that. A frame that takes the old rule does so before the insertion is
//!    answered, so it is in front of `Going` in X's queue. X handles it, or Y holds it.
//! 2. *One owner.* X owns until `Going`, Y from `Arrived` on. `Arrived` is pushed after `Gone` was
//!    read, which X said after its last frame.
//! 3. *Order of handling.* A frame of X reached the switch before each frame of Y, since the rule
//!    changed once. X handles its frames before `Gone`. Y handles its own after `Arrived`, those
//!    held first and in their order.
//! 4. *Order of output.* X's output is in front of `Gone` in its out-queue. It has left when the
//!    supervisor reads `Gone`, and Y's output begins later.
//! 5. *State.* Entries are behind the frames that made them, and in front of `Gone`. So they are in
//!    front of `Arrived` in Y's queue.
//! 6. *Tables that apply late, twice, or never.* Rules are never changed in place: the new one has
//!    a higher priority, and the old one is removed when nobody needs it. An old rule that comes
//!    back has a lower priority than the one in force, so it costs no more than an entry. An
//!    operation without an answer is asked for again, by the same bucket and epoch, so it may be
//!    done any number of times.
//! 7. *Tables without room.* A bucket whose rule was refused stays at X (`Stays`), and no frame of
//!    it took a new rule. The others move.
//! 8. *Bounds.* The coordinator counts what Y holds. At a limit of bytes or of packet time,
//!    [`Coordinator::must_wait`] keeps all later packets on the wire, until `Arrived`. The move
//!    needs no packet to go on, so this is no deadlock. A table that never answers and a new owner
//!    that never runs again do stop the wire: the [report](Report) says so.
//!
//! # Deaths
//!
//! A shard that dies loses its entries and the frames in its queues. Afterwards it is told of its
//! buckets (`Owns`) in front of all frames. Those that it left unread may be pushed again behind
//! that, if it still [takes](Coordinator::takes) them. What it said is read before, or never.
//!
//! | dies | when | then |
//! | --- | --- | --- |
//! | X | before `Going` | it owns the buckets again, afresh, and hears `Leaving` |
//! | X | before `Going`, and all rules lead to Y before it is back | Y begins afresh |
//! | X | between `Going` and `Gone` | Y drops entries that came (`Void`), and begins afresh |
//! | Y | before `Going` | it hears `Coming` again; X goes on, and `Going` waits for Y |
//! | Y | between `Going` and `Gone` | it hears `Coming` again, and `Void` if entries were lost |
//! | Y | after `Gone` | it owns the buckets, afresh |
//!
//! # Frames at a wrong shard
//!
//! A table that keeps its contract makes none. Others may: then the shard returns the frame
//! ([`Said::Stray`]), and the supervisor passes it on to the owner. Nothing is lost, but the order
//! isn't promised. A shard can return only as many frames as came to it by mistake, so none goes
//! round in a circle, and a shard that makes up frames is found out.
//!
//! Shards are not trusted. A record that no sound shard sends is a [`Fault`], which names the
//! shard, and changes nothing.
//!
//! The tests explore all interleavings of small scenarios, with faults of tables and deaths, and
//! find planted faults.
#![forbid(unsafe_code)]

pub mod balance;
pub mod coordinator;
pub mod dealer;
mod emulated;
pub mod records;
pub mod rules;
mod shard;

pub use coordinator::{Coordinator, Fault, Lie, Limits, NoSuchShard, Relay, Report};
pub use dealer::Dealer;
pub use emulated::{Abilities, Emulated};
pub use records::{Said, Told};
pub use rules::{Answer, Change, Counts, Epoch, FlowTable, Operation, Refused, Rule};
pub use shard::Shard;
