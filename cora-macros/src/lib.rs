//! The attribute macros of Cora. Each is one line over `cora-build`, where the front end is; use
//! them through `cora::prelude`.
#![forbid(unsafe_code)]

use cora_build::syntax::Mark;
use proc_macro::TokenStream;

/// Declares a state: data that a handler keeps from one packet to the next.
///
/// | form | meaning |
/// | --- | --- |
/// | `#[state(key = K, capacity = N, idle = "5m")]` | a table with an entry per key |
/// | `#[state(singleton)]` | one value; implement `Default` |
/// | `#[state(commutative)]` | counters and sketches: a replica on each side, merged in reports |
/// | `#[state(commutative, merged)]` | the same, and handlers read them merged: `Merged<S>` |
/// | `#[state(read_mostly)]` | rules, routes, backends: implement `Default` and `Configure` |
///
/// Beside a `key`:
///
/// - `within = G`: an entry belongs to the group `G` of the packet that inserts it, only packets of
///   that group find it, and it travels with its group,
/// - `reply`: the reply direction's key finds the entry too,
/// - `idle_by = Self::idle`: a `fn(&Self) -> Duration` gives each entry its idle time, of which
///   `idle` is the longest,
/// - `assured_by = Self::is_assured`: a `fn(&Self) -> bool`; in a full table, an entry that it does
///   not hold for makes room for a new one,
/// - `durable`: copies of entries outlive the side that owns them,
/// - `from = Before` beside `durable`: if the running program's entries are laid out as the type
///   `Before`, a newer build makes its own of them by `impl From<Before>`,
/// - `recorded`: each entry becomes a record when it ends, by `impl FlowRecord`,
/// - `on_expire`: a function with `#[on_expire]` runs when an entry expires.
///
/// The fields of a commutative state are `Sum`, `Max`, `CountMin`, `TopK`,
/// `HeavyPrefixes` and `Latest`.
/// Except for commutative ones, states are plain data and become `Clone` and `Copy`. Other derives
/// stand below the attribute.
#[proc_macro_attribute]
pub fn state(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::state(args.into(), item.into()).into()
}

/// Declares a message: a typed value that a handler takes in place of a packet, and that handlers
/// send to one another.
///
/// It stands on a struct, or on an enum with a variant for each kind of message. The fields are
/// plain data. Messages with one key are a flow, and handled in order, one at a time.
///
/// - `#[key]` on a field (in an enum: on one of each variant): the key,
/// - `key = One`: all messages of the type are one flow,
/// - with neither, each message is a flow of its own: in no order, at any place,
/// - `udp`: it comes in UDP datagrams, and may leave in them,
/// - `port = 7000` beside `udp`: datagrams for this port alone; needed where a program takes
///   several such types,
/// - `parse` beside `udp`: the program reads and writes it by `impl Parse` and `impl Compose`. A
///   datagram that it can't read passes unread. Without `parse` the wire form is Cora's own: field
///   by field, little-endian, of an enum the variant's number and its fields, of `Bytes` the length
///   in two bytes and the bytes.
#[proc_macro_attribute]
pub fn message(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::message(args.into(), item.into()).into()
}

/// Declares a handler: a function of the packet and the states it uses, run once per packet.
///
/// `fn name(packet: &mut Packet, a: &mut Table<A>, b: &mut B, c: &C) -> Verdict`: a table for a
/// keyed state, `&mut` for a singleton or commutative one, `&` for a read-mostly one. The body is
/// ordinary Rust. The function itself remains, and can be called in a test.
///
/// A handler that does not read the payload takes `packet: &mut Headers` instead: where all
/// handlers of a program do, the host gets the heads of long frames alone.
#[proc_macro_attribute]
pub fn flow_handler(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::function(Mark::Handler, args.into(), item.into()).into()
}

/// Declares a hook: a function that runs once for each entry of a state that expires.
///
/// `fn name(ended: &Ended<S>, a: &mut A, b: &B)`: `S` is a keyed state with `on_expire`; `&mut` for
/// a singleton or commutative state, `&` for configuration; `out: &mut Outbox` sends packets. It
/// runs one second of packet time after the entry's end, before the first packet from then on, and
/// in the order of the ends: under every plan alike. It gives back what the entry held, such as the
/// port of a session.
///
/// It does not run for an entry that a handler removes: that handler has it in hand.
#[proc_macro_attribute]
pub fn on_expire(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::function(Mark::Hook, args.into(), item.into()).into()
}

/// Declares a timer: a function that runs at intervals of packet time.
///
/// `#[every("1s")] fn name(tick: &Tick, a: &mut A, b: &B, out: &mut Outbox)`: `&mut` for a
/// singleton or commutative state, `&` for configuration. It runs for each multiple of its period
/// behind the first packet, before the first packet from then on, under every plan alike. On a wire
/// it runs while nothing comes, too. After a silence of more than a thousand periods it runs for
/// the last thousand.
#[proc_macro_attribute]
pub fn every(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::function(Mark::Timer, args.into(), item.into()).into()
}

/// Leaves an item out at the NIC: it is for the host alone, and may use `std`.
///
/// It stands on `impl Configure for …`, which only the host calls, and on the functions and `use`
/// that it alone needs. On `mod name;` write `#[cfg(not(target_os = "none"))]`, which it means.
#[proc_macro_attribute]
pub fn host_only(_: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::host_only(&item.into()).into()
}

/// Makes a plain struct a key, which keyed states are looked up by.
///
/// The type must be `Plain`, `Copy`, `PartialEq`, `Eq` and `Debug`, and its fields have at most 39
/// bytes together. `impl HeaderKey` beside it reads the key from a packet's headers, or `impl
/// PacketKey` from the whole packet.
///
/// - `#[key(undirected)]`: both directions of a conversation carry the same key,
/// - `#[key(reply = Self::reversed)]`: a `fn(&Self) -> Self` makes the reply direction's key.
///
/// With neither, the reply direction's key can't be told.
///
/// If all fields are integers, `bool`, `Address`, `Ipv4Addr`, `Mac` or `Prefix`, the derive
/// implements `FromColumns`, too: the key of a configured table has a column for each field. With
/// `#[key(no_columns)]` it doesn't, and `impl FromColumns` beside it reads other columns.
#[proc_macro_derive(Key, attributes(key))]
pub fn key(item: TokenStream) -> TokenStream {
    cora_build::expand::derive_key(item.into()).into()
}

/// Makes a struct or an enum plain data, which may stand in a state.
///
/// The type must be `Copy`, and its fields plain data. An enum is encoded as one byte, the number
/// of its variant. If variants have fields, those of the value's variant follow, and zeros up to
/// the size of the largest.
#[proc_macro_derive(Plain)]
pub fn plain(item: TokenStream) -> TokenStream {
    cora_build::expand::derive_plain(item.into()).into()
}
