//! A server as a process with others behind it, and their processor time.

use std::fs;
use std::io::{Error, Result};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server, ended when dropped.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().map(Self)
    }

    /// The processor time of it and of all processes that it started, in the kernel too.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let mut all = vec![self.0.id()];
        let mut sum = 0;
        while let Some(process) = all.pop() {
            for task in fs::read_dir(format!("/proc/{process}/task"))? {
                let task = task?.path();
                let times = fs::read_to_string(task.join("schedstat"))?;
                let ns = times.split(' ').next().and_then(|word| word.parse::<u64>().ok());
                sum += ns.ok_or_else(|| Error::other(format!("schedstat: {times}")))?;
                let children = fs::read_to_string(task.join("children"))?;
                all.extend(children.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
            }
        }
        Ok(Duration::from_nanos(sum))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A program of Cora's ends its halves.
        let id = rustix::process::Pid::from_child(&self.0);
        let _ended = rustix::process::kill_process(id, rustix::process::Signal::INT);
        let _status = self.0.wait();
    }
}
