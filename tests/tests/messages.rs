//! Programs that take messages: outcomes, answers and states are the same under every plan, while
//! flows move, too. Where a flow hears from several, the order of what it hears is free; then what
//! that order does not touch is compared.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use cora::testing::{tcp, udp};
use cora_tests::cases::{Case, Left, Traffic};
use cora_tests::draw::Draw;

/// Whoever asks, of so many.
fn asker(draw: &mut Draw) -> SocketAddr {
    let host = Ipv4Addr::from(0x0a00_0100 + draw.below(50) as u32);
    (host, 40_000 + draw.below(100) as u16).into()
}

/// The program.
fn node() -> SocketAddr {
    (Ipv4Addr::new(10, 0, 1, 1), 7_000).into()
}

/// A step of a transaction, in Cora's wire form: to a row, by the transaction of a client.
fn ask(row: u64, client: u64, draw: &mut Draw) -> Vec<u8> {
    let ends = [row, client, 1].map(u64::to_le_bytes).concat();
    let mut bytes = [&[0], &ends[..]].concat();
    match draw.below(6) {
        0 => bytes.push(0),
        kind @ (1 | 3) => {
            bytes.push(kind as u8);
            bytes.extend((draw.below(3) as u32).to_le_bytes());
        }
        2 => bytes.push(2),
        4 => {
            bytes.push(4);
            bytes.extend((draw.below(3) as u32).to_le_bytes());
            bytes.extend([draw.below(256) as u8; 40]);
        }
        _ => bytes.push(5),
    }
    bytes
}

/// A client that takes each step itself gets a vote for each, and one more if it has the lock that
/// is in another one's way.
#[test]
fn rows_are_changed_by_who_has_locked_them() {
    let mut traffic = Traffic::default();
    let mut draw = Draw(42);
    for number in 0..6_000 {
        let whole = ask(draw.below(120), 1 + draw.below(6), &mut draw);
        let from = asker(&mut draw);
        match number % 40 {
            // Too short, with more behind it, and a step that there is not.
            7 => traffic.add(udp(from, node(), &whole[..whole.len() - 1]), "malformed"),
            17 => traffic.add(udp(from, node(), &[&whole[..], &[0]].concat()), "malformed"),
            27 => traffic.add(udp(from, node(), &[&whole[..25], &[6]].concat()), "malformed"),
            // No message at all.
            37 => traffic.add(tcp(from, node(), &cora::prelude::TcpSegment::default()), "pass"),
            _ => {
                traffic.add(udp(from, node(), &whole), "done");
                // The step goes on to its row.
                traffic.expect("done");
            }
        }
    }
    let left = Case::new("transactions", &[], traffic).holds();
    let asked = left.outcomes["done"] / 2;
    assert!(left.frames.len() as u64 > asked, "a vote for each step, and some for holders");
    let kinds: std::collections::BTreeSet<u8> = left.frames.iter().map(|it| it[67]).collect();
    assert_eq!(kinds.len(), 6, "each kind of vote: {kinds:?}");
    assert_eq!(left.state["states"]["Row"].as_array().map(Vec::len), Some(120));
}

/// Rows of one bank: amounts move, and come from outside.
const ACCOUNTS: u64 = 1_000;

/// A transaction of a client, as a whole: it moves an amount, or brings one, or reads two rows.
fn begin(client: u64, number: u64, draw: &mut Draw) -> (Vec<u8>, i64) {
    let [from, to] = [draw.below(ACCOUNTS), draw.below(ACCOUNTS - 1)];
    let to = if to == from { ACCOUNTS - 1 } else { to };
    let by = 1 + draw.below(100).cast_signed();
    let add = |row: u64, by: i64, floor: i64| {
        [&row.to_le_bytes()[..], &[4], &by.to_le_bytes(), &floor.to_le_bytes()].concat()
    };
    let read = |row: u64| [&row.to_le_bytes()[..], &[1]].concat();
    let (rows, money) = match draw.below(4) {
        0 => ([add(to, by, i64::MIN), read(from)].concat(), by),
        1 => ([read(from), read(to)].concat(), 0),
        // No more than there is.
        _ => ([add(from, -by, 0), add(to, by, i64::MIN)].concat(), 0),
    };
    let nothing = [0; 2 * 9];
    let ends = [client, number].map(u64::to_le_bytes).concat();
    ([&[2], &ends[..], &rows, &nothing].concat(), money)
}

