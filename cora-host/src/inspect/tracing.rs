//! Packets on their way through either side, from the records of a tap.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cora_core::app::{App, Sides};
use cora_core::bucket::Mark;
use cora_core::packet::{Meta, Port};
use cora_runtime::link::message::{Label, Questions, Stamp};
use cora_runtime::tap::{PUNT, RUN, SNAP, WIRE_IN, WIRE_OUT};
use serde::Serialize;

use crate::ingress::port_names::FIRST;
use crate::inspect::entries::{Effect, Pieces, effects};
use crate::inspect::lost::Lost;
use crate::inspect::packet::{self, flow, port_name};
use crate::inspect::question::TraceRequest;
use crate::inspect::rehearsal::{Rehearsal, Rehearsed, Step};
use crate::inspect::row::side;

/// Packets that a half follows for each one that is wanted: some of those that the host follows
/// came to the NIC before the trace began.
const FOLLOWED: u32 = 4;

pub(super) const TRACE: &str = "cora-trace/1";

/// The values of a side's states, by shard and side.
pub(super) type Values = BTreeMap<(u16, bool), Pieces>;

/// A packet and its way.
#[derive(Debug, Serialize)]
pub(super) struct TracedPacket {
    /// In the order of arrival; a made packet has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    shard: u16,
    /// The port where it came in.
    at: String,
    length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
    /// Its runs, the NIC's first.
    runs: Vec<TracedRun>,
}

/// A packet at a side.
#[derive(Debug, Serialize)]
struct TracedRun {
    side: &'static str,
    /// Its outcome, `punt`, or `waits`.
    ends: String,
    /// Why it ends so, if that is no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    handlers: Vec<Step>,
    entries: Vec<Effect>,
    /// Where it left.
    out: Vec<Leaves>,
    /// Packets and messages that its handlers sent besides.
    sent: u64,
    /// Why its handlers may not be the ones that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsure: Option<String>,
}

