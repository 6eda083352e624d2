//! A capture of flows that end in every way, and its expected records, counted from its frames.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::net::IpAddr;
use std::path::Path;

use cora_tests::ipfix::Values;
use cora_traffic::pcap::Writer;
use cora_traffic::view::{Tuple, View};

const SECOND: u64 = 1_000_000_000;
/// Time stamp of the first frame (ns since 1970).
const BEGIN: u64 = 1_700_000_000 * SECOND;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A record in the form of the comparison.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    tuple: Tuple,
    start: u64,
    end: u64,
    pub(crate) packets: u64,
    bytes: u64,
    flags: u64,
    pub(crate) reply_packets: u64,
    reply_bytes: u64,
    reply_flags: u64,
    longest: u64,
    pub(crate) reason: u8,
}

impl Row {
    /// Converts a decoded record.
    pub(crate) fn of(values: &Values) -> Self {
        const REVERSE: u32 = 29305;
        let number = |enterprise, id| {
            let value: &Vec<u8> = &values[&(enterprise, id)];
            value.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let has = |enterprise, id| values.contains_key(&(enterprise, id));
        // A direction without packets has no time to live; a reply direction without packets has no
        // field.
        let replies = if has(REVERSE, 2) { number(REVERSE, 2) } else { 0 };
        for (enterprise, packets) in [(0, number(0, 2)), (REVERSE, replies)] {
            for extreme in [52, 53] {
                assert_eq!(has(enterprise, extreme), packets > 0, "{values:?}");
            }
            let (is_told, tcp) = (enterprise == 0 || packets > 0, number(0, 4) == u64::from(TCP));
            assert_eq!(has(enterprise, 6), is_told && tcp, "flags are TCP's: {values:?}");
            assert_eq!(has(enterprise, 352), is_told, "{values:?}");
        }
        assert!(!has(REVERSE, 2) || replies > 0, "a way back without packets: {values:?}");
        assert!(number(0, 153) >= number(0, 152), "it ends before it begins: {values:?}");
        let or_none = |enterprise, id| if has(enterprise, id) { number(enterprise, id) } else { 0 };
        let address = |v4: u16, v6: u16| match (values.get(&(0, v4)), values.get(&(0, v6))) {
            (Some(v4), None) => IpAddr::from(<[u8; 4]>::try_from(&v4[..]).expect("4 bytes")),
            (None, Some(v6)) => IpAddr::from(<[u8; 16]>::try_from(&v6[..]).expect("16 bytes")),
            _ => panic!("one address of one family"),
        };
        Self {
            tuple: (
                number(0, 4) as u8,
                address(8, 27),
                number(0, 7) as u16,
                address(12, 28),
                number(0, 11) as u16,
            ),
            start: number(0, 152),
            end: number(0, 153),
            packets: number(0, 2),
            bytes: number(0, 352),
            flags: or_none(0, 6),
            reply_packets: replies,
            reply_bytes: or_none(REVERSE, 352),
            reply_flags: or_none(REVERSE, 6),
            longest: number(0, 423),
            reason: number(0, 136) as u8,
        }
    }

    fn is_over(&self) -> bool {
        let both = self.flags & self.reply_flags & u64::from(FIN) != 0;
        both || (self.flags | self.reply_flags) & u64::from(RST) != 0
    }
}

/// The expected records of a program that keeps records.
#[derive(Default)]
struct Expected {
    alive: BTreeMap<Tuple, (Row, u64)>,
    rows: Vec<Row>,
}

impl Expected {
    fn packet(&mut self, time: u64, frame: &[u8]) {
        let view = View::of(frame).expect("frames of ours parse");
        let tuple = view.tuple(frame).expect("and have ports");
        let flags = if view.protocol == TCP { frame[view.transport + 13] } else { 0 };
        let (protocol, from, from_port, to, to_port) = tuple;
        let reversed = (protocol, to, to_port, from, from_port);
        let mut key = if self.alive.contains_key(&reversed) { reversed } else { tuple };
        if let Some((row, last)) = self.alive.get(&key) {
            let idle = if row.is_over() { 5 } else { 30 } * SECOND;
            let opens = flags & (SYN | ACK) == SYN && row.is_over();
            let reason = if row.is_over() { 3 } else { 2 };
            if time - last >= idle {
                let reason = if row.is_over() { 3 } else { 1 };
                self.end(&key, reason);
                key = tuple;
            } else if opens {
                self.end(&key, reason);
                key = tuple;
            } else if time / 1_000_000 - row.start >= 60_000 {
                self.end(&key, reason);
            }
        }
        let (start, length) = (time / 1_000_000, frame.len() as u64);
        let new = || {
            let row = Row {
                tuple: key,
                start,
                end: start,
                packets: 0,
                bytes: 0,
                flags: 0,
                reply_packets: 0,
                reply_bytes: 0,
                reply_flags: 0,
                longest: 0,
                reason: 0,
            };
            (row, time)
        };
        let (row, last) = self.alive.entry(key).or_insert_with(new);
        (*last, row.end, row.longest) = (time, start, row.longest.max(length));
        if key == tuple {
            row.packets += 1;
            row.bytes += length;
            row.flags |= u64::from(flags);
        } else {
            row.reply_packets += 1;
            row.reply_bytes += length;
            row.reply_flags |= u64::from(flags);
        }
    }

