//! Captures to test network functions with: generated ones, the same on every machine, and real
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
//! | module | what |
//! | --- | --- |
//! | [`generate()`] | a capture from a profile and a seed |
//! | [`Ranked`] | a capture of flows whose rates follow a law, from a name and a seed |
//! | [`merge`] | two captures in the order of time |
//! | [`readdress`] | replies sent to where a NAT moved their flows |
//! | [`answer`] | replies to what a NAT put out |
//! | [`real`] | real traffic, or a generated stand-in |
//! | [`odd()`] | frames that are odd, each in one way and by name |
//! | [`mutate()`] | a capture's frames over and over, most of them changed by chance |
//! | [`namespace`] | network namespaces, on Linux: made, joined, entered, swept; frames as on a wire |
//! | [`view`] | where things stand in a frame |
//!
//! Inside hosts have addresses of 10.0.0.0/8 and fd00::/8; everybody else is outside. This crate
//! depends on nothing else of Cora, so that it is a witness of its own.

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
pub use ranked::{MOST_FLOWS, Ranked, RankedFrames, Transport};
pub use readdress::readdress;
pub use real::{Mode, RealTraffic, real};
pub use summary::Summary;
pub use world::{SERVICE_V4, SERVICE_V6, is_inside};

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A capture that can't be read.
    #[error("capture, octet {offset}: {what}")]
    Capture {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// A profile that doesn't exist.
    #[error(
        "unknown profile `{0}`: it is one of mix, churn, zipf, odd, closing, flood, or flows by a law such as \
         uniform:flows=1000 or zipf:flows=1000,s=0.99"
    )]
    UnknownProfile(String),
    /// A name of [`Ranked`] traffic that says something wrong.
    #[error("profile `{name}`: {why}")]
    Ranked {
        /// The name.
        name: String,
        /// What is wrong, or would be right.
        why: String,
    },
    /// Something that real traffic needs and this machine doesn't give.
    #[error("{what}: {why}")]
    Setup {
        /// What was tried.
        what: String,
        /// What came of it.
        why: String,
    },
}

/// For those who tell errors as sentences.
impl From<TrafficError> for String {
    fn from(error: TrafficError) -> Self {
        error.to_string()
    }
}