impl TracedRun {
    /// At a side, with this end.
    fn new(at_nic: bool, ends: &str) -> Self {
        Self {
            side: side(at_nic),
            ends: ends.into(),
            why: None,
            handlers: Vec::new(),
            entries: Vec::new(),
            out: Vec::new(),
            sent: 0,
            unsure: None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct Leaves {
    port: String,
    length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<String>,
}

/// A side's records of a packet.
#[derive(Debug, Default)]
struct Seen {
    before: Pieces,
    after: Pieces,
    out: Vec<Leaves>,
    is_punted: bool,
    /// Set with its last record.
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    comes_in: bool,
    stamp: Stamp,
    outcome: String,
    frame: Vec<u8>,
    length: u32,
}

/// A trace under way.
pub(super) struct Tracing {
    tap: u16,
    filter: Vec<u8>,
    limit: usize,
    /// By shard and number; the NIC's, and the host's.
    packets: BTreeMap<(u16, u64), [Seen; 2]>,
    counts: Lost,
    until: Instant,
}

impl Tracing {
    /// # Errors
    /// A sentence, if the request makes no sense.
    pub(super) fn begin(request: &TraceRequest, tap: u16) -> Result<Self, String> {
        let TraceRequest { net, port, protocol, limit, seconds, .. } = request;
        if !(1..=1000).contains(limit) {
            return Err("`limit` is a number from 1 to 1000".into());
        }
        Ok(Self {
            tap,
            filter: packet::filter(net.as_deref(), *port, protocol.as_deref())?.encoded().to_vec(),
            limit: *limit as usize,
            packets: BTreeMap::new(),
            counts: Lost::default(),
            until: Instant::now() + Duration::from_secs((*seconds).min(3600)),
        })
    }

    /// The order for halves.
    pub(super) fn order(&self) -> Questions<'_> {
        let Self { tap, filter, limit, .. } = self;
        let points = RUN | WIRE_OUT | PUNT;
        let left = *limit as u32 * FOLLOWED;
        Questions::Tap { tap: *tap, points, every: 1, snap: SNAP as u16, left, filter }
    }

    /// Takes a record of a shard's halves.
    pub(super) fn take(&mut self, shard: u16, told: &Questions<'_>) {
        match *told {
            Questions::TapEntry { tap, number, at_nic, is_after, state, piece }
                if tap == self.tap =>
            {
                let Some(seen) = self.seen(shard, number, at_nic) else { return };
                let entries = if is_after == 0 { &mut seen.before } else { &mut seen.after };
                entries.push((state, piece.to_vec()));
            }
            Questions::Tapped {
                tap,
                stamp,
                length,
                missed,
                passed,
                at_nic,
                point,
                port,
                outcome,
                frame,
            } if tap == self.tap => {
                self.counts.note(shard, side(at_nic != 0), missed, passed);
                if point == 0 {
                    return;
                }
                let Some(seen) = self.seen(shard, stamp.number, at_nic) else { return };
                let Label(outcome) = outcome;
                match point {
                    WIRE_OUT => seen.out.push(leaves(Port(port as u8), frame, length)),
                    PUNT => seen.is_punted = true,
                    point if point & RUN != 0 => {
                        seen.run = Some(Run {
                            comes_in: point & WIRE_IN != 0,
                            stamp,
                            outcome: String::from_utf8_lossy(outcome).into_owned(),
                            frame: frame.to_vec(),
                            length,
                        });
                    }
                    _ => {}
                }
            }
            Questions::Missed { packets } => {
                self.counts.on_the_way(shard, packets);
            }
            _ => {}
        }
    }

    /// The records of a packet at a side; `None` if enough others are.
    fn seen(&mut self, shard: u16, number: u64, at_nic: u16) -> Option<&mut Seen> {
        let most = self.limit * FOLLOWED as usize;
        if self.packets.len() >= most && !self.packets.contains_key(&(shard, number)) {
            return None;
        }
        let [nic, host] = self.packets.entry((shard, number)).or_default();
        Some(if at_nic == 0 { host } else { nic })
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        let whole = self.packets.values().filter(|sides| is_whole(sides)).count();
        whole >= self.limit || Instant::now() >= self.until
    }

    /// The packets, and the counts of losses.
    pub(super) fn end<A: App>(
        self,
        rehearsal: &mut Rehearsal<A>,
        values: &Values,
    ) -> (Vec<TracedPacket>, Lost) {
        let came = |sides: &[Seen; 2]| sides.iter().any(|seen| comes_in(seen).is_some());
        let mut packets: Vec<_> =
            self.packets.into_iter().filter(|(_, sides)| came(sides)).collect();
        // Whole ones first, in their order.
        packets.sort_by_key(|(at, sides)| (!is_whole(sides), *at));
        packets.truncate(self.limit);
        packets.sort_by_key(|(at, _)| *at);
        let traced = packets.into_iter().filter_map(|((shard, number), sides)| {
            let run = sides.iter().find_map(comes_in)?;
            let (frame, length) = (&run.frame, run.length);
            Some(TracedPacket {
                number: Some(number),
                shard,
                at: port_name(run.stamp.meta.port),
                length,
                flow: flow(frame),
                runs: [true, false]
                    .into_iter()
                    .zip(sides.iter())
                    .filter_map(|(at_nic, seen)| {
                        let values = values.get(&(shard, at_nic));
                        traced(rehearsal, at_nic, seen, values.unwrap_or(&Pieces::new()))
                    })
                    .collect(),
            })
        });
        (traced.collect(), self.counts)
    }
}

fn comes_in(seen: &Seen) -> Option<&Run> {
    seen.run.as_ref().filter(|run| run.comes_in)
}

/// Whether the packet's way is known to its end.
fn is_whole([nic, host]: &[Seen; 2]) -> bool {
    match (comes_in(nic), comes_in(host), &host.run) {
        (None, came, _) => came.is_some(),
        // One that waits at the NIC may go on to the host.
        (Some(at_nic), _, run) => !at_nic.outcome.is_empty() || run.is_some(),
    }
}

/// A run as it was, with its handlers from a rehearsal.
fn traced<A: App>(
    rehearsal: &mut Rehearsal<A>,
    at_nic: bool,
    seen: &Seen,
    values: &Pieces,
) -> Option<TracedRun> {
    let Seen { before, after, out, is_punted, run } = seen;
    let Run { stamp, outcome, frame, .. } = run.as_ref()?;
    // A punt is undone, and its flow's entries leave with it.
    let after = if *is_punted { before } else { after };
    let entries = effects(rehearsal.app(), before, after, stamp.meta.now);
    let ends = match &**outcome {
        "" if *is_punted => "punt",
        "" => "waits",
        outcome => outcome,
    };
    let mut told = TracedRun { entries, out: out.clone(), ..TracedRun::new(at_nic, ends) };
    if ends == "waits" {
        told.why = Some(WAITS.into());
    } else if at_nic && *is_punted && !runs_at_nic::<A>(before) {
        told.why = Some(NOT_OWNED.into());
    } else {
        let done = rehearsal.run(at_nic, (stamp, frame), before, values);
        // An entry may have the packet's key, and be of another bucket or group.
        if at_nic && *is_punted && done.outcome.is_some() {
            return Some(TracedRun { why: Some(NOT_OWNED.into()), ..told });
        }
        let expected = done.outcome.as_deref().unwrap_or("punt");
        told.unsure = if expected == ends {
            not_copied(&done)
        } else {
            Some(format!(
                "on copies of the states the packet ends as `{expected}`: they were others when it \
                 came"
            ))
        };
        (told.handlers, told.sent) = (done.steps, done.sent);
    }
    Some(told)
}

/// The way that a made packet would have, on the entries that each side has for it: the NIC's, and
/// the host's.
pub(super) fn made<A: App>(
    rehearsal: &mut Rehearsal<A>,
    (shard, stamp): (u16, Stamp),
    frame: &[u8],
    entries: [Pieces; 2],
    values: &Values,
) -> TracedPacket {
    let nothing = Pieces::new();
    let [nic, host] = entries;
    let values = |at_nic: bool| values.get(&(shard, at_nic)).unwrap_or(&nothing);
    let mut runs = Vec::new();
    let mut all = host;
    let has_nic = !matches!(A::PLAN.sides, Sides::HostOnly);
    if has_nic && !runs_at_nic::<A>(&nic) {
        runs.push(TracedRun { why: Some(NOT_OWNED.into()), ..TracedRun::new(true, "punt") });
    } else if has_nic {
        let done = rehearsal.run(true, (&stamp, frame), &nic, values(true));
        let is_punted = done.outcome.is_none();
        runs.push(rehearsed(rehearsal, true, &stamp, &nic, done));
        if !is_punted {
            all.clear();
        }
        // Its flow's entries travel ahead of it.
        all.extend(nic);
    }
    if runs.last().is_none_or(|run| run.ends == "punt") {
        let done = rehearsal.run(false, (&stamp, frame), &all, values(false));
        runs.push(rehearsed(rehearsal, false, &stamp, &all, done));
    }
    TracedPacket {
        number: None,
        shard,
        at: port_name(stamp.meta.port),
        length: frame.len() as u32,
        flow: flow(frame),
        runs,
    }
}

fn rehearsed<A: App>(
    rehearsal: &mut Rehearsal<A>,
    at_nic: bool,
    stamp: &Stamp,
    before: &Pieces,
    done: Rehearsed,
) -> TracedRun {
    let unsure = not_copied(&done);
    let leaves = done.leaves.iter().map(|(port, frame)| leaves(*port, frame, frame.len() as u32));
    // A punt is undone.
    let after = if done.outcome.is_some() { &done.after } else { before };
    TracedRun {
        out: leaves.collect(),
        entries: effects(rehearsal.app(), before, after, stamp.meta.now),
        handlers: done.steps,
        sent: done.sent,
        unsure,
        ..TracedRun::new(at_nic, done.outcome.as_deref().unwrap_or("punt"))
    }
}

const WAITS: &str = "it waits here: for a merge of both sides' values, or for its flow, which is on its way between \
     them, or behind packets that do";

const NOT_OWNED: &str = "the host has its flow, or the flow is new: no handler runs at the NIC";

/// Whether handlers run at the NIC for a packet that finds these entries there.
fn runs_at_nic<A: App>(entries: &Pieces) -> bool {
    !matches!(A::PLAN.sides, Sides::Split) || A::PLAN.stateless_flows || !entries.is_empty()
}

fn not_copied(done: &Rehearsed) -> Option<String> {
    let names = &done.not_copied;
    (!names.is_empty()).then(|| {
        let names = names.join("`, `");
        format!("`{names}` is empty in a rehearsal: a handler that reads it may act otherwise")
    })
}

fn leaves(port: Port, frame: &[u8], length: u32) -> Leaves {
    Leaves { port: port_name(port), length, flow: flow(frame) }
}

/// The stamp and the bytes of a frame that a request describes.
///
/// # Errors
/// A sentence with a right form.
pub(super) fn frame_of(request: &TraceRequest, now: u64) -> Result<(Stamp, Vec<u8>), String> {
    let TraceRequest { frame, at, .. } = request;
    let text = frame.as_deref().unwrap_or_default();
    let wrong = || format!("`frame` is the hexadecimal bytes of a frame, 14 to {SNAP} of them");
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes: Vec<u8> = pairs.collect::<Option<_>>().ok_or_else(wrong)?;
    if !(14..=SNAP).contains(&bytes.len()) {
        return Err(wrong());
    }
    let port = FIRST.iter().position(|name| name == at).map(|at| at as u8);
    let port = port.or_else(|| at.parse().ok()).filter(|port| *port <= Port::LAST.0);
    let port = Port(port.ok_or_else(|| {
        format!("`at` is inside, outside or a number up to {}, not `{at}`", Port::LAST.0)
    })?);
    let meta = Meta { time: now, now, port, mark: Mark::UNMARKED };
    Ok((Stamp { meta, egress: port, horizon: 0, ..Stamp::BEFORE }, bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::golden;
    use crate::inspect::entries::Kind;
    use crate::inspect::row::Answered;

    fn effect(is: Kind) -> Effect {
        let (before, after) = (Some(json!({ "packets": 1 })), Some(json!({ "packets": 2 })));
        let key = json!("tcp 10.0.0.1:4711 > 192.0.2.7:443");
        match is {
            Kind::Inserted => Effect { state: "Session", key, is, before: None, after },
            Kind::Changed => Effect { state: "Session", key, is, before, after },
            _ => Effect { state: "Session", key, is, before, after: None },
        }
    }

    /// docs/json.md has their fields.
    #[test]
    fn answers_are_as_the_page_says() {
        let flow = || Some("tcp 10.0.0.1:4711 > 192.0.2.7:443".to_owned());
        let punted = TracedRun { why: Some(NOT_OWNED.into()), ..TracedRun::new(true, "punt") };
        let handled = TracedRun {
            side: "host",
            ends: "transmit".into(),
            why: None,
            handlers: vec![Step { handler: "nat", states: vec!["Session"], ends: "transmit" }],
            entries: [Kind::Inserted, Kind::Removed, Kind::Changed, Kind::Read, Kind::There]
                .map(effect)
                .to_vec(),
            out: vec![Leaves { port: "outside".into(), length: 74, flow: flow() }],
            sent: 1,
            unsure: Some("a reason".into()),
        };
        let packet = TracedPacket {
            number: Some(17),
            shard: 0,
            at: "inside".into(),
            length: 74,
            flow: flow(),
            runs: vec![punted, handled],
        };
        golden::json(
            "trace",
            &Answered::Traced {
                schema: "cora-trace/1",
                packets: vec![packet],
                missed: 2,
                passed_by: 64,
            },
        );
    }

    #[test]
    fn a_made_frame_is_read_or_refused_with_the_reason() {
        let request = |frame: &str, at: &str| {
            let request: TraceRequest =
                serde_json::from_value(json!({ "frame": frame, "at": at })).expect("a request");
            frame_of(&request, 7)
        };
        let (stamp, frame) = request(&"0a".repeat(20), "outside").expect("a frame");
        assert_eq!((stamp.meta.now, stamp.meta.port), (7, Port::OUTSIDE));
        assert_eq!(frame, [10; 20]);
        assert_eq!(request(&"00".repeat(14), "9").expect("a frame").0.meta.port, Port(9));
        for (frame, at, why) in [
            ("00".repeat(13), "inside", "14 to 1536"),
            ("0".repeat(29), "inside", "hexadecimal"),
            ("zz".repeat(20), "inside", "hexadecimal"),
            ("é".repeat(20), "inside", "hexadecimal"),
            ("00".repeat(1537), "inside", "14 to 1536"),
            ("00".repeat(20), "dmz", "inside, outside or a number"),
            ("00".repeat(20), "99", "inside, outside or a number"),
        ] {
            let error = request(&frame, at).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }

    /// What halves tell makes no packet that did not come, and no more than were asked for.
    #[test]
    fn records_become_ways() {
        let request: TraceRequest =
            serde_json::from_value(json!({ "limit": 1 })).expect("a request");
        let mut tracing = Tracing::begin(&request, 3).expect("it makes sense");
        let stamp = Stamp { number: 5, ..Stamp::BEFORE };
        let record = |tap, point, at_nic| Questions::Tapped {
            tap,
            stamp,
            length: 60,
            missed: 2,
            passed: 32,
            at_nic,
            point,
            port: 1,
            outcome: Label(b""),
            frame: &[0; 60],
        };
        // Of a tap before.
        tracing.take(0, &record(2, RUN | WIRE_IN, 1));
        assert!(tracing.packets.is_empty());
        tracing.take(0, &record(3, PUNT, 1));
        assert!(!tracing.is_over());
        tracing.take(0, &record(3, RUN | WIRE_IN, 1));
        assert!(!tracing.is_over(), "the host has not run it");
        tracing.take(0, &record(3, RUN, 0));
        assert!(tracing.is_over());
        for number in 0..100 {
            let entry = Questions::TapEntry {
                tap: 3,
                number,
                at_nic: 0,
                is_after: 0,
                state: 0,
                piece: b"piece",
            };
            tracing.take(1, &entry);
        }
        assert_eq!(tracing.packets.len(), FOLLOWED as usize);
        assert_eq!((tracing.counts.missed(), tracing.counts.passed_by()), (4, 64));
    }
}