/// How often each transaction comes.
const REPEATS: usize = 10;

/// Whole transactions, each of which comes ten times. Which are aborted depends on the order, but
/// money is conserved, and each has one outcome.
#[test]
fn whole_transactions_conserve_money_wherever_rows_are() {
    let (mut traffic, mut draw) = (Traffic::default(), Draw(8));
    let (mut brings, mut all) = (BTreeMap::new(), Vec::new());
    for client in 0..600 {
        let (whole, money) = begin(client, 1, &mut draw);
        brings.insert((client, 1), money);
        all.push(whole);
    }
    for _ in 0..REPEATS {
        for whole in &all {
            traffic.add(udp(asker(&mut draw), node(), whole), "done");
        }
    }
    // The last packet is later than whatever waits.
    traffic.at(10_000_000_000, udp(asker(&mut draw), node(), &ask(0, 7, &mut Draw(0))), "done");
    let case = Case::new("transactions", &[], traffic);
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().expect("eight"));
    let check = |left: &Left, of: &str| {
        // Who is late when the last packet comes asks again, and is not told any more.
        let is_known = |kind: &String| kind == "done" || kind == "not-yet-due";
        assert!(left.outcomes.keys().all(is_known), "{of}: {:?}", left.outcomes);
        let mut ended = BTreeMap::new();
        for outcome in left.frames.iter().map(|frame| &frame[42..]).filter(|it| it.len() > 180) {
            let of_client = (number(outcome), number(&outcome[8..]));
            let before = ended.insert(of_client, outcome.to_vec());
            assert!(
                before.is_none_or(|before| before == outcome),
                "{of}: {of_client:?} ended twice"
            );
        }
        assert_eq!(ended.len(), brings.len(), "{of}: each transaction has an outcome");
        let committed = ended.iter().filter(|(_, outcome)| outcome[16] == 0);
        let committed: Vec<i64> = committed.map(|(of_client, _)| brings[of_client]).collect();
        let should_be: i64 = committed.iter().sum();
        let rows = left.state["states"]["Row"].as_array().expect("rows");
        let amount = |row: &serde_json::Value| {
            let value = row["value"]["value"].as_array().expect("a value").iter();
            let bytes: Vec<u8> = value.map(|it| it.as_u64().expect("a byte") as u8).collect();
            number(&bytes).cast_signed()
        };
        assert_eq!(rows.iter().map(amount).sum::<i64>(), should_be, "{of}: money was made or lost");
        let [all, committed] = [ended.len(), committed.len()];
        // How many are depends on how long the moves of rows keep locks held.
        assert!(committed > 0 && committed < all, "{of}: {committed} of {all} are committed");
    };
    case.keeps(&check);
}

#[test]
fn words_are_counted_whoever_counts_them() {
    let mut traffic = Traffic::default();
    let mut draw = Draw(7);
    for _ in 0..1_500 {
        let words: Vec<String> = (0..=draw.below(8))
            .map(|_| format!("w{}", draw.below(60) * draw.below(60) % 97))
            .collect();
        let text = words.join(" ");
        let length = u16::try_from(text.len()).expect("it is short").to_le_bytes();
        let text = [&length[..], text.as_bytes()].concat();
        // The text, and for each of its words that it came and that it was counted.
        traffic.add(udp(asker(&mut draw), node(), &text), "done");
        (0..2 * words.len()).for_each(|_| traffic.expect("done"));
    }
    let case = Case::new("analytics", &[], traffic);
    let same = |left: &Left, expected: &Left, of: &str| {
        assert_eq!(left.outcomes, expected.outcomes, "{of}");
        let windows = |left: &Left| left.state["states"]["Window"].clone();
        assert_eq!(windows(left), windows(expected), "{of}: the windows differ");
        assert!(!left.frames.is_empty(), "{of}: nobody heard of a ranking");
    };
    let left = case.holds_by(&same);
    assert!(left.frames.iter().all(|frame| frame[30..34] == [192, 0, 2, 9]), "to the listener");
}

