//! The NIC half as a process: started, watched, and never left behind.
#![expect(unsafe_code, reason = "asks, between fork and exec, to be ended with the host process")]

use std::io::Write as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cora_core::region::Region;

use crate::options::RunOptions;
use crate::pages::Pages;
use crate::{Program, RunError, cores};

/// How the NIC half runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NicMode {
    /// Not at all: the host handles every packet.
    Off,
    /// The aarch64 program, under qemu-aarch64 as a Cortex-A72 (BlueField-2's core).
    Emulated,
    /// The same source built for this machine.
    Native,
}

/// How many seconds the NIC may stand still, unless the command line says otherwise.
pub(crate) const PATIENCE: u16 = 30;

/// The argument under which the host binary is its own native NIC half.
pub(crate) const NIC_COMMAND: &str = "__nic";

/// The NIC half's process. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct NicProcess {
    child: Child,
    beat: u64,
    moved: Instant,
    patience: Duration,
    /// Kept open until the emulator has read it.
    _image: Option<OwnedFd>,
}

impl NicProcess {
    /// Starts the NIC half on the region in `file`, on a processor of its own if one is given.
    pub(crate) fn start(
        program: &Program,
        options: &RunOptions,
        file: &OwnedFd,
        length: usize,
        core: Option<usize>,
    ) -> Result<Self, RunError> {
        let patience = options.patience();
        let (mut command, image) = command(program, options.nic)?;
        command.arg(file.as_raw_fd().to_string()).arg(length.to_string());
        let child = spawn(command, core, options.pages)?;
        Ok(Self { child, beat: 0, moved: Instant::now(), patience, _image: image })
    }

    /// Notes whether the NIC moves. `Ok(Some)`: it ended, in this way.
    pub(crate) fn watch(&mut self, region: &Region) -> Result<Option<ExitStatus>, RunError> {
        if let Some(status) = self.child.try_wait().map_err(waiting)? {
            return Ok(Some(status));
        }
        let beat = region.nic_heartbeat();
        if beat != self.beat {
            self.beat = beat;
            self.moved = Instant::now();
        } else if self.moved.elapsed() > self.patience {
            return Err(RunError::NicSilent { seconds: self.patience.as_secs() });
        }
        Ok(None)
    }

    /// Whether the process was ended by a signal, not by itself.
    pub(crate) fn was_killed(&mut self) -> bool {
        let status = self.child.try_wait().ok().flatten();
        status.is_some_and(|status| status.code().is_none())
    }

    /// Waits for the process to end by itself, having been told to.
    pub(crate) fn wait(mut self) -> Result<ExitStatus, RunError> {
        let deadline = Instant::now() + self.patience;
        loop {
            if let Some(status) = self.child.try_wait().map_err(waiting)? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err(RunError::NicSilent { seconds: self.patience.as_secs() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for NicProcess {
    fn drop(&mut self) {
        // It may have ended already; then both say so, and nothing is left to do.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// What starts the NIC half, and what must stay open until it runs.
pub(crate) fn command(
    program: &Program,
    mode: NicMode,
) -> Result<(Command, Option<OwnedFd>), RunError> {
    match mode {
        NicMode::Emulated => emulated(program),
        NicMode::Native | NicMode::Off => Ok((own(NIC_COMMAND), None)),
    }
}

/// Starts a process that ends with this one, on a processor of its own if one is given. Where small
/// pages are wanted, its kernel gives it no others, whatever it asks for.
pub(crate) fn spawn(
    mut command: Command,
    core: Option<usize>,
    pages: Pages,
) -> Result<Child, RunError> {
    command.stdin(Stdio::null());
    let parent = rustix::process::getpid();
    let die_with_host = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // The host may have died before the line above.
        if rustix::process::getppid() != Some(parent) {
            return Err(std::io::Error::other("the host process is gone"));
        }
        if pages == Pages::Small {
            rustix::thread::disable_transparent_huge_pages(true)?;
        }
        if let Some(core) = core {
            cores::stay_on(core);
        }
        Ok(())
    };
    // SAFETY: the closure only makes system calls, which is allowed between fork and exec.
    unsafe { command.pre_exec(die_with_host) };
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|cause| RunError::Start { program: name, cause })
}

fn waiting(cause: std::io::Error) -> RunError {
    RunError::System { what: "waiting for the NIC process", cause }
}

/// This program once more, under one of its hidden commands.
pub(crate) fn own(name: &str) -> Command {
    // The very file that this process runs, whatever stands under its name by now.
    let mut command = Command::new(format!("/proc/{}/exe", std::process::id()));
    command.arg(name).stdout(Stdio::null());
    command
}

/// The emulator on the image, which lies in a file without a name.
fn emulated(program: &Program) -> Result<(Command, Option<OwnedFd>), RunError> {
    let image = program.nic_image.ok_or(RunError::NoNicImage)?;
    let emulator = find_emulator().ok_or(RunError::NoEmulator)?;
    let system = |cause| RunError::System { what: "a file for the NIC image", cause };
    let file = rustix::fs::memfd_create("cora-nic", rustix::fs::MemfdFlags::empty())
        .map_err(|errno| system(errno.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(image).map_err(system)?;
    let file = OwnedFd::from(file);
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
