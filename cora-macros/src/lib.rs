//! The attribute macros of Cora. Each is one line over `cora-build`, where the front end is; use
//! them through `cora::prelude`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

/// Declares a state: what a handler may keep from one packet to the next.
///
/// | form | meaning |
/// | --- | --- |
/// | `#[state(key = FiveTuple, capacity = 1_000_000, idle = "5m")]` | one entry per key; `reply` beside `key`: the reply direction's key finds it too; `durable`: copies of entries outlive the side that owns them; `recorded`: each entry becomes a record when it ends, and the state says by `impl FlowRecord` what is in it; `idle_by = Self::idle`: a `fn(&Self) -> Duration` says of each entry how long it lives unused, and `idle` is the longest time; `from = Before` beside `durable`: where the running program's entries are laid out as the type `Before`, a newer build makes its own of them by `impl From<Before>` |
/// | `#[state(singleton)]` | one value; implement `Default` |
/// | `#[state(commutative)]` | fields of `Sum`, `Max`, `CountMin`, `TopK`, `HeavyPrefixes`: a replica on each side, merged in reports |
/// | `#[state(read_mostly)]` | rules, routes, backends: implement `Default` and `Configure` |
///
/// Except for commutative ones, states are plain data and become `Clone` and `Copy`. Other derives
/// stand below the attribute.
#[proc_macro_attribute]
pub fn state(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::state(args.into(), item.into()).into()
}

/// Declares a handler: a function of the packet and the states it uses, run once per packet.
///
/// `fn name(packet: &mut Packet, a: &mut Table<A>, b: &mut B, c: &C) -> Verdict`: a table for a keyed
/// state, `&mut` for a singleton or commutative one, `&` for a read-mostly one. The body is ordinary
/// Rust. The function itself remains, and can be called in a test.
///
/// One that does not read what the packet carries takes `packet: &mut Headers` instead: where all handlers of a program do,
/// the host gets the heads of long frames alone.
#[proc_macro_attribute]
pub fn flow_handler(args: TokenStream, item: TokenStream) -> TokenStream {
    cora_build::expand::flow_handler(args.into(), item.into()).into()
}

/// Makes a struct, or an enum without fields, plain data: what may stand in a state.
///
/// The type must be `Copy`. An enum is encoded as one byte, the number of its variant.
#[proc_macro_derive(Plain)]
pub fn plain(item: TokenStream) -> TokenStream {
    cora_build::expand::derive_plain(item.into()).into()
}
