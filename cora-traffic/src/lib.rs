//! Captures for tests of network functions: generated ones, the same on every machine, and real
//! ones from the kernel's own stack in two network namespaces.
//!
//! ```
//! let mut capture = Vec::new();
//! let summary = cora_traffic::generate(cora_traffic::Profile::Mix, 1, 1_000, 100, &mut capture)?;
//! assert_eq!(summary.packets, 1_000);
//! assert!(summary.flows >= 100);
//! # Ok::<(), cora_traffic::TrafficError>(())
//! ```
//!
//! | module | concept |
//! | --- | --- |
//! | [`generate()`] | a capture from a profile and a seed |
//! | [`Ranked`] | a capture of flows with rates by a law, from a name and a seed |
//! | [`merge`] | two captures in the order of time |
//! | [`readdress`] | replies sent to the addresses that a NAT gave their flows |
//! | [`answer`] | replies to the output of a NAT |
//! | [`real`] | real traffic, or a generated stand-in |
//! | [`odd()`] | odd frames, each with one oddity and a name |
//! | [`mutate()`] | a capture's frames repeated, most of them changed at random |
//! | [`namespace`] | network namespaces on Linux, with frames as on a wire |
//! | [`view`] | offsets of the fields of a frame |
//!
//! Inside hosts have addresses of 10.0.0.0/8 and fd00::/8; all other hosts are outside. This crate
//! depends on no other crate of Cora, so that it is an independent check.

mod answer;
mod flow;
mod generate;
mod merge;
mod mutate;
#[cfg(target_os = "linux")]
pub mod namespace;
mod odd;
pub mod pcap;
mod profile;
mod random;
mod ranked;
mod readdress;
mod real;
mod summary;
pub mod view;
mod wire;
mod world;
mod zipf;

pub use answer::answer;
pub use generate::{Generated, Generator, generate};
pub use merge::merge;
pub use mutate::{Mutated, mutate};
pub use odd::{OddFrame, odd, write_odd};
pub use profile::Profile;
pub use ranked::{Form, MOST_FLOWS, Ranked, RankedFrames};
pub use readdress::readdress;
pub use real::{Mode, RealTraffic, real};
pub use summary::Summary;
pub use world::{SERVICE_V4, SERVICE_V6, is_inside};

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A capture that can't be read.
    #[error("capture, octet {offset}: {what}")]
    Capture {
        /// Offset in the file.
        offset: u64,
        /// The fault there.
        what: &'static str,
    },
    /// A profile that doesn't exist.
    #[error(
        "unknown profile `{0}`: it is one of mix, churn, zipf, odd, closing, flood, or flows by a law such as \
         uniform:flows=1000 or zipf:flows=1000,s=0.99"
    )]
    UnknownProfile(String),
    /// A form of [`Ranked`] traffic that doesn't exist.
    #[error(
        "unknown form `{0}`: it is one of datagrams, connections, outward, service, inside-service, ipv6, dns, gtp, \
         routed, tunnelled, stations, handshakes"
    )]
    UnknownForm(String),
    /// An invalid name of [`Ranked`] traffic.
    #[error("profile `{name}`: {why}")]
    Ranked {
        /// The name.
        name: String,
        /// The fault, or the valid form.
        why: String,
    },
    /// A requirement of real traffic that this machine does not meet.
    #[error("{what}: {why}")]
    Setup {
        /// The attempted step.
        what: String,
        /// The reason of its failure.
        why: String,
    },
}

/// For callers that report errors as sentences.
impl From<TrafficError> for String {
    fn from(error: TrafficError) -> Self {
        error.to_string()
    }
}
