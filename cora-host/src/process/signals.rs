//! Signals to a live run: their meanings, and the threads that take them.
//!
//! The supervisor blocks the signals that it obeys, and polls for them. So a signal that arrives
//! during `exec` of another build stays pending for that one, and later threads don't take any. A
//! terminal, and some service managers, send a signal to all processes of a run: halves ignore
//! signals meant for their supervisor.
//!
//! A signal to a process is delivered to any thread that does not block it. So an earlier thread,
//! which only waits for the supervisor's, blocks all of them ([`leave_to_next_thread`]).
#![expect(unsafe_code, reason = "asks the kernel for signals")]

use std::mem::MaybeUninit;

/// The signals that a live run obeys, only in its supervisor.
const OBEYED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT, SIGTERM: end the run.
    End,
    /// SIGHUP: replace the program by another build.
    Replace,
    /// SIGUSR1: read the configuration again.
    ReadAgain,
}

/// The signals that this process obeys.
#[derive(Clone, Copy)]
pub(crate) struct Signals {
    all: libc::sigset_t,
    /// The signals that end the run.
    ends: libc::sigset_t,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signals")
    }
}

impl Signals {
    /// Blocks the signals, so that they stay pending until taken. If SIGHUP was ignored when the
    /// process began (`nohup`), it stays ignored.
    pub(crate) fn listen() -> Self {
        let hears = |signal: &libc::c_int| *signal != libc::SIGHUP || !is_ignored(libc::SIGHUP);
        let all = set(OBEYED.into_iter().filter(hears));
        // SAFETY: the set is initialised, and the old mask is not requested.
        let _blocked =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
        Self { all, ends: set([libc::SIGINT, libc::SIGTERM].into_iter()) }
    }

    /// The next pending signal, if any.
    pub(crate) fn next(&self) -> Option<Signal> {
        take(&self.all)
    }

    /// The next pending signal that ends the run; others are left for the successor program.
    pub(crate) fn next_end(&self) -> Option<Signal> {
        take(&self.ends)
    }
}

fn take(set: &libc::sigset_t) -> Option<Signal> {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: set and time are initialised, and no further information about the signal is
    // requested.
    let came = unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &raw const at_once) };
    match came {
        libc::SIGINT | libc::SIGTERM => Some(Signal::End),
        libc::SIGHUP => Some(Signal::Replace),
        libc::SIGUSR1 => Some(Signal::ReadAgain),
        _ => None,
    }
}

/// The blocked signals of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

/// Blocks the signals of a live run in this thread, which is about to start another one and wait
/// for it. Returns the mask for that thread.
pub(crate) fn leave_to_next_thread() -> Mask {
    let mut before = MaybeUninit::uninit();
    let all = set(OBEYED.into_iter());
    // SAFETY: the set is initialised, and there is space for the old mask.
    let _blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, before.as_mut_ptr()) };
    // SAFETY: the kernel initialised it: an error requires an invalid first argument.
    let before = unsafe { before.assume_init() };
    Mask(before)
}

impl Mask {
    /// Makes this thread block these signals, and no others.
    pub(crate) fn take_up(self) {
        // SAFETY: the set is initialised, and the old mask is not requested.
        let _set = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// Makes this process ignore the signals for its supervisor, also after `exec`. For use between
/// fork and exec: it only makes system calls.
pub(crate) fn leave_to_supervisor() {
    for signal in OBEYED {
        // SAFETY: no handler is installed, so none can run at a wrong time.
        let _before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Turns a reached file size limit (`ulimit -f`) into an error of the write. Otherwise it would end
/// this process or a child.
pub(crate) fn keep_on_at_file_limits() {
    // SAFETY: no handler is installed, so none can run at a wrong time.
    let _before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no action is given, and there is space for the current one.
    let told = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    if told != 0 {
        return false;
    }
    // SAFETY: the kernel initialised it, since it reported no error.
    let now = unsafe { now.assume_init() };
    now.sa_sigaction == libc::SIG_IGN
}

fn set(signals: impl Iterator<Item = libc::c_int>) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: there is space for a set, which is initialised here.
    let _made = unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set was initialised above, and the signal is valid.
        let _added = unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: it was initialised above.
    unsafe { set.assume_init() }
}
