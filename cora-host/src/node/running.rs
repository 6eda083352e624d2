//! The packet that the handlers run, for the error message of a run on a capture if they panic or
//! hang.
//!
//! Each half stores the number of the packet before its handlers run, and none after a burst:
//! the NIC in the region's header, the host in a word of the handler thread. Release builds abort
//! on a panic, so the words are read by the panic hook here, and by the process that sees the NIC
//! end. Only then the packet's flow is looked up in the capture, so it costs nothing before.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cora_core::packet::{MAX_FRAME, Packet};
use cora_runtime::link::region::{no_packet, noted_packet};

use crate::RunError;
use crate::ingress::capture::{Reading, Source};
use crate::process::log;

/// The word of a handler thread, for its packet's number.
pub(crate) type Word = &'static AtomicU64;

/// A word that nobody reads, for runs from memory.
pub(crate) static UNSEEN: AtomicU64 = no_packet();

/// The words of all threads, for the watchdog.
static WORDS: Mutex<Vec<Word>> = Mutex::new(Vec::new());

thread_local! {
    static MINE: Cell<Option<Word>> = const { Cell::new(None) };
}

/// This thread's word.
pub(crate) fn word() -> Word {
    MINE.get().unwrap_or_else(|| {
        // One per thread and run, as long as the process lives.
        let word: Word = Box::leak(Box::new(no_packet()));
        MINE.set(Some(word));
        WORDS.lock().unwrap_or_else(PoisonError::into_inner).push(word);
        word
    })
}

/// The capture of a run, to name packets.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    reading: Reading,
}

impl Capture {
    pub(crate) fn new(path: &Path, reading: Reading) -> Self {
        Self { path: path.to_owned(), reading }
    }

    /// From now on, a panic in a handler of this process names the packet. A handler that runs
    /// longer than `patience` ends the process, with the packet's name.
    pub(crate) fn watch(&self, patience: Duration) {
        let (told, capture) = (std::panic::take_hook(), self.clone());
        std::panic::set_hook(Box::new(move |panic| {
            told(panic);
            if let Some(number) = MINE.get().and_then(noted_packet) {
                log::say(format_args!("error: a handler panicked in {}", capture.packet(number)));
                log::flush();
            }
        }));
        let capture = self.clone();
        // The thread ends with the process.
        drop(thread::spawn(move || capture.watch_out(patience)));
    }

    fn watch_out(&self, patience: Duration) {
        let mut since: Vec<(Option<u64>, Instant)> = Vec::new();
        loop {
            thread::sleep(patience.min(Duration::from_secs(1)) / 2);
            let words = WORDS.lock().unwrap_or_else(PoisonError::into_inner).clone();
            since.resize(words.len(), (None, Instant::now()));
            for (word, (number, begun)) in words.into_iter().zip(&mut since) {
                let now = noted_packet(word);
                if now != *number {
                    (*number, *begun) = (now, Instant::now());
                } else if let Some(number) = now
                    && begun.elapsed() > patience
                {
                    let (packet, seconds) = (self.packet(number), patience.as_secs());
                    log::say(format_args!(
                        "error: a handler runs for {seconds} s, and is ended: in {packet}"
                    ));
                    log::flush();
                    std::process::exit(1);
                }
            }
        }
    }

    /// Adds to a run's error the packet that its NIC was in when it ended or hung.
    pub(crate) fn named(&self, error: RunError, nic: Option<u64>) -> RunError {
        match (error, nic) {
            (error @ (RunError::NicDied { .. } | RunError::NicSilent { .. }), Some(number)) => {
                RunError::InPacket { error: Box::new(error), packet: self.packet(number) }
            }
            (other, _) => other,
        }
    }

    /// A packet in readable form: its number from 1 on, and its flow.
    fn packet(&self, number: u64) -> String {
        let flow = self.flow(number).map_or_else(String::new, |flow| format!(" ({flow})"));
        format!("packet {} of {}{flow}", number.saturating_add(1), self.path.display())
    }

    /// Its five-tuple, or why it has none; `None` if the capture can't be read again.
    fn flow(&self, wanted: u64) -> Option<String> {
        let is_file = std::fs::metadata(&self.path).is_ok_and(|found| found.is_file());
        let mut source = is_file.then(|| Source::open(&self.path, self.reading.clone()).ok())??;
        let mut buffer = vec![0; 2 * MAX_FRAME];
        while let Ok(Some((stamp, length))) = source.next(&mut buffer) {
            if stamp.number == wanted {
                let packet = Packet::new(buffer.get_mut(..length)?, stamp.meta);
                return Some(match packet.five_tuple() {
                    Ok(flow) => flow.to_string(),
                    Err(reason) => format!("it has no five-tuple: {}", reason.name()),
                });
            }
        }
        None
    }
}
