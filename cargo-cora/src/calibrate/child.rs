//! The calibration's program in a process of its own, which takes turns.

use std::io::{BufRead as _, BufReader, Error, Result, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::program::Plan;
use super::traffic::Capture;

/// The word by which the command becomes the calibration's program.
pub(crate) const PROGRAM: &str = "calibration-program";

/// A program in `bench`, waiting for its turn.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts this half under this plan, and waits until it has filled its tables.
    pub(crate) fn start(plan: Plan, half: &str, capture: &Capture) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([PROGRAM, plan.word(), "bench", "--half", half])
            .args(["--warm", &capture.warm.to_string(), "--in"])
            .arg(&capture.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ask = child.stdin.take();
        let answers = child.stdout.take().map(BufReader::new);
        let answers = answers.ok_or_else(|| Error::other("no standard output"))?;
        let mut program = Self { child, ask, answers };
        program.line()?;
        Ok(program)
    }

    /// One turn, as the program tells it.
    pub(crate) fn turn(&mut self) -> Result<Value> {
        if let Some(ask) = &mut self.ask {
            ask.write_all(b"\n")?;
        }
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// One turn: nanoseconds of a packet.
    pub(crate) fn packet(&mut self) -> Result<f64> {
        let told = self.turn()?;
        Ok(number(&told, "ns")? / number(&told, "packets")?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            return Err(Error::other(format!("the calibration's program ended with {status}")));
        }
        Ok(line)
    }
}

/// A number that a turn told.
pub(crate) fn number(told: &Value, key: &str) -> Result<f64> {
    let missing = || Error::other(format!("the calibration's program tells no `{key}`: {told}"));
    told.get(key).and_then(Value::as_f64).ok_or_else(missing)
}

impl Drop for Program {
    fn drop(&mut self) {
        // Without a line to wait for it ends.
        drop(self.ask.take());
        let _ended = self.child.wait();
    }
}
