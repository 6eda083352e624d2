//! The process of a tenant's NIC half. It is nobody's, has no file but its region, makes the few
//! [calls](crate::process::sandbox) that a NIC half needs, and has bounded memory. The kernel's
//! clock of the process tells the time that it took of a processor.
#![expect(
    unsafe_code,
    reason = "arranges, between fork and exec, what the process may, and reads its clock"
)]

use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use cora_card::status_of;
use rustix::process::{Resource, Rlimit, geteuid, setrlimit};

use crate::RunError;
use crate::memory::pages::Pages;
use crate::process::child;
use crate::process::log::{self, Source};
use crate::process::nic_half::{CONFINED_COMMAND, ROOMS_COMMAND};
use crate::process::sandbox::Filter;

/// The user and the group of nobody (systemd's `nobody`, Debian's `nogroup`).
const NOBODY: u32 = 65_534;

/// Memory that a process has beside its states, in bytes: its program, its stack, its region.
const BESIDE: u64 = 64 << 20;

/// Descriptors that a process may have: those that it inherits may have high numbers.
const MOST_FILES: u64 = 4096;

/// A process at work.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    status: Option<u8>,
}

/// The duty of a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Duty<'a> {
    /// A NIC half on the regions in this file, which has so many bytes.
    Half(BorrowedFd<'a>, usize),
    /// Many NIC halves: they are told by this page, and get their regions by this socket.
    Rooms(BorrowedFd<'a>, BorrowedFd<'a>),
}

impl Process {
    /// Starts this program for a duty, with so many bytes of memory for states.
    pub(super) fn start(program: &File, duty: Duty<'_>, memory: u64) -> Result<Self, RunError> {
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.arg0("cora-tenant").env_clear().stdout(Stdio::null()).current_dir("/");
        let socket = match duty {
            Duty::Half(regions, bytes) => {
                command.arg(CONFINED_COMMAND);
                command.arg(regions.as_raw_fd().to_string()).arg(bytes.to_string());
                child::gets(&mut command, &[regions]);
                None
            }
            Duty::Rooms(page, socket) => {
                command.arg(ROOMS_COMMAND);
                command.arg(page.as_raw_fd().to_string()).arg(socket.as_raw_fd().to_string());
                child::gets(&mut command, &[page, socket]);
                u32::try_from(socket.as_raw_fd()).ok()
            }
        };
        log::read_words(&mut command, Source::TENANT, false);
        let most = memory.saturating_add(BESIDE);
        let is_root = geteuid().is_root();
        let prepare = move || {
            for (resource, most) in [
                (Resource::As, most),
                (Resource::Core, 0),
                (Resource::Fsize, 0),
                (Resource::Nofile, MOST_FILES),
            ] {
                setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
            }
            if is_root { become_nobody() } else { Ok(()) }
        };
        // SAFETY: the closure only makes system calls, which are allowed between fork and exec.
        unsafe { command.pre_exec(prepare) };
        let filter = Some(Filter::of_program(socket));
        let child = child::spawn_with(command, None, Pages::Small, filter)?;
        Ok(Self { child, status: None })
    }

    /// Its exit status, as shells tell it, if it has ended.
    pub(super) fn look(&mut self) -> Result<Option<u8>, RunError> {
        if self.status.is_none() {
            let failed = |cause| RunError::System { what: "waiting for a process", cause };
            self.status =
                self.child.try_wait().map_err(failed)?.map(|status: ExitStatus| status_of(status));
        }
        Ok(self.status)
    }

    /// Ends it.
    pub(super) fn end(&mut self) {
        // If it has already ended, both calls return errors, and nothing is left to do.
        let _ended = self.child.kill();
        if let Ok(status) = self.child.wait() {
            self.status = Some(status_of(status));
        }
    }

    /// The time that it took of a processor so far (ns); zero once it has ended.
    pub(super) fn time(&self) -> u64 {
        /// Of all threads of a process, by the scheduler (`CPUCLOCK_SCHED`, Linux
        /// `include/linux/posix-timers.h`).
        const BY_SCHEDULER: i32 = 2;
        let clock = (!self.child.id().cast_signed() << 3) | BY_SCHEDULER;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the kernel writes a `timespec` to `time`, or nothing if there is no such process.
        // Its number is not given to another one before it was waited for.
        let _told = unsafe { libc::clock_gettime(clock, &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
    }
}

/// Gives up all rights of the superuser.
fn become_nobody() -> std::io::Result<()> {
    // After a fork the process has one thread, so that the kernel's view, which is of a thread, is
    // that of the process.
    // SAFETY: the list is empty.
    let left = unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) };
    // SAFETY: the call takes numbers.
    let group = unsafe { libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY) };
    // SAFETY: as above.
    let user = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
    if [left, group, user] == [0; 3] {
        Ok(())
    } else {
        Err(std::io::ErrorKind::PermissionDenied.into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.end();
        }
    }
}
