//! How far reading a capture is: a bar on a terminal, and one line at the end.

use std::io::{Write as _, stderr};
use std::time::{Duration, Instant};

use cora_plan::number::grouped;

use crate::progress::Progress;

/// Letters of the bar.
const WIDTH: u64 = 32;

pub(super) struct Bar {
    began: Instant,
    progress: Progress,
    /// Bytes of the capture.
    length: u64,
}

impl Bar {
    pub(super) fn new(length: u64) -> Self {
        let progress = Progress::after(Duration::from_millis(100));
        Self { began: Instant::now(), progress, length }
    }

    /// So many packets were read, in so many bytes.
    pub(super) fn tell(&mut self, packets: u64, bytes: u64) {
        self.progress.tell(|| line(bytes, self.length, packets, self.began.elapsed()));
    }

    /// The whole capture was read.
    pub(super) fn end(mut self, packets: u64) {
        self.progress.clear();
        let took = self.began.elapsed().as_secs_f64();
        // A line that can't be shown is no reason to stop.
        let _shown = writeln!(
            stderr(),
            "{} packets read in {took:.2} s, {:.2} million a second",
            grouped(packets),
            millions(packets, took)
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "packets of a capture")]
fn millions(packets: u64, seconds: f64) -> f64 {
    packets as f64 / 1e6 / seconds.max(1e-9)
}

fn line(bytes: u64, length: u64, packets: u64, took: Duration) -> String {
    let part = |of: u64| (bytes.min(length) * of).checked_div(length).unwrap_or(of);
    let done = part(WIDTH) as usize;
    format!(
        "[{}{}] {:3} %  {} packets, {:.2} million a second",
        "#".repeat(done),
        ".".repeat(WIDTH as usize - done),
        part(100),
        grouped(packets),
        millions(packets, took.as_secs_f64())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_bytes() {
        let at = |bytes| line(bytes, 1_000, 2_500_000, Duration::from_secs(2));
        assert!(
            at(0)
                .starts_with("[................................]   0 %  2,500,000 packets, 1.25 m")
        );
        assert!(at(500).starts_with("[################................]  50 %"));
        assert!(at(1_000).starts_with("[################################] 100 %"));
        assert!(line(7, 0, 0, Duration::ZERO).contains("100 %"));
    }
}
