//! Real traffic: two network namespaces joined by a veth pair, the kernel's own stack on both ends,
//! and a capture taken at the inside end.

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod servers;

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::{Profile, TrafficError};

/// The result of [`real`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealTraffic {
    /// The captures, in nanosecond pcap.
    pub captures: Vec<PathBuf>,
    /// Whether they are real.
    pub mode: Mode,
}

/// The origin of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From the kernel's own stack.
    Real {
        /// Features that this machine lacked, one sentence each; empty if it had all.
        lacking: Vec<String>,
    },
    /// From the generator, because namespaces were not available.
    Generated {
        /// The reason.
        why: String,
    },
}

/// Captures real traffic into `directory`, within about 20 seconds. If this machine doesn't allow
/// network namespaces, a generated capture stands in; both the mode and standard error say so.
///
/// Inside hosts are 10.77.0.2 to 10.77.0.9 and fd00:77::2 to fd00:77::9.
pub fn real(directory: &Path) -> Result<RealTraffic, TrafficError> {
    fs::create_dir_all(directory)?;
    match capture_real(directory) {
        Ok(traffic) => Ok(traffic),
        Err(TrafficError::Setup { what, why }) => {
            let why = format!("{what}: {why}");
            eprintln!("cora-traffic: no real traffic ({why}); a generated capture stands in");
            let path = directory.join("generated.pcap");
            let file = BufWriter::new(File::create(&path)?);
            crate::generate(Profile::Mix, 1, 20_000, 2_000, file)?;
            Ok(RealTraffic { captures: vec![path], mode: Mode::Generated { why } })
        }
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn capture_real(directory: &Path) -> Result<RealTraffic, TrafficError> {
    let network = network::Network::create()?;
    let path = directory.join("real.pcap");
    let capture = capture::Capture::start(&network.inside, &path)?;
    let mut lacking = network.lacking.clone();
    let driven = programs::drive(&network, &mut lacking);
    capture.finish()?;
    driven?;
    Ok(RealTraffic { captures: vec![path], mode: Mode::Real { lacking } })
}

#[cfg(not(target_os = "linux"))]
fn capture_real(_: &Path) -> Result<RealTraffic, TrafficError> {
    Err(TrafficError::Setup {
        what: "network namespaces".to_owned(),
        why: "this system has none".to_owned(),
    })
}
