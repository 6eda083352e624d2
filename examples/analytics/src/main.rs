//! # analytics: the most frequent words of the last eight seconds
//!
//! Three actors, as in iPipe's real-time analytics: a filter takes texts apart and leaves out
//! common words, a counter for each word has a window of eight seconds, and one ranker keeps the
//! sixteen most frequent words and tells the listener whenever the ranking changes.
//!
//! A text is a UDP datagram with the text's length in two bytes, little-endian, and its bytes.
//!
//! Try it:  `cargo cora run analytics --in texts.pcap --out rankings.pcap`, with `--config
//! Wanted=wanted.txt` for lines like `common the` and `listener 192.0.2.9:7000`.
//!
//! Expect:  texts are taken apart where they come in; a word's window is at the side that owns the
//! word's flow; the ranking is one flow of its own, at one side.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A word; longer ones are left out.
type Word = Bytes<23>;

/// A text. It has no key: texts are taken apart wherever there is time.
#[message(udp)]
struct Tuple {
    text: Bytes<280>,
}

/// A word came.
#[message]
struct Count {
    #[key]
    word: Word,
}

/// A word was counted.
#[message(key = One)]
struct Rank {
    word: Word,
    count: u32,
}

/// The most frequent words, the first one first.
#[message(udp)]
struct Ranking {
    best: [Place; PLACES],
}

/// Places of a ranking.
const PLACES: usize = 16;

/// A word and how often it came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Place {
    word: Word,
    count: u32,
}

impl Place {
    const EMPTY: Self = Self { word: Word::EMPTY, count: 0 };
}

/// Common words, which are not counted, and the listener.
#[state(read_mostly)]
struct Wanted {
    common: [Word; 64],
    listener: Listener,
}

/// Who gets the rankings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Listener {
    address: Address,
    port: u16,
}

impl Default for Wanted {
    fn default() -> Self {
        let listener = Listener { address: Address::v4([192, 0, 2, 9]), port: 7000 };
        Self { common: [Word::EMPTY; 64], listener }
    }
}

#[host_only]
impl Configure for Wanted {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self::default();
        let mut words = read.common.iter_mut();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once(char::is_whitespace) {
                Some(("common", word)) => {
                    let word =
                        Word::of(word.trim().as_bytes()).map_err(|_| "more than 23 bytes")?;
                    *words.next().ok_or("more than 64 common words")? = word;
                }
                Some(("listener", listener)) => {
                    let listener: std::net::SocketAddr =
                        listener.trim().parse().map_err(|_| "no address and port")?;
                    let (address, port) = (listener.ip().into(), listener.port());
                    read.listener = Listener { address, port };
                }
                _ => return Err("a line is `common WORD`, or `listener ADDRESS:PORT`"),
            }
        }
        Ok(read)
    }
}

/// How often a word came, in each of the last eight seconds.
#[state(key = Word, capacity = 65_536, idle = "8s")]
struct Window {
    seconds: [u32; 8],
    newest: u64,
}

/// The ranking: one for all words.
#[state(key = One, capacity = 1, idle = "1h")]
struct Top {
    best: [Place; PLACES],
}

/// Takes a text apart.
#[flow_handler]
fn filter(tuple: Tuple, wanted: &Wanted, counts: &mut Outbox<Count>) -> Verdict {
    for word in tuple.text.split(|byte| *byte == b' ') {
        let Ok(word) = Word::of(word) else { continue };
        if !word.is_empty() && !wanted.common.contains(&word) {
            counts.send(Count { word })?;
        }
    }
    Done
}

/// Counts a word.
#[flow_handler]
fn counter(
    count: Count,
    envelope: &Envelope,
    windows: &mut Table<Window>,
    ranks: &mut Outbox<Rank>,
) -> Verdict {
    let second = envelope.now() / 1_000_000_000;
    let window = windows.get_or_insert(count.word, Window { seconds: [0; 8], newest: second })?;
    for passed in window.newest + 1..=second.min(window.newest + 8) {
        window.seconds[passed as usize % 8] = 0;
    }
    window.newest = second;
    window.seconds[second as usize % 8] += 1;
    ranks.send(Rank { word: count.word, count: window.seconds.iter().sum() })?;
    Done
}

/// Keeps the ranking.
#[flow_handler]
fn ranker(
    rank: Rank,
    wanted: &Wanted,
    tops: &mut Table<Top>,
    rankings: &mut Outbox<Ranking>,
) -> Verdict {
    let top = tops.get_or_insert(One, Top { best: [Place::EMPTY; PLACES] })?;
    let last = PLACES - 1;
    let place = top.best.iter().position(|place| place.word == rank.word).unwrap_or(last);
    if place == last && rank.count <= top.best[last].count {
        return Done;
    }
    let before = top.best;
    top.best[place] = Place { word: rank.word, count: rank.count };
    top.best.sort_unstable_by(|a, b| b.count.cmp(&a.count).then(a.word.cmp(&b.word)));
    if top.best.map(|place| place.word) != before.map(|place| place.word) {
        let Listener { address, port } = wanted.listener;
        let listener = Endpoint { address, port, protocol: protocol::UDP };
        rankings.send_to(listener, Ranking { best: top.best })?;
    }
    Done
}

cora::app!(filter, counter, ranker);
