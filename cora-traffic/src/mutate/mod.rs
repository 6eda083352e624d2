//! Damaged traffic from intact traffic: the frames of a capture, repeated, most of them changed.
//!
//! Of each hundred frames [`WHOLE`] stay as they are, so that flows are opened and translated,
//! which the others then meet. About half of the changes know the headers (`headers`), the others
//! do not (`blind`). A changed IPv4 header mostly gets a new checksum; otherwise a parser would
//! report nothing but wrong checksums.
//!
//! The same capture, number and seed give the same octets on every machine.

mod blind;
mod headers;

use std::io::{Read, Write};

use crate::TrafficError;
use crate::odd::sum_header;
use crate::pcap::{Frame, Reader, Writer};
use crate::random::Random;
use crate::view::View;

/// Frames of a hundred that stay as they are.
const WHOLE: u64 = 30;
/// Changed frames of a hundred with a new checksum of the IPv4 header.
const SUMMED: u64 = 90;
/// Maximum number of changes to one frame.
const CHANGES: u64 = 3;
/// Maximum length of a changed frame, in octets; the rest is cut off.
const LONGEST: usize = 10_000;
/// Pause between two passes over the capture, in nanoseconds.
const PAUSE: u64 = 1_000_000;

/// Counts of the written frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mutated {
    /// Frames written.
    pub packets: u64,
    /// Changed frames.
    pub changed: u64,
}

/// Writes `packets` frames of the capture `input`, repeated from its beginning when it ends, most
/// of them changed at random from `seed`.
///
/// # Errors
/// If the capture can't be read, has no frame, or writing fails.
pub fn mutate(
    input: impl Read,
    packets: u64,
    seed: u64,
    out: impl Write,
) -> Result<Mutated, TrafficError> {
    let frames: Vec<Frame> = Reader::new(input)?.collect::<Result<_, _>>()?;
    let (Some(first), Some(last)) =
        (frames.iter().map(|frame| frame.time).min(), frames.iter().map(|frame| frame.time).max())
    else {
        return Err(TrafficError::Capture { offset: 24, what: "no frame that could be changed" });
    };
    let pass = last - first + PAUSE;
    let mut random = Random::new(seed);
    let mut writer = Writer::new(out)?;
    let mut done = Mutated { packets, changed: 0 };
    for (number, frame) in (0..packets).zip(frames.iter().cycle()) {
        let passes = number / frames.len() as u64;
        let mut bytes = frame.bytes.clone();
        if !random.percent(WHOLE) {
            let other = &frames[random.below(frames.len() as u64) as usize];
            change(&mut bytes, &other.bytes, &mut random);
            done.changed += u64::from(bytes != frame.bytes);
        }
        writer.write(frame.time + passes * pass, &bytes)?;
    }
    writer.finish()?;
    Ok(done)
}

/// Changes a frame in place, maybe with parts of the frame `other`.
fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let mut ip = View::of(bytes).map(|view| view.ip);
    for _ in 0..random.between(1, CHANGES) {
        // Earlier changes may have left no IP packet.
        match View::of(bytes) {
            Some(view) if random.percent(60) => ip = Some(headers::change(bytes, &view, random)),
            _ => blind::change(bytes, other, random),
        }
    }
    bytes.truncate(LONGEST);
    if let Some(ip) = ip
        && random.percent(SUMMED)
    {
        sum_header(bytes, ip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, generate};
    use std::collections::BTreeSet;

    fn capture() -> Vec<u8> {
        let mut capture = Vec::new();
        generate(Profile::Mix, 3, 500, 50, &mut capture).unwrap();
        capture
    }

    fn frames(bytes: &[u8]) -> Vec<Frame> {
        Reader::new(bytes).unwrap().map(Result::unwrap).collect()
    }

    fn mutated(seed: u64, packets: u64) -> (Mutated, Vec<u8>) {
        let mut out = Vec::new();
        let done = mutate(&capture()[..], packets, seed, &mut out).unwrap();
        (done, out)
    }

    #[test]
    fn the_same_seed_gives_the_same_octets_and_another_others() {
        assert_eq!(mutated(1, 2_000), mutated(1, 2_000));
        assert_ne!(mutated(1, 2_000).1, mutated(2, 2_000).1);
    }

    #[test]
    fn most_are_changed_and_some_stay() {
        let (done, out) = mutated(5, 3_000);
        let (before, after) = (frames(&capture()), frames(&out));
        assert_eq!((done.packets, after.len()), (3_000, 3_000));
        assert!((1_800..2_200).contains(&done.changed), "{done:?}");
        let whole: BTreeSet<&[u8]> = before.iter().map(|frame| &frame.bytes[..]).collect();
        let same = after.iter().filter(|frame| whole.contains(&frame.bytes[..])).count();
        assert!(same >= 800, "{same}");
        // Passes follow each other in time.
        let middle = |pass: usize| after[pass * before.len()].time;
        assert!((1..6).all(|pass| middle(pass) > middle(pass - 1)));
    }

    #[test]
    fn all_kinds_of_damage_come_of_it() {
        let after = frames(&mutated(9, 20_000).1);
        let views: Vec<Option<View>> = after.iter().map(|frame| View::of(&frame.bytes)).collect();
        let lengths: BTreeSet<usize> = after.iter().map(|frame| frame.bytes.len()).collect();
        assert!(views.iter().filter(|view| view.is_none()).count() > 2_000);
        assert!(views.iter().filter(|view| view.is_some()).count() > 10_000);
        assert!(views.iter().flatten().filter(|view| view.fragment).count() > 200);
        assert!(lengths.iter().any(|length| *length < 14) && lengths.len() > 500);
        assert!(lengths.last().is_some_and(|longest| *longest <= LONGEST));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        let mut empty = Vec::new();
        Writer::new(&mut empty).unwrap();
        assert!(mutate(&empty[..], 1, 1, Vec::new()).is_err());
    }
}
