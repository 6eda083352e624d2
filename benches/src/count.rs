//! Counts the instructions of a process: they do not depend on what else the machine does.

use std::io::{Error, Result, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of this very program, which runs the loops by hand.
pub(crate) const BY_HAND: &str = "cora-bench";

/// What counts.
#[derive(Clone, Debug)]
pub(crate) enum Counter {
    /// valgrind's callgrind, of a program for this machine.
    Callgrind,
    /// The plugin in `benches/counter`, its file, in QEMU.
    Qemu(PathBuf),
}

impl Counter {
    /// Instructions per packet of a program that answers each line of standard input by a pass over so many
    /// packets: the difference between three passes and one, so that loading and ending cancel out.
    pub(crate) fn per_packet(
        &self,
        programs: &Path,
        program: &str,
        words: &[&str],
        packets: usize,
    ) -> Result<f64> {
        let count = |passes| self.count(programs, program, words, passes);
        let (one, three) = (count(1)?, count(3)?);
        Ok(three.saturating_sub(one) as f64 / (2 * packets) as f64)
    }

    /// Whether it can count; the error says why not.
    pub(crate) fn works(&self, programs: &Path) -> std::result::Result<(), String> {
        let why = |error: Error| match self {
            Self::Callgrind => format!("valgrind does not count ({error})"),
            Self::Qemu(_) => format!("qemu-aarch64 does not count with the plugin ({error})"),
        };
        // The loops by hand, of which it makes no pass, are a program that surely ends.
        self.count(programs, BY_HAND, &["--by-hand", "firewall"], 0).map(|_| ()).map_err(why)
    }

    /// Instructions of a whole process that makes so many passes.
    fn count(&self, programs: &Path, program: &str, words: &[&str], passes: usize) -> Result<u64> {
        let out = programs.join("instructions.out");
        let _was_there = std::fs::remove_file(&out);
        let mut command = self.command(&out);
        command.arg(programs.join(program)).args(words);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut lines) = child.stdin.take() {
            lines.write_all("\n".repeat(passes).as_bytes())?;
        }
        let ended = child.wait_with_output()?;
        if !ended.status.success() {
            let told = String::from_utf8_lossy(&ended.stderr);
            return Err(Error::other(format!("{program}: {}: {}", ended.status, told.trim())));
        }
        let counted = std::fs::read_to_string(&out)?;
        let number = self.read(&counted).and_then(|number| number.trim().parse().ok());
        number.ok_or_else(|| Error::other(format!("{program}: no count in {}", out.display())))
    }

    fn command(&self, out: &Path) -> Command {
        match self {
            Self::Callgrind => {
                let mut command = Command::new("valgrind");
                let out = format!("--callgrind-out-file={}", out.display());
                command.args(["--quiet", "--tool=callgrind", &out]);
                command
            }
            Self::Qemu(plugin) => {
                let mut command = Command::new("qemu-aarch64");
                let plugin = format!("{},out={}", plugin.display(), out.display());
                command.args(["-plugin", &plugin]);
                command
            }
        }
    }

    /// The count in what it left behind.
    fn read<'a>(&self, left: &'a str) -> Option<&'a str> {
        match self {
            Self::Callgrind => left.lines().find_map(|line| line.strip_prefix("summary: ")),
            Self::Qemu(_) => Some(left),
        }
    }
}
