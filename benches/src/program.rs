//! A built Cora program that takes turns.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::examples::Case;

/// A program in `bench`, waiting for its turn.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// The cost of a turn.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Turn {
    packets: f64,
    ns: f64,
    /// What each shard did, if there are shards.
    #[serde(default)]
    shards: Vec<Shard>,
}

/// A shard's part of a turn.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
struct Shard {
    packets: f64,
    left: f64,
}

impl Turn {
    /// Returns the time of a packet where these turns were taken at once: the longest sets it.
    pub(crate) fn at_once(turns: &[Self]) -> f64 {
        let longest = turns.iter().map(|turn| turn.ns).fold(0.0, f64::max);
        longest / turns.iter().map(|turn| turn.packets).sum::<f64>()
    }

    pub(crate) fn ns_per_packet(&self) -> f64 {
        self.ns / self.packets
    }

    /// Returns the part of the packets that left all shards.
    pub(crate) fn passed(&self) -> f64 {
        self.shards.iter().map(|shard| shard.left).sum::<f64>() / self.packets
    }

    /// Returns the packets of the largest shard, and those of all.
    pub(crate) fn largest_shard(&self) -> (f64, f64) {
        let most = self.shards.iter().map(|shard| shard.packets).fold(0.0, f64::max);
        (most, self.packets)
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
        let mut command = Command::new(program);
        Self::start_as(command.arg("bench"), capture, warm, ["--half", half])
    }

    /// Starts `shards` host halves, which take each turn of this case together.
    pub(crate) fn start_shards(
        program: &Path,
        case: &Case,
        shards: usize,
    ) -> std::io::Result<Self> {
        Self::start_sharded(&mut Command::new(program), case, shards)
    }

    /// Starts a single shard that stays on this processor.
    pub(crate) fn start_on(processor: usize, program: &Path, case: &Case) -> std::io::Result<Self> {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &processor.to_string()]).arg(program);
        Self::start_sharded(&mut command, case, 1)
    }

    fn start_sharded(command: &mut Command, case: &Case, shards: usize) -> std::io::Result<Self> {
        let words = ["--shards", &shards.to_string()];
        Self::start_as(command.arg("bench").args(&case.words), &case.capture, case.warm, words)
    }

    /// Starts both halves, before all other processes: both cores are theirs while they run.
    pub(crate) fn start_both(program: &Path, capture: &Path, warm: usize) -> std::io::Result<Self> {
        let mut command = before_others(program);
        Self::start_as(command.arg("bench"), capture, warm, ["--half", "pair"])
    }

    fn start_as(
        command: &mut Command,
        capture: &Path,
        warm: usize,
        words: [&str; 2],
    ) -> std::io::Result<Self> {
        command.args(["--warm", &warm.to_string()]).args(words).arg("--in").arg(capture);
        Self::of(command)
    }

    /// Starts a program that takes turns, and waits until it says that it is ready.
    pub(crate) fn of(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
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
