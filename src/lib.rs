//! Write a stateful network function once; run it on SmartNIC and host together.
//!
//! ```
//! use cora::prelude::*;
//!
//! /// A connection that somebody inside opened.
//! #[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "5m")]
//! struct Connection {
//!     tcp: TcpState,
//!     packets: u64,
//! }
//!
//! /// Inside may open; outside may only answer.
//! #[flow_handler]
//! fn firewall(packet: &mut Headers, connections: &mut Table<Connection>) -> Verdict {
//!     let flow = packet.five_tuple()?;
//!     match connections.find_mut(&flow) {
//!         Some((direction, connection)) => {
//!             connection.tcp.advance(packet, direction)?;
//!             connection.packets += 1;
//!         }
//!         None if packet.from_inside() => {
//!             connections.insert(flow, Connection { tcp: TcpState::open(packet), packets: 1 })?;
//!         }
//!         None => return Drop(NotAllowed),
//!     }
//!     Transmit
//! }
//! ```
//!
//! A package needs this crate twice: as a dependency, and with the feature `build` as a build
//! dependency. Its build script is `fn main() { cora::build() }`, and the program ends with
//! `cora::app!(firewall);`. `cargo build` then makes the host half, and `cargo build --features
//! nic` the NIC half too; `cargo cora run` runs both on a capture.
//!
//! | door | content |
//! | --- | --- |
//! | [`prelude`] | the names of a program: packet, table, verdict, keys, the attributes |
//! | [`state`], [`flow_handler`], [`app!`] | the three marks of a program |
//! | `testing` | states, frames and time for unit tests of handlers |
//! | `build` | the call of a build script |
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "build")]
pub use cora_build::script::build;
pub use cora_macros::{Plain, flow_handler, state};

/// The names that a program uses.
pub mod prelude {
    pub use crate::{Plain, flow_handler, state};
    pub use cora_core::hash::sip_hash;
    pub use cora_core::key::{
        Address, DestinationAddress, FiveTuple, InsideAddress, Key, SourceAddress, protocol,
    };
    pub use cora_core::mac::MacPair;
    pub use cora_core::packet::{
        Datagrams, Headers, IpFragment, Meta, Packet, Port, ROOM, Roomy, TcpFlags, TcpHeader,
        TcpOptions, TcpSegment, Vlan, checksum,
    };
    pub use cora_core::plain::{Describe, Plain};
    pub use cora_core::record::{Element, End, FlowRecord, Record, element};
    pub use cora_core::state::commutative::{CountMin, HeavyPrefixes, Max, Sum, TopK};
    pub use cora_core::state::table::Direction;
    pub use cora_core::state::{Configure, Generation, Table};
    pub use cora_core::tcp::TcpState;
    pub use cora_core::verdict::reasons::{self, *};
    pub use cora_core::verdict::{Drop, Pass, Reason, Redirect, Transmit, Verdict};
}

/// Makes a program of handlers, in the order in which a packet from inside meets them.
///
/// It includes the output of the build script: the states, the plan, and the entry point.
///
/// ```ignore
/// cora::app!(firewall, nat::translate);
/// ```
#[macro_export]
macro_rules! app {
    ($($handler:path),+ $(,)?) => {
        include!(concat!(
            env!(
                "OUT_DIR",
                "cora::app! needs a build script: put `fn main() { cora::build() }` into build.rs, and \
                 `cora` with the feature `build` into [build-dependencies]"
            ),
            "/cora_app.rs"
        ));
    };
}

/// For tests of a handler, which is a function like any other.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(key = SourceAddress, capacity = 100, idle = "1m")]
/// struct Source {
///     packets: u64,
/// }
///
/// #[flow_handler]
/// fn count(packet: &mut Packet, sources: &mut Table<Source>) -> Verdict {
///     sources.insert(SourceAddress(packet.source()?), Source { packets: 1 })?;
///     Transmit
/// }
///
/// let mut frame = [0; 60];
/// let mut packet = Packet::new(&mut frame, Meta::default());
/// let mut sources = cora::testing::table();
/// assert_eq!(count(&mut packet, &mut sources), Drop(NotIp));
/// ```
#[cfg(all(feature = "host", not(target_os = "none")))]
pub mod testing {
    extern crate std;

