//! The NIC half as a process: started, watched, and always terminated.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cora_runtime::link::region::Region;

use crate::memory::map;
use crate::options::{NicMode, RunOptions};
use crate::process::child;
use crate::{Program, RunError};

/// The argument that turns the host binary into its own native NIC half.
pub(crate) const NIC_COMMAND: &str = "__nic";

/// The process of the NIC half. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct NicProcess {
    child: Child,
    beat: u64,
    moved: Instant,
    patience: Duration,
    slow_patience: Duration,
    /// Kept open until the emulator has read it.
    _image: Option<File>,
}

impl NicProcess {
    /// Starts the NIC half on the region in `file`, on a processor of its own if `core` is given.
    pub(crate) fn start(
        program: &Program,
        options: &RunOptions,
        file: &OwnedFd,
        length: usize,
        core: Option<usize>,
    ) -> Result<Self, RunError> {
        let (patience, slow_patience) = (options.patience(), options.slow_patience());
        let (command, image) = command(program, options.nic, file.as_fd(), length)?;
        let child = child::spawn(command, core, options.pages)?;
        let moved = Instant::now();
        Ok(Self { child, beat: 0, moved, patience, slow_patience, _image: image })
    }

    /// Checks the NIC's progress. `Ok(Some)`: it ended, with this status.
    pub(crate) fn watch(&mut self, region: &Region) -> Result<Option<ExitStatus>, RunError> {
        if let Some(status) = self.child.try_wait().map_err(waiting)? {
            return Ok(Some(status));
        }
        let beat = region.nic_heartbeat();
        if beat != self.beat {
            self.beat = beat;
            self.moved = Instant::now();
            return Ok(None);
        }
        let patience = if beat == 0 { self.slow_patience } else { self.patience };
        if self.moved.elapsed() > patience {
            return Err(RunError::NicSilent { seconds: patience.as_secs() });
        }
        Ok(None)
    }

    /// Ends the process.
    pub(crate) fn end(&mut self) {
        // If it has already ended, both calls return errors, and nothing is left to do.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }

    /// Whether a signal ended the process.
    pub(crate) fn was_killed(&mut self) -> bool {
        let status = self.child.try_wait().ok().flatten();
        status.is_some_and(|status| status.code().is_none())
    }

    /// Waits for the process to end after it was told to.
    pub(crate) fn wait(mut self) -> Result<ExitStatus, RunError> {
        let deadline = Instant::now() + self.slow_patience;
        loop {
            if let Some(status) = self.child.try_wait().map_err(waiting)? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err(RunError::NicSilent { seconds: self.slow_patience.as_secs() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for NicProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// The command that starts the NIC half on the region in the first `length` bytes of `file`, the
/// only file that it gets. Also returns a file that must stay open until the process runs.
pub(crate) fn command(
    program: &Program,
    mode: NicMode,
    file: BorrowedFd<'_>,
    length: usize,
) -> Result<(Command, Option<File>), RunError> {
    let (mut command, image) = match mode {
        NicMode::Emulated => emulated(program)?,
        NicMode::Native | NicMode::Off => (child::own(NIC_COMMAND), None),
    };
    // A backtrace would make system calls that the sandbox forbids, and look like an attack.
    command.env("RUST_BACKTRACE", "0");
    let files: Vec<_> = std::iter::once(file).chain(image.as_ref().map(File::as_fd)).collect();
    child::gets(&mut command, &files);
    command.arg(file.as_raw_fd().to_string()).arg(length.to_string());
    if image.is_none() {
        command.arg(std::process::id().to_string());
    }
    Ok((command, image))
}

fn waiting(cause: std::io::Error) -> RunError {
    RunError::System { what: "waiting for the NIC process", cause }
}

/// The emulator with the image, which is in an unnamed file.
fn emulated(program: &Program) -> Result<(Command, Option<File>), RunError> {
    let image = program.nic_image.ok_or(RunError::NoNicImage)?;
    let emulator = find_emulator().ok_or(RunError::NoEmulator)?;
    let file = map::sealed_file("cora-nic", image)
        .map_err(|cause| RunError::System { what: "a file for the NIC image", cause })?;
    let mut command = Command::new(emulator);
    command.args(["-cpu", "cortex-a72"]).arg(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command.stdout(Stdio::null());
    Ok((command, Some(file)))
}

fn find_emulator() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CORA_QEMU") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|directory| {
            ["qemu-aarch64", "qemu-aarch64-static"].map(|name| directory.join(name))
        })
        .find(|candidate| candidate.is_file())
}
