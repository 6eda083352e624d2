//! Captures on both sides of the middle, and the packets' fate in between.
//!
//! | module | contents |
//! | --- | --- |
//! | `packet` | the parts of a packet that a translation leaves alone, and those that may change |
//! | `crossing` | each packet that came out, matched with one that went in |
//! | `streams` | the bytes that each end of a TCP connection said |

mod crossing;
mod packet;
mod streams;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cora_traffic::namespace::Namespace;
use cora_traffic::pcap::Reader;

use crate::Result;
use crate::checks::SESSIONS;
use crate::program::Service;
use crate::site::{Site, WIRE};
use crate::verdict::Observed;

use self::crossing::Crossing;
pub(crate) use self::crossing::list;
use self::packet::{Packet, Place};

/// tcpdump on both sides.
#[derive(Debug)]
pub struct Captures {
    sides: [(Service, PathBuf); 2],
}

impl Captures {
    /// Starts both, writing to files in `directory`.
    ///
    /// # Errors
    /// When tcpdump isn't there, or lacks permission.
    pub fn start(site: &Site, directory: &Path) -> Result<Self> {
        let side = |space: &Namespace, name: &str| {
            let path = directory.join(format!("{}-{name}.pcap", site.function.name()));
            let mut tcpdump = space.command("tcpdump");
            // The long sessions are as long as the checks take.
            tcpdump
                .args([
                    "-i",
                    WIRE,
                    "-n",
                    "-U",
                    "--immediate-mode",
                    "-B",
                    "65536",
                    // Longer than any frame here: of longer ones, few would find room.
                    "-s",
                    "2048",
                    "-Z",
                    "root",
                    "-w",
                ])
                .arg(&path);
            let [first, last] = SESSIONS;
            tcpdump.arg(format!("(ip or ip6) and not portrange {first}-{last}"));
            Service::start_until(&mut tcpdump, "listening").map(|service| (service, path))
        };
        Ok(Self { sides: [side(&site.clients, "clients")?, side(&site.router, "router")?] })
    }

    /// Ends both. Returns the results between them, and the clients' lost packets by kind.
    ///
    /// # Errors
    /// When a capture is incomplete, or can't be read.
    pub fn end(self, site: &Site) -> Result<(Vec<Observed>, BTreeMap<String, u64>)> {
        // The last packets are in flight to the other side, and to the files. Ends that miss an
        // answer go on to send.
        let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        std::thread::sleep(Duration::from_millis(700));
        let [clients, router] = self.sides.map(|(service, path)| {
            let said = service.interrupt(Duration::from_secs(10))?.stderr;
            let dropped = said.lines().find(|line| line.contains("dropped by kernel"));
            if dropped.is_none_or(|line| !line.trim_start().starts_with("0 ")) {
                return Err(format!("the capture is incomplete: {}", said.trim()));
            }
            Ok(path)
        });
        let clients = read(&clients?, Place::Clients)?;
        let router = read(&router?, Place::Router)?;
        let until = until.as_nanos() as u64;
        let crossing = Crossing::of(&clients, &router, until, site.function);
        let mut seen = crossing.told();
        seen.push(streams::told(&clients));
        Ok((seen, crossing.lost))
    }
}

fn read(path: &Path, place: Place) -> Result<Vec<Packet>> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let reader = Reader::new(BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    let mut packets = Vec::new();
    for frame in reader {
        let frame = frame.map_err(|error| failed(error.to_string()))?;
        packets.extend(Packet::of(frame.time, &frame.bytes, place));
    }
    Ok(packets)
}
