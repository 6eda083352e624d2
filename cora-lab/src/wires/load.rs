//! The rate of frames that pass, at full load and without loss.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts of a few seconds, and rates that are above nothing"
)]

use std::time::{Duration, Instant};

use cora_port::Port;

use super::network::Network;
use crate::Result;

/// Frames given to the port at once.
const BURST: usize = 32;
/// The largest loss of a load that passes: one frame in a hundred.
const MOST_LOST: f64 = 0.01;
/// Frames a second while flows move to their final places.
const WARM_RATE: f64 = 20_000.0;
/// Frames of each flow meanwhile.
const WARM_TIMES: u64 = 12;
/// Frames in flight when the sender stops arrive well before this.
const ON_ITS_WAY: Duration = Duration::from_millis(150);
/// The longest time until the middle forwards.
const PATIENCE: Duration = Duration::from_secs(20);

/// Frames a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    /// The rate that came while the sender sent as fast as it could, in millions a second.
    pub(super) full: f64,
    /// The sender's rate then.
    pub(super) offered: f64,
    /// The highest load with a loss of at most a hundredth.
    pub(super) clean: f64,
}

impl Speed {
    /// Returns whether it took all that the sender could send: it may be able to take more.
    pub(super) fn takes_all(self) -> bool {
        self.full >= self.offered * (1.0 - MOST_LOST)
    }
}

/// The thoroughness of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The duration of each load.
    pub(super) hold: Duration,
    /// Loads that are tried between nothing and full load.
    pub(super) steps: u32,
}

/// The result of one load.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Frames a second.
    sent: f64,
    came: f64,
}

impl Held {
    fn passes(self) -> bool {
        self.came >= self.sent * (1.0 - MOST_LOST)
    }
}

/// A sender of frames through the middle of the network.
#[derive(Debug)]
pub(super) struct Generator<'a> {
    network: &'a Network,
    port: Box<dyn Port>,
    frames: &'a [Vec<u8>],
    next: usize,
}

impl<'a> Generator<'a> {
    pub(super) fn new(network: &'a Network, frames: &'a [Vec<u8>]) -> Result<Self> {
        Ok(Self { network, port: network.sending("xdp")?, frames, next: 0 })
    }

    /// Measures, once frames pass and flows have settled. `lives` returns an error with the reason
    /// when the middle has ended.
    ///
    /// # Errors
    /// When nothing passes, or the interface is gone.
    pub(super) fn measure(
        &mut self,
        effort: Effort,
        lives: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Speed> {
        self.wait_until_it_passes(lives)?;
        let warm = self.frames.len() as u64 * WARM_TIMES;
        self.hold(Some(WARM_RATE), Duration::from_secs_f64(warm as f64 / WARM_RATE))?;
        let full = self.hold(None, effort.hold * 2)?;
        // Bisects between a load that passes and one that doesn't. A load above the rate that comes
        // at full load can pass.
        let (mut clean, mut lossy) = (0.0, (full.came * 1.3).min(full.sent));
        if full.passes() {
            clean = full.sent;
        }
        for _ in 0..effort.steps {
            if full.passes() {
                break;
            }
            let load = f64::midpoint(clean, lossy);
            let held = self.hold(Some(load), effort.hold)?;
            if held.passes() { clean = held.sent } else { lossy = load }
        }
        lives()?;
        let millions = |rate: f64| rate / 1e6;
        Ok(Speed {
            full: millions(full.came),
            offered: millions(full.sent),
            clean: millions(clean),
        })
    }

    fn wait_until_it_passes(&mut self, lives: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let before = self.network.came()?;
        loop {
            lives()?;
            self.send(1)?;
            std::thread::sleep(Duration::from_millis(20));
            if self.network.came()? > before {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("no frame came in {PATIENCE:?}"));
            }
        }
    }

    /// Sends at this rate, or as fast as it goes.
    fn hold(&mut self, rate: Option<f64>, time: Duration) -> Result<Held> {
        let (before, sent_before) = (self.network.came()?, self.port.counters().transmitted);
        let begun = Instant::now();
        let mut sent = 0_u64;
        loop {
            let elapsed = begun.elapsed();
            if elapsed >= time {
                break;
            }
            let due = rate.map_or(u64::MAX, |rate| (rate * elapsed.as_secs_f64()) as u64);
            let burst = due.saturating_sub(sent).min(BURST as u64);
            if burst == 0 {
                std::hint::spin_loop();
            } else {
                sent += burst;
                self.send(burst as usize)?;
            }
        }
        let took = begun.elapsed().as_secs_f64();
        self.port.look().map_err(|error| error.to_string())?;
        std::thread::sleep(ON_ITS_WAY);
        let sent = self.port.counters().transmitted - sent_before;
        let came = self.network.came()? - before;
        Ok(Held { sent: sent as f64 / took, came: came as f64 / took })
    }

    fn send(&mut self, count: usize) -> Result<()> {
        let mut burst: [&[u8]; BURST] = [&[]; BURST];
        for place in &mut burst[..count] {
            *place = &self.frames[self.next];
            self.next = (self.next + 1) % self.frames.len();
        }
        self.port.transmit(&burst[..count]);
        self.port.flush().map_err(|error| error.to_string())
    }
}