    use std::vec::Vec;

    use cora_core::packet::checksum;
    use cora_core::record::{Element, End, Fields, FlowRecord, Record};
    use cora_core::state::table::ahead::ALONE;
    use cora_core::state::{
        Commutative, Home as _, Keyed, Line, Memory, NO_FLOW, Stored as _, Table, Visit,
    };

    /// An empty table, at time 0. Its memory is never given back.
    #[must_use]
    pub fn table<S: Keyed>() -> Table<S> {
        let lines = std::vec![Line::ZERO; Table::<S>::BYTES.div_ceil(Line::BYTES)].leak();
        let Ok(table) = Table::create(&mut Memory::new(lines)) else {
            unreachable!("`create` takes BYTES")
        };
        table
    }

    /// Lets time pass: from now on a packet that comes at `now` (ns) asks the table. Entries that
    /// were unused for their idle time by then have expired.
    pub fn at<S: Keyed>(table: &mut Table<S>, now: u64) {
        table.begin(Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE });
    }

    /// The bytes of an Ethernet frame with an IPv4 packet. The checksum of its header is right, and
    /// the frame is padded to the 60 bytes that it has at least. The payload is the caller's:
    /// transport header first, checksums included.
    ///
    /// # Panics
    /// When the payload is longer than the 65,515 bytes that an IPv4 packet may carry.
    #[must_use]
    pub fn ipv4(
        source: [u8; 4],
        destination: [u8; 4],
        ttl: u8,
        protocol: u8,
        payload: &[u8],
    ) -> Vec<u8> {
        let total = u16::try_from(20 + payload.len()).expect("an IPv4 packet is shorter than this");
        let mut frame = std::vec![0; 34];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&total.to_be_bytes());
        frame[22..24].copy_from_slice(&[ttl, protocol]);
        frame[26..30].copy_from_slice(&source);
        frame[30..34].copy_from_slice(&destination);
        let sum = checksum::internet(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(payload);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// The record of an entry with this end: its elements in their order, with their values,
    /// big-endian.
    pub fn record<S: FlowRecord>(entry: &S, key: &S::Key, end: End) -> Vec<(Element, Vec<u8>)> {
        struct Told(Vec<(Element, Vec<u8>)>);
        impl Fields for Told {
            fn field(&mut self, element: Element, value: &[u8]) {
                self.0.push((element, value.to_vec()));
            }
        }
        let mut told = Told(Vec::new());
        entry.record(key, end, &mut Record::new(&mut told));
        told.0
    }

    /// A commutative state without updates.
    #[must_use]
    pub fn replica<S: Commutative>() -> S {
        S::EMPTY
    }

    /// The packet is through: its updates of a commutative state stay.
    pub fn commit<S: Commutative>(state: &mut S) {
        state.begin(false);
    }
}

/// For generated code; nothing here is for people.
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "host", not(target_os = "none")))]
    extern crate std;

    pub use cora_core as core;
    #[cfg(all(feature = "host", not(target_os = "none")))]
    pub use cora_host as host;
    pub use cora_nic as nic;

    /// The `main` of a program. With the feature `measure`, the program has instruments as well.
    #[cfg(all(feature = "host", not(target_os = "none")))]
    #[cfg_attr(feature = "measure", expect(unreachable_code, reason = "the other `main` runs"))]
    pub fn main<A: core::app::App + Send>(program: host::Program) -> std::process::ExitCode {
        #[cfg(feature = "measure")]
        return cora_measure::main::<A>(program);
        host::main::<A>(program)
    }
}
