//! Messages as written. Their decoding is tested where both programs run.

use cora_core::record::{Element, element};

use super::message::Messages;

const PORTS: [Element; 2] = [element::SOURCE_PORT, element::DESTINATION_PORT];
const BOTH_WAYS: [Element; 2] = [element::TCP_FLAGS, element::TCP_FLAGS.reverse()];

/// The example of RFC 7011, A.1 to A.3, with these elements: a template and its records in one
/// message.
#[test]
fn a_message_has_templates_before_their_records() {
    let mut messages = Messages::new(1, 1400, false);
    assert!(messages.take().is_none(), "nothing to send");
    messages.add(&PORTS, &[0, 80, 1, 187], 5_000_000_000);
    messages.add(&PORTS, &[0, 81, 1, 188], 4_000_000_000);
    messages.add(&BOTH_WAYS, &[0, 2, 0, 18], 6_500_000_000);
    let (bytes, records) = messages.take().unwrap();
    assert_eq!(records, 3);
    #[rustfmt::skip]
    let expected = [
        0, 10, 0, 72, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1,
        // Template 256 with two fields, and its records.
        0, 2, 0, 16, 1, 0, 0, 2, 0, 7, 0, 2, 0, 11, 0, 2,
        1, 0, 0, 12, 0, 80, 1, 187, 0, 81, 1, 188,
        // Template 257, which has an enterprise number in its second field.
        0, 2, 0, 20, 1, 1, 0, 2, 0, 6, 0, 2, 128, 6, 0, 2, 0, 0, 0x72, 0x79,
        1, 1, 0, 8, 0, 2, 0, 18,
        // Nothing after that.
    ];
    assert_eq!(bytes[..], expected[..]);
    messages.add(&PORTS, &[0, 82, 1, 187], 0);
    let (bytes, _) = messages.take().unwrap();
    assert_eq!(bytes.len(), 16 + 8, "templates are told once: {bytes:?}");
    assert_eq!(bytes[8..12], [0, 0, 0, 3], "so many records came before");
}

#[test]
fn where_messages_may_be_lost_templates_are_repeated() {
    let mut messages = Messages::new(1, 1400, true);
    let mut with_template = 0;
    for _ in 0..200 {
        messages.add(&PORTS, &[0, 80, 1, 187], 0);
        let (bytes, _) = messages.take().unwrap();
        with_template += u32::from(bytes[17] == 2);
    }
    assert_eq!(with_template, 4, "with the first message, and with each 64th behind it");
}

#[test]
fn no_message_is_longer_than_asked_for() {
    let mut messages = Messages::new(1, 100, false);
    let mut sent = 0;
    for number in 0..100_u32 {
        let elements: &[Element] = if number % 3 == 0 { &PORTS } else { &BOTH_WAYS };
        if messages.is_full_for(elements, &[0; 4]) {
            let (bytes, records) = messages.take().unwrap();
            assert!(bytes.len() <= 100, "{} bytes", bytes.len());
            sent += records;
        }
        messages.add(elements, &[0; 4], 0);
    }
    assert_eq!(sent + messages.take().unwrap().1, 100);
}

/// Records of so many kinds that their templates alone would exceed a message.
#[test]
fn templates_of_many_kinds_are_told_each_in_its_time() {
    let kinds: Vec<Vec<Element>> =
        (0..40).map(|kind| vec![element::SOURCE_IPV6.reverse(); 1 + kind % 9 + kind / 9]).collect();
    let mut distinct: Vec<usize> = kinds.iter().map(Vec::len).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let mut messages = Messages::new(1, 600, true);
    let (mut records, mut all, mut templates, mut sequence) = (0, 0, 0, 0);
    for round in 0..200 {
        let elements = &kinds[round * 7 % kinds.len()];
        let record = vec![round as u8; 16 * elements.len()];
        if messages.is_full_for(elements, &record)
            && let Some((bytes, count)) = messages.take()
        {
            assert!(bytes.len() <= 600, "{} bytes", bytes.len());
            assert_eq!(u32::from_be_bytes(bytes[8..12].try_into().unwrap()), sequence);
            (records, sequence) = (records + count, sequence + count as u32);
            templates += sets(&bytes).iter().filter(|set| **set == 2).count();
        }
        messages.add(elements, &record, 0);
        all += 1;
    }
    records += messages.take().map_or(0, |(_, count)| count);
    assert_eq!(records, all);
    assert!(templates >= distinct.len() && templates < 4 * distinct.len(), "{templates}");
}

