//! A filter for the system calls of the native NIC half.
//!
//! It runs handlers on packets from a network, so it may get compromised one day. It needs no
//! files, no sockets and no other process: its memory is mapped, its region is its only file, and
//! it sleeps by a futex. Any other call ends it, by SIGSYS. The filter is set after the start of
//! the process, when loader and command line need no more calls. An emulator makes its own calls,
//! so the emulated NIC half has no filter. That of a card is an image without a loader: its filter
//! is set before `execve`, which is therefore permitted. What it could execute has the filter, too.
//! The same holds for the static program of a tenant.
//!
//! | calls | purpose |
//! | --- | --- |
//! | `mmap`, `mprotect` without `PROT_EXEC`, `munmap`, `mremap`, `madvise`, `brk` | memory |
//! | `futex`, `sched_yield`, `clock_gettime`, `restart_syscall` | sleeping, waking, time |
//! | `write` to standard error | its last words |
//! | `exit`, `exit_group` | its end |
//! | `rt_sigaction`, `rt_sigprocmask`, `rt_sigreturn`, `sigaltstack` | its end by a fault |
//! | `getpid`, `gettid`, `tgkill` to itself | its end by a panic |
//! | `getrandom` | seeds of hash tables in the standard library |
//! | `execve`, `nanosleep`: of images, static programs | beginning; sleep without a futex |
//! | `set_tid_address`, `poll`, `arch_prctl`: of static programs | the standard library |
//! | `recvmsg` from one socket, `close`, `fcntl` for a flag: of many halves | their regions |
#![expect(unsafe_code, reason = "hands a filter to the kernel")]

use std::os::raw::c_long;
use std::process::ExitStatus;

use libc::{sock_filter, sock_fprog};
use rustix::io::Errno;
use std::os::unix::process::ExitStatusExt as _;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Offsets in the kernel's input to the filter (`struct seccomp_data`).
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
/// Offset of the low half of an argument: both machines are little-endian.
const fn argument(number: u32) -> u32 {
    16 + 8 * number
}

const STANDARD_ERROR: u32 = 2;

/// The condition for a call.
#[derive(Clone, Copy)]
enum May {
    Always,
    /// If this argument has this value.
    When(u32, u32),
    /// If this argument has none of these bits.
    Without(u32, u32),
}

/// A process that gets a filter.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// This one, with its number.
    Process(u32),
    /// One that executes a NIC image next.
    Image,
    /// One that executes a static program next, whose standard library begins first. It gets files
    /// by the socket with this number, if there is one.
    Program(Option<u32>),
}

/// What a static program calls before its `main`: of its own thread and memory, and whether its
/// standard files are open.
#[cfg(target_arch = "x86_64")]
const BEGINNING: [c_long; 5] = [
    libc::SYS_execve,
    libc::SYS_nanosleep,
    libc::SYS_set_tid_address,
    libc::SYS_poll,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const BEGINNING: [c_long; 4] =
    [libc::SYS_execve, libc::SYS_nanosleep, libc::SYS_set_tid_address, libc::SYS_ppoll];

/// The permitted calls.
fn rules(of: Of) -> Vec<(c_long, May)> {
    let executable = libc::PROT_EXEC.cast_unsigned();
    let mut rules = vec![
        (libc::SYS_futex, May::Always),
        (libc::SYS_sched_yield, May::Always),
        (libc::SYS_clock_gettime, May::Always),
        (libc::SYS_write, May::When(0, STANDARD_ERROR)),
        (libc::SYS_mmap, May::Without(2, executable)),
        (libc::SYS_mprotect, May::Without(2, executable)),
    ];
    match of {
        Of::Process(number) => rules.push((libc::SYS_tgkill, May::When(0, number))),
        Of::Image => {
            rules.extend([libc::SYS_execve, libc::SYS_nanosleep].map(|it| (it, May::Always)));
        }
        Of::Program(socket) => {
            rules.extend(BEGINNING.map(|it| (it, May::Always)));
            if let Some(socket) = socket {
                rules.push((libc::SYS_recvmsg, May::When(0, socket)));
                rules.push((libc::SYS_close, May::Always));
                // The standard library asks it before it closes, where assertions are on.
                rules.push((libc::SYS_fcntl, May::When(1, libc::F_GETFD.cast_unsigned())));
            }
        }
    }
    let always = [
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getrandom,
    ];
    rules.extend(always.map(|number| (number, May::Always)));
    rules
}

/// Limits this process to the permitted calls.
///
/// # Errors
/// The kernel's error, if it has no filters.
pub(crate) fn enter() -> Result<(), Errno> {
    Filter(filter(Of::Process(std::process::id()))).enter()
}

/// A filter that is made before a process begins, which must not allocate.
#[derive(Clone)]
pub(crate) struct Filter(Vec<sock_filter>);

impl Filter {
    /// For a process that executes a NIC image next.
    pub(crate) fn of_image() -> Self {
        Self(filter(Of::Image))
    }

    /// For a process that executes a static program next, and gets files by this socket, if any.
    pub(crate) fn of_program(socket: Option<u32>) -> Self {
        Self(filter(Of::Program(socket)))
    }

    /// Limits this process to its calls.
    ///
    /// # Errors
    /// The kernel's error, if it has no filters.
    pub(crate) fn enter(&mut self) -> Result<(), Errno> {
        rustix::thread::set_no_new_privs(true)?;
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_mut_ptr() };
        let (number, mode) = (libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER);
        // SAFETY: the kernel reads `len` instructions at `filter`, which live until the call
        // returns, and changes no memory.
        let done = unsafe { libc::syscall(number, mode, 0_u32, &raw const program) };
        if done == 0 {
            Ok(())
        } else {
            Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::NOSYS))
        }
    }
}