    fn end(&mut self, key: &Tuple, reason: u8) {
        let (row, _) = self.alive.remove(key).expect("it is alive");
        self.rows.push(Row { reason, ..row });
    }

    fn finish(mut self, now: u64) -> Vec<Row> {
        for (row, last) in self.alive.into_values() {
            let reason = match row.is_over() {
                true => 3,
                false if now - last >= 30 * SECOND => 1,
                false => 4,
            };
            self.rows.push(Row { reason, ..row });
        }
        self.rows.sort();
        self.rows
    }
}

/// Random numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Writes a capture of `flows` flows, and returns its expected records, sorted.
pub(crate) fn write(path: &Path, seed: u64, flows: u16) -> Vec<Row> {
    let mut chance = Chance(seed);
    let mut packets = Vec::new();
    for number in 0..flows {
        flow(&mut chance, number, &mut packets);
    }
    // Some flows are alive at the end of the capture.
    packets.retain(|(time, ..)| *time < BEGIN + 230 * SECOND);
    // In whole milliseconds, as in records; flows take turns within one.
    packets.sort();
    let mut writer = Writer::new(BufWriter::new(File::create(path).expect("a file")))
        .expect("its head is written");
    let mut expected = Expected::default();
    let mut now = 0;
    for (time, _, frame) in &packets {
        writer.write(*time, frame).expect("it is written");
        expected.packet(*time, frame);
        now = *time;
    }
    writer.finish().expect("it is written");
    expected.finish(now)
}

/// Adds the packets of a flow: time, order, and frame.
fn flow(chance: &mut Chance, number: u16, packets: &mut Vec<(u64, usize, Vec<u8>)>) {
    let (tcp, v6) = (chance.below(3) > 0, chance.below(3) == 0);
    let mut time = BEGIN + chance.below(240_000) * 1_000_000;
    let mut send = |reply: bool, flags: u8, after_ms: u64| {
        time += after_ms * 1_000_000;
        let payload = usize::from(number) % 90;
        packets.push((time, packets.len(), frame(number, reply, tcp, v6, flags, payload)));
    };
    if tcp {
        send(false, SYN, 0);
        send(true, SYN | ACK, 20);
    }
    for _ in 0..chance.below(14) {
        let gap = match chance.below(12) {
            0 => 20_000,
            1 => 40_000,
            2 => 30_000,
            _ => 1 + chance.below(2_000),
        };
        send(chance.below(2) == 0, ACK, gap);
    }
    if chance.below(8) == 0 {
        // Long enough for several records.
        for _ in 0..40 {
            send(chance.below(2) == 0, ACK, 3_500);
        }
    }
    send(false, ACK, 5);
    if !tcp {
        return;
    }
    match chance.below(4) {
        0 => send(true, RST | ACK, 10),
        1 | 2 => {
            send(true, FIN | ACK, 10);
            send(false, FIN | ACK, 10);
            send(true, ACK, 10);
        }
        _ => return,
    }
    match chance.below(4) {
        // The same ports again: soon, from the other end, or late.
        0 => send(false, SYN, 2_000),
        1 => send(true, SYN, 1_000),
        2 => send(false, ACK, 9_000),
        _ => {}
    }
}

/// Returns a frame of the flow with this number.
fn frame(number: u16, reply: bool, tcp: bool, v6: bool, flags: u8, payload: usize) -> Vec<u8> {
    let transport = if tcp { 20 } else { 8 } + payload;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let [high, low] = number.to_be_bytes();
    let protocol = if tcp { TCP } else { UDP };
    if v6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend((transport as u16).to_be_bytes());
        frame.extend([protocol, 64]);
        let mut inside = [0; 16];
        inside[0] = 0xfd;
        inside[14..].copy_from_slice(&[high, low]);
        let mut outside = [0; 16];
        outside[..4].copy_from_slice(&[0x20, 1, 0xd, 0xb8]);
        let (from, to) = if reply { (outside, inside) } else { (inside, outside) };
        frame.extend(from);
        frame.extend(to);
    } else {
        frame.extend([8, 0]);
        let ip = frame.len();
        frame.extend([0x45, 0]);
        frame.extend((20 + transport as u16).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
        let (inside, outside) = ([10, 0, high, low], [198, 51, 100, 7]);
        let (from, to) = if reply { (outside, inside) } else { (inside, outside) };
        frame.extend(from);
        frame.extend(to);
        let words = frame[ip..].chunks_exact(2);
        let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let folded = !(((folded & 0xffff) + (folded >> 16)) as u16);
        frame[ip + 10..ip + 12].copy_from_slice(&folded.to_be_bytes());
    }
    let (one, two) = (1_024 + number, 443_u16);
    let (from, to) = if reply { (two, one) } else { (one, two) };
    frame.extend(from.to_be_bytes());
    frame.extend(to.to_be_bytes());
    if tcp {
        frame.extend([0; 8]);
        frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        frame.extend((transport as u16).to_be_bytes());
        frame.extend([0, 0]);
    }
    frame.resize(frame.len() + payload, 7);
    frame
}