/// The kinds of a message's sets.
fn sets(message: &[u8]) -> Vec<u16> {
    let word = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let (mut kinds, mut at) = (Vec::new(), 16);
    while at < message.len() {
        kinds.push(word(at));
        at += usize::from(word(at + 2));
    }
    kinds
}

#[test]
fn a_target_is_a_file_or_a_collector() {
    use super::TargetName;
    for name in ["udp:192.0.2.1:4739", "udp:[2001:db8::1]:4739", "some/file"] {
        assert_eq!(name.parse::<TargetName>().unwrap().to_string(), name);
    }
    for wrong in ["udp:192.0.2.1", "udp:host:", "udp::4739", "udp:host:70000"] {
        assert!(wrong.parse::<TargetName>().is_err(), "{wrong}");
    }
}

/// A program's record of an entry: its piece, as the first port.
fn tell(
    _: usize,
    piece: &[u8],
    _: cora_core::record::When,
    to: &mut dyn cora_core::record::Fields,
) -> Result<u64, cora_core::state::Malformed> {
    if piece.len() != 2 {
        return Err(cora_core::state::Malformed);
    }
    to.field(element::SOURCE_PORT, piece);
    to.field(element::START_MILLISECONDS, &5_000_u64.to_be_bytes());
    Ok(0)
}

fn exporter(target: super::Target) -> super::Exporter {
    let messages = Messages::new(1, target.longest(), target.repeats());
    let (told, trouble) = Default::default();
    let records = super::Records::default();
    let shared = super::Shared { messages, target, told, records, last: 0, trouble, clock: None };
    super::Exporter { tell, shared: std::sync::Arc::new(std::sync::Mutex::new(shared)) }
}

/// Texts have a length before them (RFC 7011, 7), and an entry may have several records.
#[test]
fn texts_are_of_any_length_and_an_entry_may_have_several_records() {
    fn tell(
        _: usize,
        piece: &[u8],
        _: cora_core::record::When,
        to: &mut dyn cora_core::record::Fields,
    ) -> Result<u64, cora_core::state::Malformed> {
        if piece.is_empty() {
            return Err(cora_core::state::Malformed);
        }
        let mut record = cora_core::record::Record::new(to);
        record.another();
        record.text(element::HTTP_REQUEST_HOST, piece);
        record.number(element::SOURCE_PORT, 80_u16);
        record.another();
        record.text(element::HTTP_REQUEST_HOST, b"");
        record.number(element::SOURCE_PORT, 81_u16);
        record.another();
        Ok(0)
    }
    let room = tempfile::tempdir().unwrap();
    let name = super::TargetName::File(room.path().join("records"));
    let target = super::Target::open(&name, false).unwrap();
    let exporter = super::Exporter { tell, ..exporter(target) };
    exporter.left(0, b"a.example", 0);
    exporter.left(0, &[b'x'; 300], 0);
    assert_eq!(exporter.finish().exported, 4);
    let bytes = std::fs::read(room.path().join("records")).unwrap();
    #[rustfmt::skip]
    let expected = [
        &[0, 2, 0, 16, 1, 0, 0, 2, 1, 0xcc, 0xff, 0xff, 0, 7, 0, 2][..],
        &[1, 0, 1, 23, 9], b"a.example", &[0, 80], &[0, 0, 81],
        &[254], &[b'x'; 254], &[0, 80], &[0, 0, 81],
    ];
    assert_eq!(bytes[16..], expected.concat());
}

