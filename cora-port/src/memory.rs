//! Frames made in memory, to measure the code behind a port: UDP flows in turn, as many as asked.
//!
//! Without a rate, frames are there whenever somebody asks. With one they come by the clock, into a
//! ring as a NIC has it: those that find it full are dropped, and counted.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use crate::name::number;
use crate::{Checksums, Counters, OnReceive, OnTransmit, Port, PortError, Upgrade, checksum};

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;

/// Settings of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryName {
    /// Flows, each with its own source address and port.
    pub flows: u32,
    /// Bytes of a frame, without its check sequence.
    pub size: usize,
    /// Total of frames; none: without end.
    pub count: Option<u64>,
    /// Frames a second; none: as fast as they are taken.
    pub rate: Option<u64>,
}

/// Frames of the ring.
const RING: u64 = 4096;

impl FromStr for MemoryName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut made = Self { flows: 1, size: 60, count: None, rate: None };
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` in `mem:{text}`: write KEY=VALUE, as in mem:flows=16;size=64")
            })?;
            match key {
                "flows" => made.flows = number(key, value, 1..=1 << 20)?,
                "size" => made.size = number(key, value, 60..=9018)?,
                "count" => made.count = Some(number(key, value, 1..=u64::MAX)?),
                "rate" => made.rate = Some(number(key, value, 1..=1_000_000_000)?),
                _ => {
                    return Err(format!(
                        "`mem:` knows no `{key}`: write flows, size, count or rate"
                    ));
                }
            }
        }
        Ok(made)
    }
}

impl fmt::Display for MemoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flows={};size={}", self.flows, self.size)?;
        self.count.map_or(Ok(()), |count| write!(f, ";count={count}"))?;
        self.rate.map_or(Ok(()), |rate| write!(f, ";rate={rate}"))
    }
}

/// A port that makes frames, and counts the frames that leave.
#[derive(Debug)]
pub struct MemoryPort {
    settings: MemoryName,
    frame: Vec<u8>,
    counters: Counters,
    /// When frames began to come.
    began: Option<Instant>,
}

impl MemoryPort {
    /// Creates the port of these settings.
    pub fn new(settings: MemoryName) -> Self {
        let (frame, counters) = (vec![0; settings.size], Counters::default());
        Self { settings, frame, counters, began: None }
    }

    /// Frames that have come so far, taken or dropped.
    const fn came(&self) -> u64 {
        self.counters.received + self.counters.receive_ring_full
    }

    /// Frames that wait, at most `most`.
    fn waiting(&mut self, most: u64) -> u64 {
        let end = self.settings.count.unwrap_or(u64::MAX);
        let Some(rate) = self.settings.rate else { return most.min(end - self.came()) };
        let since = self.began.get_or_insert_with(Instant::now).elapsed().as_nanos();
        let due = since * u128::from(rate) / 1_000_000_000;
        let due = u64::try_from(due).unwrap_or(u64::MAX).min(end);
        let waiting = due.saturating_sub(self.came());
        self.counters.receive_ring_full += waiting.saturating_sub(RING);
        most.min(waiting).min(RING)
    }

    /// Makes a frame from 10.0.0.0/8 to 203.0.113.1.
    fn make(&mut self, number: u64) {
        let flow = (number % u64::from(self.settings.flows)) as u32;
        let frame = &mut self.frame;
        let size = frame.len();
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        let total = ((size - 14) as u16).to_be_bytes();
        let [_, a, b, c] = (flow >> 4).to_be_bytes();
        let head = [0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 17, 0, 0, 10, a, b, c];
        frame[14..30].copy_from_slice(&head);
        frame[30..34].copy_from_slice(&[203, 0, 113, 1]);
        let port = (1024 + (flow & 15) as u16).to_be_bytes();
        let length = ((size - 34) as u16).to_be_bytes();
        // Zero: no UDP checksum.
        let udp = [port[0], port[1], 0, 53, length[0], length[1], 0, 0];
        frame[34..HEADERS].copy_from_slice(&udp);
        checksum::finish(&mut frame[14..34], 0, 10);
    }
}

impl Port for MemoryPort {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let waiting = self.waiting(most as u64);
        for _ in 0..waiting {
            self.make(self.came());
            self.counters.received += 1;
            each(&self.frame);
        }
        Ok(waiting as usize)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        self.counters.transmitted += frames.len() as u64;
        frames.len()
    }

    fn is_exhausted(&self) -> bool {
        self.settings.count.is_some_and(|count| self.came() >= count)
    }

    fn mtu(&self) -> usize {
        9018 - 14
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::AsTheyCame, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Refuse
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn as_many_flows_and_frames_as_asked_for() {
        let mut port = MemoryPort::new("flows=40;size=64;count=100".parse().unwrap());
        let (mut sources, mut frames) = (BTreeSet::new(), 0);
        while !port.is_exhausted() {
            let each = &mut |frame: &[u8]| {
                assert_eq!(frame.len(), 64);
                let sum: u32 = frame[14..34]
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .map(|pair| u32::from(u16::from_be_bytes(*pair)))
                    .sum();
                assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the header's checksum is right");
                sources.insert(frame[26..36].to_vec());
                frames += 1;
            };
            port.receive(32, each).unwrap();
        }
        assert_eq!((sources.len(), frames), (40, 100));
        assert_eq!(port.receive(32, &mut |_| ()).unwrap(), 0);
    }

    #[test]
    fn frames_of_a_rate_come_by_the_clock_and_a_full_ring_drops() {
        let name = "flows=4;size=60;count=20000;rate=2000000";
        let mut port = MemoryPort::new(name.parse().unwrap());
        assert_eq!(port.settings.to_string(), name);
        assert_eq!(port.receive(32, &mut |_| ()).unwrap(), 0, "none has come yet");
        // All of them are due by then, and the ring has room for some.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut taken = 0;
        while !port.is_exhausted() {
            taken += port.receive(32, &mut |_| ()).unwrap() as u64;
        }
        assert!(taken <= RING, "{taken}");
        let counters = port.counters();
        assert_eq!((counters.received, counters.receive_ring_full), (taken, 20_000 - taken));
    }
}
