//! What the host's thread tells the NIC's of itself, and whether it is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cora_core::app::App;
use cora_host::parts::Worker;

/// What the host's thread tells of itself.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Packets that it handled.
    packets: AtomicU64,
    busy_ns: AtomicU64,
    /// Either side ended: the other one should.
    ended: AtomicBool,
    /// Its number at the kernel.
    thread: AtomicU64,
}

impl Told {
    /// The calling thread is the host's.
    pub(super) fn begin(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.thread.store(u64::from(thread.unsigned_abs()), Ordering::Relaxed);
    }

    /// What the host has done so far.
    pub(crate) fn tell<A: App>(&self, worker: &Worker<A>) {
        self.busy_ns.store(worker.half.report.busy_ns, Ordering::Relaxed);
        self.packets.store(worker.half.report.packets, Ordering::Release);
    }

    /// It is over, for both.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether either side ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Packets that the host handled: what it sent before is on the ring by then.
    pub(crate) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Acquire)
    }

    /// The host's time with something to do.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.busy_ns.load(Ordering::Relaxed)
    }

    /// For how long the calling thread and the host's were ready and had no core; not known
    /// everywhere.
    pub(crate) fn robbed_ns(&self) -> Option<u64> {
        let host = self.thread.load(Ordering::Relaxed);
        let (here, there) = robbed("thread-self").zip(robbed(&format!("self/task/{host}")))?;
        Some(here + there)
    }
}

/// How long a thread was ready and waited for a core, as the kernel counts
/// (`proc_pid_schedstat(5)`).
fn robbed(thread: &str) -> Option<u64> {
    let told = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    told.split_whitespace().nth(1)?.parse().ok()
}
