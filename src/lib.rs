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
//!             connections.insert(flow, Connection { tcp: TcpState::open(packet)?, packets: 1 })?;
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
//! | [`config`] | what a key or a cell of one's own in a configuration file implements |
//! | [`datagram`] | messages as the contents of datagrams, for clients |
//! | `testing` | states, frames and time for unit tests of handlers |
//! | `build` | the call of a build script |
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "build")]
pub use cora_build::script::build;
pub use cora_core::config;
pub use cora_macros::{Key, Plain, every, flow_handler, host_only, message, on_expire, state};

pub mod datagram;

/// The names that a program uses.
pub mod prelude {
    pub use crate::{Key, Plain, every, flow_handler, host_only, message, on_expire, state};
    pub use cora_core::bucket::{Bucket, BucketPort};
    pub use cora_core::bytes::Bytes;
    pub use cora_core::config::FromColumns;
    pub use cora_core::conntrack::TcpState;
    pub use cora_core::hash::sip_hash;
    pub use cora_core::key::{
        Address, Answer, DestinationAddress, Endpoint, FiveTuple, HeaderKey, InsideAddress, Key,
        Mac, MacPair, One, PacketKey, Prefix, SourceAddress, protocol,
    };
    pub use cora_core::message::{
        Compose, Destination, Envelope, Message, NobodyAsked, Parse, Peer, Text, TooManyHops,
    };
    pub use cora_core::outbox::{Outbox, OutboxFull, TooManySends};
    pub use cora_core::packet::{
        BadChecksum, Datagrams, Encapsulation, Headers, IcmpError, Inner, IpFragment, Meta, NoRoom,
        NotAnswered, NotTranslated, NotTunnelled, Offsets, Outer, Packet, Port, Query, ROOM, Roomy,
        TcpFlags, TcpHeader, TcpOptions, TcpSegment, TcpTimestamps, TtlExceeded, Tunnel, Vlan,
        checksum,
    };
    pub use cora_core::plain::{Describe, Plain};
    pub use cora_core::record::{Element, End, FlowRecord, Record, element};
    pub use cora_core::state::commutative::{
        CountMin, HeavyPrefixes, Latest, Max, Maxima, Merged, Sum, Sums, TopK,
    };
    pub use cora_core::state::table::{Direction, Ended};
    pub use cora_core::state::{
        Acl, Configure, Generation, Id, Map, Object, ObjectError, Objects, Prefixes, Region, Table,
        Tracked,
    };
    pub use cora_core::timeouts::Timeouts;
    pub use cora_core::timer::Tick;
    pub use cora_core::verdict::reasons::{self, *};
    pub use cora_core::verdict::{Done, Drop, Pass, Reason, Redirect, Stop, Transmit, Verdict};
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

#[cfg(all(feature = "host", not(target_os = "none")))]
pub mod testing;

/// For generated code; nothing here is for people.
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "host", not(target_os = "none")))]
    extern crate std;

    #[cfg(all(feature = "host", not(target_os = "none")))]
    pub use cora_card as card;
    pub use cora_core as core;
    #[cfg(all(feature = "host", not(target_os = "none")))]
    pub use cora_host as host;
    pub use cora_nic as nic;

    /// Serves the NIC halves of this program that `next` tells of, until it tells of the end.
    #[cfg(all(feature = "host", not(target_os = "none")))]
    pub fn serve_many<A: core::app::App>(next: &mut dyn FnMut() -> host::Order) {
        use std::boxed::Box;
        use std::vec::Vec;

        let mut rooms: Vec<Option<Box<nic::Seat<A>>>> = Vec::new();
        let mut buffer = std::vec![0; nic::TURN_BYTES];
        loop {
            match next() {
                host::Order::Begin { room, fd, length } => {
                    let number = usize::from(room);
                    if rooms.len() <= number {
                        rooms.resize_with(number + 1, || None);
                    }
                    if let Some(place) = rooms.get_mut(number) {
                        *place = nic::Seat::begin(fd, length).map(Box::new);
                    }
                }
                host::Order::Turn { room } => {
                    let half = rooms.get_mut(usize::from(room)).and_then(Option::as_mut);
                    if let Some(half) = half
                        && half.turn(&mut buffer).is_err()
                    {
                        half.leave();
                    }
                }
                host::Order::Leave { room } => {
                    if let Some(place) = rooms.get_mut(usize::from(room)) {
                        *place = None;
                    }
                }
                host::Order::End => return,
            }
        }
    }

    /// The `main` of a program. With the feature `measure`, the program has instruments as well.
    #[cfg(all(feature = "host", not(target_os = "none")))]
    pub fn main<A: core::app::App + Send>(program: host::Program) -> std::process::ExitCode {
        card::first_process::begin_if_asked(program.nic_image, |interface| {
            host::serve_as_card::<A>(&program, interface)
        });
        host::with_room_for(A::VALUE, move || run::<A>(program))
    }

    #[cfg(all(feature = "host", not(target_os = "none")))]
    #[cfg_attr(feature = "measure", expect(unreachable_code, reason = "the other `main` runs"))]
    fn run<A: core::app::App + Send>(program: host::Program) -> std::process::ExitCode {
        #[cfg(feature = "measure")]
        return cora_measure::main::<A>(program);
        host::main::<A>(program)
    }
}