/// An alarm, in Cora's wire form.
fn alarm(id: u32, every: u32, times: u16) -> Vec<u8> {
    [&id.to_le_bytes()[..], &every.to_le_bytes(), &times.to_le_bytes()].concat()
}

#[test]
fn alarms_ring_when_they_are_due_wherever_they_wait() {
    const MILLISECOND: u64 = 1_000_000;
    let (mut traffic, mut draw) = (Traffic::default(), Draw(3));
    let (number, end) = (4_000, 1_000 * MILLISECOND);
    for at in 0..number {
        let (id, every) = (draw.below(200) as u32, 1 + draw.below(9) as u32);
        // A row of more messages than there may be hops at once.
        let times = if at % 1_000 == 0 { 80 } else { 1 + draw.below(9) as u16 / 8 };
        let asker = SocketAddr::from(([10, 0, 2, 1], 40_000 + (at % 50) as u16));
        let at = at * end / number;
        traffic.at(at, udp(asker, node(), &alarm(id, every, times)), "done");
        for ring in 1..=u64::from(times) {
            let due = at + ring * u64::from(every) * MILLISECOND;
            // The last packet is the end.
            let is_due = due <= end - end / number;
            traffic.expect(if is_due { "done" } else { "not-yet-due" });
            if !is_due {
                break;
            }
            if ring.is_multiple_of(10) {
                traffic.expect("done");
            }
        }
    }
    let case = Case::new("alarms", &[], traffic);
    // Where the host has the time from the NIC, an alarm may ring a little later.
    let told = |frame: &[u8]| frame[42..48].to_vec();
    let same = |left: &Left, expected: &Left, of: &str| {
        assert_eq!(left.outcomes, expected.outcomes, "{of}");
        assert_eq!(left.state, expected.state, "{of}");
        let sorted = |left: &Left| {
            let mut rings: Vec<_> = left.frames.iter().map(|frame| told(frame)).collect();
            rings.sort();
            rings
        };
        assert_eq!(sorted(left), sorted(expected), "{of}: the rings differ");
    };
    let left = case.holds_by(&same);
    let in_words = |frame: &&Vec<u8>| frame[44..].starts_with(b"alarm ");
    assert!(left.frames.iter().filter(in_words).count() > 20, "the host tells nothing");
    assert!(left.frames.len() > 4_000, "{} rings", left.frames.len());
}

/// A question to a shelf, in Cora's wire form.
fn to_shelf(shelf: u32, draw: &mut Draw) -> Vec<u8> {
    let text = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).expect("it is short").to_le_bytes();
        [&length[..], bytes].concat()
    };
    let mut name = || {
        let name = format!("n{}", draw.below(60) * draw.below(60) % 97);
        text(name.as_bytes())
    };
    let (name, other) = (name(), name());
    let ask = match draw.below(60) {
        0..24 => {
            let length = [0, 5, 30, 100, 400][draw.below(5) as usize];
            let value: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
            [&[0][..], &name, &text(&value)].concat()
        }
        24..36 => [&[1][..], &name].concat(),
        36..45 => [&[2][..], &name].concat(),
        45..51 => [&[3][..], &name, &other].concat(),
        51..59 => [&[4][..], &name].concat(),
        _ => vec![5],
    };
    [&shelf.to_le_bytes()[..], &ask].concat()
}

/// Objects of any length travel with their flow, and ids in entries and in other objects find them.
#[test]
fn shelves_move_with_all_that_stands_on_them() {
    let mut traffic = Traffic::default();
    let mut draw = Draw(11);
    for _ in 0..6_000 {
        let whole = to_shelf(draw.below(12) as u32, &mut draw);
        traffic.add(udp(asker(&mut draw), node(), &whole), "done");
    }
    let left = Case::new("shelves", &[], traffic).holds();
    assert_eq!(left.frames.len() as u64, left.outcomes["done"], "an answer for each question");
    let kinds: std::collections::BTreeSet<u8> = left.frames.iter().map(|it| it[42]).collect();
    assert_eq!(kinds.len(), 4, "each kind of answer: {kinds:?}");
    assert_eq!(left.state["states"]["Node"].as_array().map(Vec::len), Some(12), "shelves");
}

