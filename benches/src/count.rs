//! Counts the instructions of a process: they are independent of the load of the machine.

use std::io::{Error, Result, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cora_plan::demand::Executed;

/// The name of this very program, which runs the loops by hand.
pub(crate) const BY_HAND: &str = "cora-bench";

/// A tool that counts instructions.
#[derive(Clone, Debug)]
pub(crate) enum Counter {
    /// valgrind's callgrind, of a program for this machine.
    Callgrind,
    /// The plugin in `benches/counter`, in QEMU: it also counts mispredicted branches.
    Qemu {
        /// The emulated machine, by its name in QEMU: `aarch64`.
        machine: &'static str,
        /// The plugin's file.
        plugin: PathBuf,
    },
}

impl Counter {
    /// Returns the instructions per packet of a program that makes a pass over `packets` packets
    /// for each line of standard input: the difference between three passes and one, so that
    /// loading and ending cancel out.
    pub(crate) fn per_packet(
        &self,
        programs: &Path,
        program: &str,
        words: &[&str],
        packets: usize,
    ) -> Result<f64> {
        self.executed(programs, program, words, packets).map(|executed| executed.instructions)
    }

    /// Returns the counts per packet, by the same difference. Valgrind counts no mispredicted
    /// branches.
    pub(crate) fn executed(
        &self,
        programs: &Path,
        program: &str,
        words: &[&str],
        packets: usize,
    ) -> Result<Executed> {
        let count = |passes| self.count(programs, program, words, passes);
        let (one, three) = (count(1)?, count(3)?);
        Ok(three.beyond(one).map(|counted| counted / (2 * packets) as f64))
    }

    /// Checks that it can count; the error has the reason.
    pub(crate) fn works(&self, programs: &Path) -> std::result::Result<(), String> {
        let why = |error: Error| match self {
            Self::Callgrind => format!("valgrind does not count ({error})"),
            Self::Qemu { machine, .. } => {
                format!("qemu-{machine} does not count with the plugin ({error})")
            }
        };
        // The handwritten loops make no pass here, so the program surely ends.
        self.count(programs, BY_HAND, &["--by-hand", "firewall"], 0).map(|_| ()).map_err(why)
    }

    /// Returns the counts of a whole process with `passes` passes.
    fn count(
        &self,
        programs: &Path,
        program: &str,
        words: &[&str],
        passes: usize,
    ) -> Result<Executed> {
        let out = programs.join("instructions.out");
        let _was_there = std::fs::remove_file(&out);
        let mut command = self.command(&out);
        command.arg(programs.join(program)).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let counter = command.get_program().display();
            let told = format!("{counter} doesn't start: {error} (Debian: valgrind, qemu-user)");
            Error::new(error.kind(), told)
        })?;
        if let Some(mut lines) = child.stdin.take() {
            lines.write_all("\n".repeat(passes).as_bytes())?;
        }
        let ended = child.wait_with_output()?;
        if !ended.status.success() {
            let told = String::from_utf8_lossy(&ended.stderr);
            return Err(Error::other(format!("{program}: {}: {}", ended.status, told.trim())));
        }
        let counted = std::fs::read_to_string(&out)?;
        self.read(&counted)
            .ok_or_else(|| Error::other(format!("{program}: no count in {}", out.display())))
    }

    fn command(&self, out: &Path) -> Command {
        match self {
            Self::Callgrind => {
                let mut command = Command::new("valgrind");
                let out = format!("--callgrind-out-file={}", out.display());
                command.args(["--quiet", "--tool=callgrind", &out]);
                command
            }
            Self::Qemu { machine, plugin } => {
                let mut command = Command::new(format!("qemu-{machine}"));
                let plugin = format!("{},out={}", plugin.display(), out.display());
                command.args(["-plugin", &plugin]);
                command
            }
        }
    }

    /// Reads the counts from its output.
    fn read(&self, left: &str) -> Option<Executed> {
        match self {
            Self::Callgrind => {
                let summary = left.lines().find_map(|line| line.strip_prefix("summary: "))?;
                let instructions = summary.trim().parse::<u64>().ok()? as f64;
                Some(Executed { instructions, mispredictions: 0.0 })
            }
            Self::Qemu { .. } => Executed::parse(left.trim()).ok(),
        }
    }
}
