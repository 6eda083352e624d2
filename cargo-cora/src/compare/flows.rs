//! Whether two captures carry the same packets per flow, in the same order.
//!
//! Between flows the order is free, and so are the time stamps: a plan may let one flow overtake
//! another. Both captures are read side by side. The part that one is ahead waits as hashes of
//! frames, 16 bytes each, so that captures of any length compare in memory that grows with flows
//! and with how far they differ in order.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::BuildHasher;
use std::io::Read;

use ahash::RandomState;
use cora_core::key::{FiveTuple, HeaderKey as _};
use cora_core::packet::{Meta, Packet, Port};
use thiserror::Error;

use cora_host::ingress::pcap::{CaptureError, Reader};

/// Differences that a [`Comparison`] lists; it counts them all.
const LISTED: usize = 16;

/// The outcome of [`compare`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Packets in the first and in the second capture.
    pub packets: [u64; 2],
    /// Flows in either, both directions of one being the same; packets without a flow key count as
    /// one more.
    pub flows: u64,
    /// Flows with different packets.
    pub differing: u64,
    /// Some of them: those with the lowest keys, in the order of their keys.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Whether the captures carry the same packets, flow by flow.
    pub fn is_equal(&self) -> bool {
        self.differing == 0
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.packets;
        if self.is_equal() {
            return write!(f, "the same {first} packets in {} flows", self.flows);
        }
        let (differing, flows) = (self.differing, self.flows);
        write!(f, "{differing} of {flows} flows differ ({first} packets against {second})")?;
        for difference in &self.differences {
            write!(f, "\n  {difference}")?;
        }
        Ok(())
    }
}

/// Where the packets of one flow begin to differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The flow, in the lesser of its two directions; `None` for the packets without a flow key.
    pub flow: Option<FiveTuple>,
    /// The number of the packet within its flow, from 0.
    pub packet: u64,
    /// The difference.
    pub finding: Finding,
}

/// The difference of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// The packet has other bytes in the second capture.
    OtherBytes,
    /// Another one stands in its place in the second capture, which has the same packets from there
    /// on, in another order.
    OtherOrder,
    /// Only the first capture has this packet.
    OnlyInFirst,
    /// Only the second capture has this packet.
    OnlyInSecond,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.flow {
            Some(flow) => write!(f, "{flow}: packet {} ", self.packet)?,
            None => write!(f, "packets without a flow: packet {} ", self.packet)?,
        }
        f.write_str(match self.finding {
            Finding::OtherBytes => "has other bytes in the second capture",
            Finding::OtherOrder => {
                "has another one in its place in the second capture: from there on the same packets come in another order"
            }
            Finding::OnlyInFirst => "is only in the first capture",
            Finding::OnlyInSecond => "is only in the second capture",
        })
    }
}

/// A capture that can't be read to its end.
#[derive(Debug, Error)]
#[error("the {} capture: {source}", ["first", "second"][*capture])]
pub struct CompareError {
    /// Which one: 0 or 1.
    pub capture: usize,
    /// The fault.
    pub source: CaptureError,
}

/// Compares two captures flow by flow: count, order and bytes of the packets.
pub fn compare<A: Read, B: Read>(
    mut first: Reader<A>,
    mut second: Reader<B>,
) -> Result<Comparison, CompareError> {
    let mut flows = Flows::new();
    let (mut more_in_first, mut more_in_second) = (true, true);
    while more_in_first || more_in_second {
        if more_in_first {
            more_in_first = flows.take(&mut first, 0)?;
        }
        if more_in_second {
            more_in_second = flows.take(&mut second, 1)?;
        }
    }
    Ok(flows.finish())
}

/// The flows seen so far, and how far each is matched.
struct Flows {
    seen: HashMap<Option<FiveTuple>, Progress, RandomState>,
    packets: [u64; 2],
    scratch: Vec<u8>,
}

