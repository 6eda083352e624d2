//! Token buckets: sources below, at and beyond their rate, all at once.
//!
//! A bucket's decisions depend on the frames' times, and a busy machine sends frames late. So the
//! times are recorded, and an ideal bucket gets the same frames at these times. Both boxes are
//! compared with it.

use std::net::Ipv4Addr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Passage;
use crate::Result;
use crate::verdict::Observed;
use crate::wires::frames::{Direction, udp};

/// Bytes of each frame.
const BYTES: usize = 500;
/// Frames a second that a source may send for ever, and at once.
const RATE: u32 = 1_000;
const BURST: u32 = 100;
/// The sources' sending rates, in halves of the permitted rate.
const HALVES: [u32; 4] = [1, 2, 4, 8];
const TIME: Duration = Duration::from_secs(2);
/// Time between two checks for due frames: a hundredth of a bucket's time to fill.
const LOOK: Duration = Duration::from_millis(1);
/// The box sees a frame later than it was sent. The results differ by at most the tokens of this
/// delay. A tenth of the bucket is at most a fiftieth of a second's frames.
const TOLERANCE: f64 = 0.03;

/// Returns the limits in kilobits a second, and bytes.
pub(super) fn configuration() -> String {
    let bytes = BYTES as u32;
    format!("rate 0.0.0.0/0 {} {}\n", RATE * bytes * 8 / 1000, BURST * bytes)
}

/// Returns a dynamic set with a bucket for each source. nftables counts bytes from the IP header
/// on, and adds a second's rate to a burst in bytes; packets of one length mean the same to both.
pub(super) fn rules() -> String {
    let set = "set buckets { type ipv4_addr; size 65536; flags dynamic; timeout 1m; }";
    let over = format!("limit rate over {RATE}/second burst {BURST} packets");
    let rule = format!("iifname \"inside\" update @buckets {{ ip saddr {over} }} drop");
    let chain = format!(
        "chain forward {{ type filter hook forward priority 0; policy accept;\n {rule}\n }}"
    );
    format!("table ip limits {{ {set}\n {chain}\n }}")
}

const fn source(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 20, 0, 1 + number as u8)
}

/// A bucket as RFC 2697 has it, of one rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    frames: f64,
    filled: Duration,
}

impl Bucket {
    const FULL: Self = Self { frames: BURST as f64, filled: Duration::ZERO };

    /// Returns whether a frame of this time passes.
    fn passes(&mut self, now: Duration) -> bool {
        let since = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = now;
        self.frames = since.mul_add(f64::from(RATE), self.frames).min(f64::from(BURST));
        let passes = self.frames >= 1.0;
        self.frames -= f64::from(u8::from(passes));
        passes
    }
}

/// A source's frames, and the number of them that an ideal bucket lets pass.
#[derive(Clone, Copy, Debug)]
struct Sent {
    frames: u32,
    ideal: u32,
    bucket: Bucket,
}

pub(super) fn observe(passage: &mut Passage) -> Result<Vec<Observed>> {
    let frames: Vec<Vec<u8>> = (0..HALVES.len())
        .map(|number| udp((source(number).into(), Direction::SERVER.into()), 5000, BYTES))
        .collect();
    let mut all = [Sent { frames: 0, ideal: 0, bucket: Bucket::FULL }; HALVES.len()];
    let begun = Instant::now();
    while begun.elapsed() < TIME {
        for ((sent, halves), frame) in all.iter_mut().zip(HALVES).zip(&frames) {
            let due = begun.elapsed().as_millis() as u32 * RATE * halves / 2_000;
            while sent.frames < due {
                passage.send(frame)?;
                sent.frames += 1;
                sent.ideal += u32::from(sent.bucket.passes(begun.elapsed()));
            }
        }
        passage.take()?;
        sleep(LOOK);
    }
    passage.take_the_rest()?;
    let seen = all.iter().zip(HALVES).enumerate().flat_map(|(number, (sent, halves))| {
        let came = passage.came.iter().filter(|(from, _)| *from == source(number)).count();
        let what = format!("at {} × its rate", f64::from(halves) / 2.0);
        let share = f64::from(came as u32) / f64::from(sent.ideal) * 100.0;
        let told = format!("{came}, {}, {}", sent.frames, sent.ideal);
        [
            Observed::near(format!("{what}: % of an ideal bucket's"), share, TOLERANCE),
            Observed::told(format!("{what}: passed, sent, ideal"), told),
        ]
    });
    Ok(seen.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ideal_bucket_lets_its_burst_and_then_its_rate_pass() {
        let passed = |per_second: u64, seconds: u64| {
            let mut bucket = Bucket::FULL;
            let times = (0..per_second * seconds)
                .map(|number| Duration::from_nanos(number * 1_000_000_000 / per_second));
            times.filter(|time| bucket.passes(*time)).count()
        };
        assert_eq!(passed(500, 4), 2_000);
        assert_eq!(passed(1_000, 4), 4_000);
        assert!((4_095..=4_100).contains(&passed(4_000, 4)), "{}", passed(4_000, 4));
    }
}