/// Items of regions are where they are, and messages go there.
#[test]
fn regions_are_the_same_wherever_they_are() {
    let mut traffic = Traffic::default();
    let mut draw = Draw(23);
    let of = |bytes: &[u8]| [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat();
    for number in 0..6_000 {
        // Some names are of full buckets, so that items go.
        let name = format!("name:{}", draw.below(700));
        let kind = draw.below(2) as u8;
        let value = if kind == 1 { of(format!("value {number}").as_bytes()) } else { Vec::new() };
        let whole = [&[kind][..], &of(name.as_bytes()), &value].concat();
        let from = asker(&mut draw);
        match number % 50 {
            7 => traffic.add(udp(from, node(), &whole[..whole.len() - 1]), "malformed"),
            27 => traffic.add(udp(from, node(), &[2, 0, 0]), "malformed"),
            37 => traffic.add(tcp(from, node(), &cora::prelude::TcpSegment::default()), "pass"),
            _ => traffic.add(udp(from, node(), &whole), "done"),
        }
    }
    let left = Case::new("mica", &[], traffic).at_one_side().holds();
    assert_eq!(left.frames.len() as u64, left.outcomes["done"], "an answer for each question");
    let kinds: std::collections::BTreeSet<u8> = left.frames.iter().map(|it| it[42]).collect();
    assert_eq!(kinds.len(), 3, "each kind of answer: {kinds:?}");
    let items = left.state["states"]["Item"].as_array().map(Vec::len);
    assert!(items > Some(300), "{items:?} items");
}

/// The NIC reads items at the host, and what writes goes there: nothing that is read was never
/// stored, or comes from the future, and what is stored in the end is what the host alone stores.
#[test]
fn what_the_nic_fetches_was_stored_before() {
    let mut traffic = Traffic::default();
    let mut draw = Draw(29);
    let of = |bytes: &[u8]| [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat();
    let mut questions = Vec::new();
    for number in 0..20_000_u32 {
        let name = draw.below(500);
        let is_put = draw.below(10) == 0;
        let value = of(&number.to_le_bytes());
        let value = if is_put { value } else { Vec::new() };
        let whole = [&[is_put as u8][..], &of(format!("name:{name}").as_bytes()), &value].concat();
        let from = SocketAddr::from((Ipv4Addr::from(0x0a01_0000 + number), 4_000));
        traffic.add(udp(from, node(), &whole), "done");
        questions.push((name, is_put));
    }
    let case = Case::new("mica", &[], traffic);
    case.under_plan("examples/mica/fetched.toml", &|left, alone, report| {
        assert_eq!((&left.outcomes, &left.state), (&alone.outcomes, &alone.state));
        let mut answered = vec![false; questions.len()];
        let (mut hits, mut nothing) = (0, 0);
        for frame in &left.frames {
            let to = u32::from_be_bytes(frame[30..34].try_into().unwrap()) - 0x0a01_0000;
            let (name, is_put) = questions[to as usize];
            assert!(!std::mem::replace(&mut answered[to as usize], true), "{to} twice");
            match (frame[42], is_put) {
                (2, true) => {}
                (1, false) => nothing += 1,
                (0, false) => {
                    let put = u32::from_le_bytes(frame[45..49].try_into().unwrap());
                    assert!(put < to && questions[put as usize] == (name, true), "{put} of {to}");
                    hits += 1;
                }
                (kind, _) => panic!("an answer of kind {kind} for question {to}"),
            }
        }
        assert!(answered.iter().all(|answered| *answered));
        let puts = questions.iter().filter(|(_, is_put)| *is_put).count() as u64;
        let at = |side: &str| report["sides"][side]["packets"].as_u64().expect("it is counted");
        let told = format!("{} at the NIC, {} at the host of {puts} puts", at("nic"), at("host"));
        cora_tests::tell(&format!("{told}; {hits} hits, {nothing} without an item"));
        assert!(at("host") >= puts && at("nic") > 9_000, "{told}");
    });
}