/// How far the packets of one flow are matched.
#[derive(Default)]
struct Progress {
    matched: u64,
    /// Packets that one capture has shown and the other not yet; see `ahead`.
    waiting: VecDeque<(u64, usize)>,
    /// Which capture they are from.
    ahead: usize,
    /// From where the flow differs, if it does: nothing waits then.
    differs: Option<Rest>,
}

/// The packets of a flow from where it differs, whatever their order: per capture how many, and the
/// sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rest([(u64, u64); 2]);

impl Rest {
    const fn add(&mut self, capture: usize, print: (u64, usize)) {
        let (packets, sum) = &mut self.0[capture];
        *packets += 1;
        *sum = sum.wrapping_add(print.0);
    }
}

impl Flows {
    fn new() -> Self {
        // Seeds differ from run to run, so that no capture can be made to collide.
        let random = std::hash::RandomState::new();
        let [a, b, c, d] = [0_u8, 1, 2, 3].map(|number| random.hash_one(number));
        let seen = HashMap::with_hasher(RandomState::with_seeds(a, b, c, d));
        Self { seen, packets: [0; 2], scratch: Vec::new() }
    }

    /// Takes the next frame of a capture; `false` when there is none.
    fn take<R: Read>(
        &mut self,
        reader: &mut Reader<R>,
        capture: usize,
    ) -> Result<bool, CompareError> {
        let frame = reader.next_frame().map_err(|source| CompareError { capture, source })?;
        let Some(frame) = frame else { return Ok(false) };
        self.packets[capture] += 1;
        let print = (self.seen.hasher().hash_one(frame.bytes), frame.bytes.len());
        let flow = flow_of(&mut self.scratch, frame.bytes);
        self.seen.entry(flow).or_default().see(capture, print);
        Ok(true)
    }

    /// Packets without a partner are differences now.
    fn finish(self) -> Comparison {
        let mut differences = Vec::new();
        let flows = self.seen.len() as u64;
        #[expect(clippy::iter_over_hash_type, reason = "its items are sorted below")]
        for (flow, progress) in self.seen {
            let finding = match progress {
                Progress { differs: Some(Rest([first, second])), .. } if first == second => {
                    Finding::OtherOrder
                }
                Progress { differs: Some(_), .. } => Finding::OtherBytes,
                Progress { waiting, .. } if waiting.is_empty() => continue,
                Progress { ahead: 0, .. } => Finding::OnlyInFirst,
                Progress { .. } => Finding::OnlyInSecond,
            };
            differences.push(Difference { flow, packet: progress.matched, finding });
        }
        differences.sort_unstable();
        let differing = differences.len() as u64;
        differences.truncate(LISTED);
        Comparison { packets: self.packets, flows, differing, differences }
    }
}

impl Progress {
    fn see(&mut self, capture: usize, print: (u64, usize)) {
        if let Some(rest) = &mut self.differs {
            rest.add(capture, print);
            return;
        }
        if self.waiting.is_empty() {
            self.ahead = capture;
        }
        if self.ahead == capture {
            self.waiting.push_back(print);
        } else if self.waiting.front() == Some(&print) {
            self.waiting.pop_front();
            self.matched += 1;
        } else {
            let mut rest = Rest::default();
            for waits in std::mem::take(&mut self.waiting) {
                rest.add(self.ahead, waits);
            }
            rest.add(capture, print);
            self.differs = Some(rest);
        }
    }
}

/// The flow of a frame: the lesser of its two directions, so that both find it.
fn flow_of(scratch: &mut Vec<u8>, frame: &[u8]) -> Option<FiveTuple> {
    scratch.clear();
    scratch.extend_from_slice(frame);
    let packet =
        Packet::new(scratch, Meta { time: 0, now: 0, port: Port::INSIDE, ..Meta::default() });
    let flow = FiveTuple::of(&packet).ok()?;
    Some(flow.min(flow.reversed()))
}