/// A template without fields withdraws one that the collector has (RFC 7011, 8.1).
#[test]
fn an_entry_that_tells_nothing_has_no_record() {
    fn tell_some(
        state: usize,
        piece: &[u8],
        when: cora_core::record::When,
        to: &mut dyn cora_core::record::Fields,
    ) -> Result<u64, cora_core::state::Malformed> {
        if piece.is_empty() { Ok(0) } else { tell(state, piece, when, to) }
    }
    let room = tempfile::tempdir().unwrap();
    let name = super::TargetName::File(room.path().join("records"));
    let target = super::Target::open(&name, false).unwrap();
    let exporter = super::Exporter { tell: tell_some, ..exporter(target) };
    for piece in [&[][..], &[0, 80], &[], &[0, 81], &[]] {
        exporter.left(0, piece, 0);
    }
    let records = exporter.finish();
    assert_eq!((records.exported, records.lost), (2, 0));
    let bytes = std::fs::read(room.path().join("records")).unwrap();
    #[rustfmt::skip]
    let expected = [
        0, 2, 0, 16, 1, 0, 0, 2, 0, 7, 0, 2, 0, 152, 0, 8,
        1, 0, 0, 24, 0, 80, 0, 0, 0, 0, 0, 0, 19, 136, 0, 81, 0, 0, 0, 0, 0, 0, 19, 136,
    ];
    assert_eq!(bytes[16..], expected);
}

#[test]
fn records_that_a_collector_refuses_are_unsent() {
    let collector = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let name: super::TargetName = format!("udp:{address}").parse().unwrap();
    let exporter = exporter(super::Target::open(&name, false).unwrap());
    let send = |times| {
        for _ in 0..times {
            exporter.left(0, &[0, 80], 0);
            exporter.shared().flush();
        }
    };
    send(3);
    let records = exporter.finish();
    assert_eq!((records.exported, records.unsent), (3, 0));
    drop(collector);
    send(4);
    let records = exporter.finish();
    assert_eq!((records.exported, records.unsent, records.messages), (3, 4, 3));
    // The collector is back, and gets the template again.
    let collector = std::net::UdpSocket::bind(address).unwrap();
    send(2);
    let records = exporter.finish();
    assert_eq!((records.exported, records.unsent, exporter.failure()), (5, 4, None));
    let mut message = [0; 1500];
    collector.recv(&mut message).unwrap();
    assert_eq!(message[16..18], [0, 2], "a set of templates comes first");
}

#[test]
fn a_full_disk_costs_whole_messages_and_is_told() {
    let full = super::TargetName::File("/dev/full".into());
    let exporter = exporter(super::Target::open(&full, true).unwrap());
    for _ in 0..3 {
        exporter.left(0, &[0, 80], 0);
        exporter.shared().flush();
    }
    let records = exporter.finish();
    assert_eq!((records.exported, records.unsent, records.messages), (0, 3, 0));
    let failure = exporter.failure().unwrap();
    assert!(failure.contains("/dev/full: 3 records") && failure.contains("No space"), "{failure}");
    // With free space again: later records arrive, and can be decoded without earlier ones.
    let room = tempfile::tempdir().unwrap();
    let name = super::TargetName::File(room.path().join("records"));
    exporter.shared().target = super::Target::open(&name, false).unwrap();
    exporter.left(0, &[0, 81], 0);
    assert_eq!((exporter.finish().exported, exporter.finish().unsent), (1, 3));
    let bytes = std::fs::read(room.path().join("records")).unwrap();
    assert_eq!(bytes[16..18], [0, 2], "a set of templates comes first");
}

#[test]
fn records_tell_wall_time_whatever_entries_live_by() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static WALL: AtomicU64 = AtomicU64::new(1_000_000_000);
    let clock = crate::ingress::clock::Clock::by(|| 0, || WALL.load(Ordering::Relaxed));
    let room = tempfile::tempdir().unwrap();
    let name = super::TargetName::File(room.path().join("records"));
    let exporter = exporter(super::Target::open(&name, false).unwrap()).by(clock);
    for wall in [1_000_000_000, 1_000_400_000, 3_601_000_000_000, 0] {
        WALL.store(wall, Ordering::Relaxed);
        exporter.left(0, &[0, 80], 0);
    }
    exporter.finish();
    let bytes = std::fs::read(room.path().join("records")).unwrap();
    let times: Vec<u64> = bytes[bytes.len() - 40..]
        .chunks(10)
        .map(|record| u64::from_be_bytes(record[2..].try_into().unwrap()))
        .collect();
    assert_eq!(times, [5_000, 5_000, 3_605_000, 4_000]);
}
