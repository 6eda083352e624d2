//! The agent of a card that is another machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::machines::{HOST, Machines};

/// The agent on the card, until it is dropped.
#[derive(Debug)]
pub struct Agent {
    command: Command,
    child: Child,
    log: PathBuf,
}

impl Agent {
    /// Starts it on the card.
    pub fn start(machines: &Machines, program: &Path, words: &[&str], room: &Path) -> Self {
        let log = room.join("agent.log");
        let mut command = machines.card.command(&program.display().to_string());
        let host = format!("{}:w1,{HOST}", machines.way);
        command.args(["card", "--nic", "native", "--host", &host]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file_of(&log));
        let child = spawn(&mut command);
        Self { command, child, log }
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn kill(&mut self) {
        // If it has ended by itself, its log says why.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }

    /// Kills it, and starts it again.
    pub fn start_again(&mut self) {
        self.kill();
        self.child = spawn(&mut self.command);
    }

    /// Returns whether it runs still.
    pub fn is_there(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns what it has said since its last start.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

fn file_of(log: &Path) -> File {
    File::create(log).unwrap_or_else(|error| panic!("{}: {error}", log.display()))
}

fn spawn(command: &mut Command) -> Child {
    command.spawn().unwrap_or_else(|error| panic!("{command:?} doesn't start: {error}"))
}
