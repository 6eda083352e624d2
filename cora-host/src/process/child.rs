//! Child processes: their inherited files, and their termination.
//!
//! A child gets standard input, output and error, and the files that it was started for. All other
//! descriptors are closed in it, however they were opened. It gains no rights by `exec`, and the
//! kernel ends it together with its parent. The kernel drops that link if the program's file has
//! capabilities (`setcap`), so a child requests it again when it begins.
#![expect(unsafe_code, reason = "arranges, between fork and exec, what the child gets")]

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};

use crate::RunError;
use crate::memory::pages::Pages;
use crate::process::sandbox::Filter;
use crate::process::{cores, signals};

/// The first descriptor after the standard ones.
const FIRST: RawFd = 3;

/// Starts this program again, under one of its hidden commands.
pub(crate) fn own(name: &str) -> Command {
    // The executable of this process, even if the file under its name was replaced.
    let mut command = Command::new(format!("/proc/{}/exe", std::process::id()));
    command.arg(name).stdout(Stdio::null());
    command
}

/// Passes only these files to the child, under the same numbers.
pub(crate) fn gets(command: &mut Command, files: &[BorrowedFd<'_>]) {
    passes_on(command, files.iter().map(AsRawFd::as_raw_fd).collect());
}

/// Passes files on to the child that this process inherited under these numbers.
pub(crate) fn passes_on(command: &mut Command, files: Vec<RawFd>) {
    // SAFETY: the closure only makes system calls, which are allowed between fork and exec.
    unsafe { command.pre_exec(move || keep_only(&files)) };
}

/// Starts a process that ends with this one, on a processor of its own if `core` is given. If small
/// pages are requested, its kernel gives it no others.
pub(crate) fn spawn(
    command: Command,
    core: Option<usize>,
    pages: Pages,
) -> Result<Child, RunError> {
    spawn_with(command, core, pages, None)
}

/// The same for a process that begins with this filter of system calls, if any.
pub(crate) fn spawn_with(
    mut command: Command,
    core: Option<usize>,
    pages: Pages,
    mut filter: Option<Filter>,
) -> Result<Child, RunError> {
    command.stdin(Stdio::null());
    let parent = getpid();
    let prepare = move || {
        end_with(parent)?;
        rustix::thread::set_no_new_privs(true)?;
        signals::leave_to_supervisor();
        if pages == Pages::Small {
            rustix::thread::disable_transparent_huge_pages(true)?;
        }
        if let Some(core) = core {
            cores::stay_on(core);
        }
        // The last one: it forbids the calls above.
        filter.as_mut().map_or(Ok(()), Filter::enter)?;
        Ok(())
    };
    // SAFETY: the closure only makes system calls, which are allowed between fork and exec.
    unsafe { command.pre_exec(prepare) };
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|cause| RunError::Start { program: name, cause })
}

/// Makes this process end together with its parent, which has this number.
///
/// # Errors
/// If another process is the parent: the original one has ended.
pub(crate) fn stay_with(parent: u32) -> Result<(), RunError> {
    let gone = |cause| RunError::System { what: "the process that started this one", cause };
    let parent = Pid::from_raw(parent.cast_signed());
    let parent = parent.ok_or_else(|| gone(std::io::ErrorKind::NotFound.into()))?;
    end_with(parent).map_err(gone)
}

fn end_with(parent: Pid) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above. Returns a plain error kind, since nothing may
    // be allocated between fork and exec.
    if getppid() == Some(parent) { Ok(()) } else { Err(std::io::ErrorKind::NotConnected.into()) }
}

/// Makes `exec` close all descriptors except the standard ones and `files`.
fn keep_only(files: &[RawFd]) -> std::io::Result<()> {
    close_from(FIRST)?;
    for file in files {
        // SAFETY: the number is only passed to the kernel, which reports an error if it is not a
        // file's.
        let file = unsafe { BorrowedFd::borrow_raw(*file) };
        rustix::io::fcntl_setfd(file, FdFlags::empty())?;
    }
    Ok(())
}

/// Makes `exec` close all descriptors from this one on.
fn close_from(first: RawFd) -> std::io::Result<()> {
    let (first, flags) = (first.cast_unsigned(), libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: the call takes three numbers, and only changes how `exec` treats descriptors.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
    if done == 0 {
        return Ok(());
    }
    // Before Linux 5.11: one by one, up to the maximum number.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    for number in first..limit.map_or(1 << 20, |limit| limit.min(1 << 20) as u32) {
        // SAFETY: the number is only passed to the kernel, which reports an error if it is not a
        // file's.
        let file = unsafe { BorrowedFd::borrow_raw(number.cast_signed()) };
        match rustix::io::fcntl_setfd(file, FdFlags::CLOEXEC) {
            Ok(()) | Err(Errno::BADF) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, OwnedFd};

    use super::*;

    /// How many descriptors a child has besides these and the standard ones, which it must have.
    /// The child lists them.
    fn others(files: &[BorrowedFd<'_>]) -> usize {
        let mut command = Command::new("ls");
        gets(command.arg("/proc/self/fd"), files);
        let output = command.output().expect("it starts");
        let text = String::from_utf8(output.stdout).expect("numbers");
        let listed: Vec<RawFd> = text.lines().map(|line| line.parse().expect(line)).collect();
        let own: Vec<RawFd> = (0..FIRST).chain(files.iter().map(AsRawFd::as_raw_fd)).collect();
        assert!(own.iter().all(|file| listed.contains(file)), "{own:?}: {listed:?}");
        listed.len() - own.len()
    }

    /// A file without close-on-exec.
    fn open(name: &str) -> OwnedFd {
        rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::empty()).expect("memory")
    }

    #[test]
    fn a_child_gets_its_own_files_and_no_others() {
        let files = [open("a"), open("b"), open("c")];
        // The extra one is the directory that it reads.
        assert_eq!(others(&[]), 1);
        assert_eq!(others(&[files[1].as_fd()]), 1);
        assert_eq!(others(&[files[2].as_fd(), files[0].as_fd()]), 1);
    }

    #[test]
    fn a_child_gains_no_rights_and_knows_its_parent() {
        let mut command = Command::new("grep");
        command.args(["NoNewPrivs", "/proc/self/status"]).stdout(Stdio::piped());
        let child = spawn(command, None, Pages::Transparent).expect("it starts");
        let output = child.wait_with_output().expect("it ends");
        assert!(String::from_utf8_lossy(&output.stdout).ends_with("1\n"), "{output:?}");
        // Neither process 1 nor this process itself started this one.
        assert!(stay_with(std::process::id()).is_err() && stay_with(0).is_err());
    }
}
