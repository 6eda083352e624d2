//! The merge of two captures.

use std::io::{Read, Write};

use crate::TrafficError;
use crate::pcap::{Reader, Writer};

/// Writes the frames of both captures in the order of their time. Each capture keeps its own order;
/// of two frames with the same stamp, the one of `a` comes first.
pub fn merge(a: impl Read, b: impl Read, out: impl Write) -> Result<(), TrafficError> {
    let (mut a, mut b) = (Reader::new(a)?, Reader::new(b)?);
    let mut writer = Writer::new(out)?;
    let (mut from_a, mut from_b) = (a.read()?, b.read()?);
    loop {
        let a_first = match (&from_a, &from_b) {
            (None, None) => break,
            (Some(x), Some(y)) => x.time <= y.time,
            (x, _) => x.is_some(),
        };
        let (frame, next) =
            if a_first { (&mut from_a, a.read()?) } else { (&mut from_b, b.read()?) };
        if let Some(frame) = std::mem::replace(frame, next) {
            writer.write(frame.time, &frame.bytes)?;
        }
    }
    writer.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(times: &[u64], mark: u8) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for &time in times {
            writer.write(time, &[mark]).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn keeps_time_and_each_order() {
        let (a, b) = (capture(&[1, 5, 4, 9], b'a'), capture(&[0, 5, 7], b'b'));
        let mut out = Vec::new();
        merge(&a[..], &b[..], &mut out).unwrap();
        let order: Vec<(u64, u8)> = Reader::new(&out[..])
            .unwrap()
            .map(|frame| frame.map(|frame| (frame.time, frame.bytes[0])).unwrap())
            .collect();
        let expected =
            [(0, b'b'), (1, b'a'), (5, b'a'), (4, b'a'), (5, b'b'), (7, b'b'), (9, b'a')];
        assert_eq!(order, expected);
    }
}
