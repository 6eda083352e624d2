//! A built Cora program that takes turns.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program in `bench`, waiting for its turn.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The cost of a turn.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
pub(crate) struct Turn {
    packets: f64,
    ns: f64,
}

impl Turn {
    pub(crate) fn ns_per_packet(self) -> f64 {
        self.ns / self.packets
    }
}

impl Program {
    /// Starts the program, and waits until its tables are full.
    pub(crate) fn start(program: &Path, capture: &Path, warm: usize) -> std::io::Result<Self> {
        Self::start_half(program, "host", capture, warm)
    }

    /// Starts this half; `none` is the loop that receives and sends for either half.
    pub(crate) fn start_half(
        program: &Path,
        half: &str,
        capture: &Path,
        warm: usize,
    ) -> std::io::Result<Self> {
        Self::start_with(program, capture, warm, ["--half", half])
    }

    /// Starts `shards` host halves, which take each turn together.
    pub(crate) fn start_shards(
        program: &Path,
        capture: &Path,
        warm: usize,
        shards: usize,
    ) -> std::io::Result<Self> {
        Self::start_with(program, capture, warm, ["--shards", &shards.to_string()])
    }

    fn start_with(
        program: &Path,
        capture: &Path,
        warm: usize,
        words: [&str; 2],
    ) -> std::io::Result<Self> {
        Self::start_as(Command::new(program), capture, warm, words)
    }

    /// Starts both halves, before all other processes: both cores are theirs while they run.
    pub(crate) fn start_both(program: &Path, capture: &Path, warm: usize) -> std::io::Result<Self> {
        let command = before_others(program);
        Self::start_as(command, capture, warm, ["--half", "pair"])
    }

    fn start_as(
        mut command: Command,
        capture: &Path,
        warm: usize,
        words: [&str; 2],
    ) -> std::io::Result<Self> {
        let mut child = command
            .args(["bench", "--warm", &warm.to_string()])
            .args(words)
            .arg("--in")
            .arg(capture)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take();
        let answers = child.stdout.take().map(BufReader::new);
        let answers = answers.ok_or_else(|| std::io::Error::other("no standard output"))?;
        let mut program = Self { child, ask, answers };
        program.line()?;
        Ok(program)
    }

    /// Runs one turn.
    pub(crate) fn turn(&mut self) -> std::io::Result<Turn> {
        self.ask()
    }

    /// Runs one turn, and returns the program's whole report.
    pub(crate) fn ask<T: serde::de::DeserializeOwned>(&mut self) -> std::io::Result<T> {
        if let Some(ask) = &mut self.ask {
            ask.write_all(b"\n")?;
        }
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// Sends a line, and returns the answer.
    pub(crate) fn ask_for<T: serde::de::DeserializeOwned>(
        &mut self,
        line: &str,
    ) -> std::io::Result<T> {
        if let Some(ask) = &mut self.ask {
            ask.write_all(line.as_bytes())?;
        }
        self.ask()
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            return Err(std::io::Error::other(format!("the program ended with {status}")));
        }
        Ok(line)
    }
}

/// Returns a command in the kernel's real-time class (`sched(7)`), if that is allowed and `chrt`
/// exists.
pub(crate) fn before_others(program: &Path) -> Command {
    let real_time = ["-f", "1"];
    let may = Command::new("chrt").args(real_time).arg("true").stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return Command::new(program);
    }
    let mut command = Command::new("chrt");
    command.args(real_time).arg(program);
    command
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program ends at the end of its input.
        drop(self.ask.take());
        let _ended = self.child.wait();
    }
}
