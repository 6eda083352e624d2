//! Signals to a live run: which ask for what, and who hears them.
//!
//! The supervisor blocks the signals that it obeys and takes them when it looks. So one that comes
//! while the program becomes another by `exec` waits for that one, and threads that are started
//! later don't take any. A terminal, and some service managers, send a signal to all processes of a
//! run: halves ignore what is for their supervisor.
//!
//! A signal to a process goes to any thread that does not block it. So a thread that was there
//! before the supervisor's, and waits for that one, blocks all of them ([`leave_to_next_thread`]).
#![expect(unsafe_code, reason = "asks the kernel for signals")]

use std::mem::MaybeUninit;

/// Those that a live run obeys: each to its supervisor alone.
const OBEYED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1];

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT, SIGTERM: the run is to end.
    End,
    /// SIGHUP: another build is to take the program's place.
    Replace,
    /// SIGUSR1: the configuration is to be read again.
    ReadAgain,
}

/// The signals that this process obeys.
#[derive(Clone, Copy)]
pub(crate) struct Signals {
    all: libc::sigset_t,
    /// Those that end the run.
    ends: libc::sigset_t,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signals")
    }
}

impl Signals {
    /// From now on they wait until they are taken. SIGHUP that was ignored when the process began
    /// (`nohup`) stays so.
    pub(crate) fn listen() -> Self {
        let hears = |signal: &libc::c_int| *signal != libc::SIGHUP || !is_ignored(libc::SIGHUP);
        let all = set(OBEYED.into_iter().filter(hears));
        // SAFETY: the set is whole, and nobody asks for the mask before.
        let _blocked =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut()) };
        Self { all, ends: set([libc::SIGINT, libc::SIGTERM].into_iter()) }
    }

    /// The next one that came, if any did.
    pub(crate) fn next(&self) -> Option<Signal> {
        take(&self.all)
    }

    /// The next one that ends the run: others wait for the program that comes.
    pub(crate) fn next_end(&self) -> Option<Signal> {
        take(&self.ends)
    }
}

fn take(set: &libc::sigset_t) -> Option<Signal> {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: set and time are whole, and nobody asks for more about the signal.
    let came = unsafe { libc::sigtimedwait(set, std::ptr::null_mut(), &raw const at_once) };
    match came {
        libc::SIGINT | libc::SIGTERM => Some(Signal::End),
        libc::SIGHUP => Some(Signal::Replace),
        libc::SIGUSR1 => Some(Signal::ReadAgain),
        _ => None,
    }
}

/// The signals that a thread blocked.
#[derive(Clone, Copy)]
pub(crate) struct Mask(libc::sigset_t);

/// From now on this thread takes none of the signals that a live run obeys: it is about to start
/// another one, and to wait for that. Gives the mask that the other one takes up.
pub(crate) fn leave_to_next_thread() -> Mask {
    let mut before = MaybeUninit::uninit();
    let all = set(OBEYED.into_iter());
    // SAFETY: the set is whole, and there is room for the mask before.
    let _blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, before.as_mut_ptr()) };
    // SAFETY: the kernel filled it in: an error needs a wrong first argument.
    let before = unsafe { before.assume_init() };
    Mask(before)
}

impl Mask {
    /// From now on this thread blocks these, and no others.
    pub(crate) fn take_up(self) {
        // SAFETY: the set is whole, and nobody asks for the mask before.
        let _set = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

/// Lets this process ignore what is for its supervisor, whatever program it becomes. For the time
/// between fork and exec: it makes system calls alone.
pub(crate) fn leave_to_supervisor() {
    for signal in OBEYED {
        // SAFETY: no handler is installed, so none can run at a wrong time.
        let _before = unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A file that may grow no further (`ulimit -f`) is an error of its writer, and ends neither this
/// process nor one that it starts.
pub(crate) fn keep_on_at_file_limits() {
    // SAFETY: no handler is installed, so none can run at a wrong time.
    let _before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no action is given, and there is room for the one in force.
    let told = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    if told != 0 {
        return false;
    }
    // SAFETY: the kernel filled it in, since it told of no error.
    let now = unsafe { now.assume_init() };
    now.sa_sigaction == libc::SIG_IGN
}

fn set(signals: impl Iterator<Item = libc::c_int>) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: there is room for a set, which is made here.
    let _made = unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set was made above, and the signal is one.
        let _added = unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
    }
    // SAFETY: it was made above.
    unsafe { set.assume_init() }
}
