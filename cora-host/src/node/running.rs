//! The packet that the handlers run, for the error message if they panic or hang.
//!
//! Each half stores the number of the packet before its handlers run, and none after a burst: the
//! NIC in the region's header, the host in its page ([`HostPage`](crate::node::host_page)). Release
//! builds abort on a panic, so the process that sees a half end reads the number.
//!
//! Without a NIC the host handles packets in the process of the run: the number is in a word for
//! the panic hook and the watchdog here. Only then the packet's flow is looked up in the
//! capture, so it costs nothing before.

use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use cora_runtime::link::region::{no_packet, noted_packet};

use crate::ingress::capture::Packets;
use crate::process::log;

/// A word for the number of the packet that handlers run.
pub(crate) type Word = &'static AtomicU64;

/// A word that nobody reads, for runs from memory.
pub(crate) static UNSEEN: AtomicU64 = no_packet();

/// The word of a run without a NIC: one thread handles all its packets.
static ALONE: AtomicU64 = no_packet();

/// That word.
pub(crate) const fn word() -> Word {
    &ALONE
}

impl Packets {
    /// From now on, a panic in a handler of this process names the packet. A handler that runs
    /// longer than `patience` ends the process, with the packet's name.
    pub(crate) fn watch(&self, patience: Duration) {
        let (told, packets) = (std::panic::take_hook(), self.clone());
        std::panic::set_hook(Box::new(move |panic| {
            told(panic);
            if let Some(number) = noted_packet(word()) {
                log::last_words(format_args!(
                    "error: a handler panicked in {}",
                    packets.describe(number)
                ));
            }
        }));
        let packets = self.clone();
        // The thread ends with the process.
        drop(thread::spawn(move || packets.watch_out(patience)));
    }

    fn watch_out(&self, patience: Duration) {
        let (mut number, mut begun) = (None, Instant::now());
        loop {
            thread::sleep(patience.min(Duration::from_secs(1)) / 2);
            let now = noted_packet(word());
            if now != number {
                (number, begun) = (now, Instant::now());
            } else if let Some(number) = now
                && begun.elapsed() > patience
            {
                let (packet, seconds) = (self.describe(number), patience.as_secs());
                log::last_words(format_args!(
                    "error: a handler runs for {seconds} s, and is ended: in {packet}"
                ));
                std::process::exit(1);
            }
        }
    }
}
