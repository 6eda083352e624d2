//! Reports of the host's thread to the NIC's, and the end of both.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cora_core::app::App;
use cora_host::parts::Worker;

/// Reports of the host's thread.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Packets that it handled.
    packets: AtomicU64,
    busy_ns: AtomicU64,
    /// Either side ended, so the other one should.
    ended: AtomicBool,
    /// The thread's number in the kernel.
    thread: AtomicU64,
}

impl Told {
    /// Notes that the calling thread is the host's.
    pub(super) fn begin(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.thread.store(u64::from(thread.unsigned_abs()), Ordering::Relaxed);
    }

    /// Reports the host's work so far.
    pub(crate) fn tell<A: App>(&self, worker: &Worker<A>) {
        self.busy_ns.store(worker.half.report.busy_ns, Ordering::Relaxed);
        self.packets.store(worker.half.report.packets, Ordering::Release);
    }

    /// Ends both sides.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Returns whether either side ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns the packets that the host handled. Its messages up to then are on the ring.
    pub(crate) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Acquire)
    }

    /// Returns the host's time with something to do.
    pub(crate) fn busy_ns(&self) -> u64 {
        self.busy_ns.load(Ordering::Relaxed)
    }

    /// Returns the time in which the calling thread and the host's were ready without a core; not
    /// known everywhere.
    pub(crate) fn robbed_ns(&self) -> Option<u64> {
        let host = self.thread.load(Ordering::Relaxed);
        let (here, there) = robbed("thread-self").zip(robbed(&format!("self/task/{host}")))?;
        Some(here + there)
    }
}

/// Returns the time in which a thread was ready without a core, as the kernel counts
/// (`proc_pid_schedstat(5)`).
fn robbed(thread: &str) -> Option<u64> {
    let told = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    told.split_whitespace().nth(1)?.parse().ok()
}
