//! How many frames a second pass, at full load and without loss.
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
/// What may be lost of a load that passes: one frame in a hundred.
const MOST_LOST: f64 = 0.01;
/// Frames a second while flows are brought to where they stay.
const WARM_RATE: f64 = 20_000.0;
/// How often each flow comes meanwhile.
const WARM_TIMES: u64 = 12;
/// What is on its way when the sender stops is there well before this.
const ON_ITS_WAY: Duration = Duration::from_millis(150);
/// How long what is in the middle may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);

/// Frames a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    /// What came while the sender sent as fast as it could, in millions a second.
    pub(super) full: f64,
    /// What the sender sent then.
    pub(super) offered: f64,
    /// The highest load of which less than a hundredth was lost.
    pub(super) clean: f64,
}

impl Speed {
    /// Whether it took all that the sender could send: it may be able to take more.
    pub(super) fn takes_all(self) -> bool {
        self.full >= self.offered * (1.0 - MOST_LOST)
    }
}

/// How thoroughly it is looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// How long each load is held.
    pub(super) hold: Duration,
    /// Loads that are tried between nothing and full load.
    pub(super) steps: u32,
}

/// What came of one load.
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

/// Sends through whatever is in the middle of the network.
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

    /// Measures, once frames pass and flows are where they stay. `lives` says whether what is in
    /// the middle still does, and if not, why.
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
        // Between a load that passes and one that doesn't; more than what comes at full load can
        // pass.
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
