//! A live wire: frames come from two interfaces as somebody sends them, until the run is told to end.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cora_core::message::{MAX_FRAME, Stamp};
use cora_core::packet::{Meta, Port};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ports::Ports;
use super::tap::Tap;
use crate::RunError;
use crate::wire::{Cable, Next};

/// Both interfaces.
#[derive(Debug)]
pub(super) struct LiveWire {
    taps: [(Tap, Port); 2],
    names: Ports,
    /// Which one is asked next.
    turn: usize,
    came: u64,
    left: u64,
    now: u64,
    /// Frames that an interface did not take.
    pub(super) refused: u64,
    pub(super) too_long: u64,
    /// Nothing more is to come.
    pub(super) stopped: bool,
}

impl LiveWire {
    /// By interfaces of its own, or those in these files.
    pub(super) fn open(ports: &Ports, files: Option<[i32; 2]>) -> Result<Self, RunError> {
        let [inside, outside] = match files {
            Some([inside, outside]) => [Tap::inherited(inside)?, Tap::inherited(outside)?],
            None => [Tap::open(&ports.inside)?, Tap::open(&ports.outside)?],
        };
        let (inside, outside) = ((inside, Port::INSIDE), (outside, Port::OUTSIDE));
        Ok(Self {
            taps: [inside, outside],
            names: ports.clone(),
            turn: 0,
            came: 0,
            left: 0,
            now: 0,
            refused: 0,
            too_long: 0,
            stopped: false,
        })
    }

    /// Waits until a frame came, so long at most.
    pub(super) fn wait(&self, at_most: Duration) {
        let [(inside, _), (outside, _)] = &self.taps;
        let mut files = [inside.as_fd(), outside.as_fd()]
            .map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
        let time = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
        // Something came, or not: whoever waits looks again.
        let _ready = poll(&mut files, Some(&time));
    }

    /// The interfaces' files, inside and outside.
    pub(super) fn files(&self) -> [BorrowedFd<'_>; 2] {
        let [(inside, _), (outside, _)] = &self.taps;
        [inside.as_fd(), outside.as_fd()]
    }

    fn stamp(&mut self, port: Port) -> Stamp {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = clock.as_nanos() as u64;
        // The clock may be set back; what states expire by is not.
        self.now = self.now.max(time);
        let number = self.came;
        self.came += 1;
        let meta = Meta { time, now: self.now, port };
        Stamp { meta, number, horizon: self.now, egress: port }
    }
}

impl Cable for LiveWire {
    fn next(&mut self, buffer: &mut [u8]) -> Result<Next, RunError> {
        if self.stopped {
            return Ok(Next::End(self.now));
        }
        for _ in 0..self.taps.len() {
            self.turn ^= 1;
            let (tap, port) = &self.taps[self.turn];
            let port = *port;
            let read = tap.read(buffer).map_err(|cause| RunError::Tap {
                name: if port == Port::INSIDE { &self.names.inside } else { &self.names.outside }
                    .clone(),
                cause: cause.into(),
            })?;
            match read {
                Some(length) if length > MAX_FRAME => {
                    self.came += 1;
                    self.too_long += 1;
                }
                Some(length) => return Ok(Next::Frame(self.stamp(port), length)),
                None => {}
            }
        }
        Ok(Next::NotYet)
    }

    /// Nobody rings when a frame comes by an interface.
    fn is_quiet(&mut self) -> bool {
        false
    }

    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        let out = self.taps.iter().find(|(_, port)| *port == stamp.egress);
        if out.is_some_and(|(tap, _)| tap.write(frame)) {
            self.left += 1;
        } else {
            self.refused += 1;
        }
        Ok(())
    }

    fn packets(&self) -> (u64, u64) {
        (self.came, self.left)
    }
}