/// Whether a forbidden call ended a process.
pub(crate) fn ended(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGSYS)
}

fn filter(of: Of) -> Vec<sock_filter> {
    let allow = answer(libc::SECCOMP_RET_ALLOW);
    let deny = answer(libc::SECCOMP_RET_KILL_PROCESS);
    let mut filter = vec![load(ARCH), jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0), deny, load(NUMBER)];
    for (number, may) in rules(of) {
        // Call numbers are small.
        let number = number.cast_unsigned() as u32;
        match may {
            May::Always => filter.extend([jump(libc::BPF_JEQ, number, 0, 1), allow]),
            May::When(at, value) => filter.extend([
                jump(libc::BPF_JEQ, number, 0, 4),
                load(argument(at)),
                jump(libc::BPF_JEQ, value, 0, 1),
                allow,
                deny,
            ]),
            May::Without(at, bits) => filter.extend([
                jump(libc::BPF_JEQ, number, 0, 4),
                load(argument(at)),
                jump(libc::BPF_JSET, bits, 1, 0),
                allow,
                deny,
            ]),
        }
    }
    filter.push(deny);
    filter
}

/// Loads the word at this offset.
const fn load(offset: u32) -> sock_filter {
    let code = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    sock_filter { code, jt: 0, jf: 0, k: offset }
}

/// Skips `yes` instructions if the comparison of the word with `k` holds, otherwise `no`.
const fn jump(how: u32, k: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | how | libc::BPF_K) as u16, jt: yes, jf: no, k }
}

const fn answer(k: u32) -> sock_filter {
    sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs this test again, in a process with the filter, where it makes the call of this name.
    const CALL: &str = "CORA_TEST_CALL";

    fn make(call: &str) {
        match call {
            "open" => drop(std::fs::File::open("/dev/null")),
            "socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
            "fork" => drop(Command::new("true").spawn()),
            "kill" => drop(rustix::process::test_kill_process(rustix::process::getppid().unwrap())),
            "stdout" => drop(rustix::io::write(std::io::stdout(), b"words")),
            "executable" => {
                let access = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::EXEC;
                let flags = rustix::mm::MapFlags::PRIVATE;
                // SAFETY: a new mapping touches no memory of ours.
                let _mapped = unsafe {
                    rustix::mm::mmap_anonymous(std::ptr::null_mut(), 4096, access, flags)
                };
            }
            _ => {}
        }
    }

    fn ends(call: &str) -> ExitStatus {
        let own = std::env::current_exe().expect("it runs");
        let name = "process::sandbox::tests::a_process_makes_the_calls_that_it_may";
        let mut command = Command::new(own);
        command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CALL, call);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.status().expect("it starts")
    }

    #[test]
    fn a_process_makes_the_calls_that_it_may() {
        if let Ok(call) = std::env::var(CALL) {
            enter().expect("the kernel has filters");
            // The actions of the NIC half: memory, time, a futex, and last words.
            let memory = vec![1_u8; 64 << 20];
            assert!(std::time::Instant::now().elapsed().as_secs() < 9 && memory[5] == 1);
            std::thread::yield_now();
            let _told = rustix::io::write(std::io::stderr(), b"in the sandbox\n");
            make(&call);
            // SAFETY: ends the process at once; regular exit handlers would make forbidden calls.
            unsafe { libc::_exit(42) };
        }
        assert_eq!(ends("none").code(), Some(42));
        for call in ["open", "socket", "fork", "kill", "stdout", "executable"] {
            let status = ends(call);
            assert!(ended(status), "{call}: {status}");
        }
    }

    #[test]
    fn what_an_image_executes_has_the_filter_too() {
        use std::os::unix::process::CommandExt as _;

        // A program with a loader opens its libraries, which is forbidden.
        let mut command = Command::new("/bin/true");
        let mut filter = Filter::of_image();
        // SAFETY: the closure makes system calls only, which are allowed between fork and exec.
        unsafe { command.pre_exec(move || Ok(filter.enter()?)) };
        let status = command.status().expect("it starts");
        assert!(ended(status), "{status}");
    }

    #[test]
    fn a_process_that_aborts_is_not_taken_for_one_that_was_stopped() {
        let killed = |signal| ExitStatus::from_raw(signal);
        assert!(ended(killed(libc::SIGSYS)));
        assert!(!ended(killed(libc::SIGABRT)) && !ended(killed(9)) && !ended(killed(31 << 8)));
    }
}
