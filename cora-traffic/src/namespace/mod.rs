//! Network namespaces with kernels that communicate through the tested program. Removed on drop.
//!
//! Each is named `cora-PID-LABEL` by the process that made it. The first namespace of a process
//! removes those of killed processes.

mod offload;

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::thread::{self, JoinHandle};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub use self::offload::switch_off as switch_offloads_off;
use crate::TrafficError;

/// Directory of the named namespaces of `ip netns`.
const NAMED: &str = "/run/netns";

/// A network namespace, known by name.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace. The label distinguishes it from others of this process.
    ///
    /// # Errors
    /// If `ip` is missing, this process lacks the permission, or the label is in use.
    pub fn create(label: &str) -> Result<Self, TrafficError> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(sweep);
        let name = format!("cora-{}-{label}", std::process::id());
        ip(&["netns", "add", &name])?;
        Ok(Self { name })
    }

    /// Returns its name, as `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` within; blanks separate the words.
    ///
    /// # Errors
    /// If `ip` fails, with its message.
    pub fn ip(&self, words: &str) -> Result<(), TrafficError> {
        let mut all = vec!["-n", &self.name];
        all.extend(words.split(' '));
        ip(&all)
    }

    /// Moves an interface here from the namespace of this process.
    ///
    /// # Errors
    /// If `ip` fails, with its message.
    pub fn take(&self, interface: &str) -> Result<(), TrafficError> {
        ip(&["link", "set", interface, "netns", &self.name])
    }

    /// Joins it to another one by a veth pair: `name` here, `its` there. Both are still down.
    ///
    /// # Errors
    /// If `ip` fails, with its message.
    pub fn join(&self, name: &str, other: &Self, its: &str) -> Result<(), TrafficError> {
        let there = &other.name;
        self.ip(&format!("link add name {name} type veth peer name {its} netns {there}"))
    }

    /// Makes an interface send frames as on a wire: see [`switch_offloads_off`].
    ///
    /// # Errors
    /// If there is no such interface, or its driver can't.
    pub fn send_plain_frames(&self, interface: &str) -> Result<(), TrafficError> {
        self.visit(|| switch_offloads_off(interface))?
    }

    /// Makes an interface send segments as on a wire, whose checksums a card would have to finish.
    ///
    /// # Errors
    /// If there is no such interface, or its driver can't.
    pub fn send_unfinished_frames(&self, interface: &str) -> Result<(), TrafficError> {
        self.visit(|| offload::switch_segmentation_off(interface))?
    }

    /// Returns a command that runs a program within.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Sets a kernel variable of the network, by its path below `/proc/sys/net`.
    ///
    /// # Errors
    /// If there is no such variable.
    pub fn set(&self, variable: &str, value: &str) -> Result<(), TrafficError> {
        let path = Path::new("/proc/sys/net").join(variable);
        let written = self.visit(|| std::fs::write(&path, value))?;
        written.map_err(|error| setup(&path.display().to_string(), &error.to_string()))
    }

    /// Moves the calling thread into it; threads and processes that it starts will be in it too.
    ///
    /// # Errors
    /// If it is gone.
    pub fn enter(&self) -> Result<(), TrafficError> {
        enter(&self.file())
    }

    /// Runs `work` on its own thread within; threads that it starts will be in it too.
    ///
    /// # Panics
    /// The thread panics if the namespace is gone.
    pub fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let file = self.file();
        thread::spawn(move || {
            enter(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            work()
        })
    }

    /// Runs `work` on a thread within, to its end; `work` may borrow from the caller.
    ///
    /// # Errors
    /// If the namespace is gone, or the thread panicked.
    pub fn visit<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, TrafficError> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| self.enter().map(|()| work()));
            worker
                .join()
                .unwrap_or_else(|_| Err(setup("a thread within a namespace", "it panicked")))
        })
    }

    fn file(&self) -> PathBuf {
        Path::new(NAMED).join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "delete", &self.name]) {
            eprintln!("a namespace stays behind: {error}");
        }
    }
}

fn enter(file: &Path) -> Result<(), TrafficError> {
    let file = File::open(file)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| setup("entering a network namespace", &error.to_string()))
}

/// Removes the namespaces of killed processes.
fn sweep() {
    let Ok(entries) = std::fs::read_dir(NAMED) else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        if owner(&name).is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            drop(Namespace { name });
        }
    }
}

/// Returns the process that made a namespace of this name; `None` for a foreign name.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix("cora-")?.split('-').next()?.parse().ok()
}

fn ip(words: &[&str]) -> Result<(), TrafficError> {
    let what = || format!("ip {}", words.join(" "));
    let output = Command::new("ip").args(words).output();
    let output = output.map_err(|error| setup(&what(), &error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(setup(&what(), String::from_utf8_lossy(&output.stderr).trim()))
}

fn setup(what: &str, why: &str) -> TrafficError {
    TrafficError::Setup { what: what.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_who_made_it_and_strangers_names_tell_nothing() {
        assert_eq!(owner("cora-123-lab-clients"), Some(123));
        for other in ["cora-port-123-a", "cora", "cora-", "other-123-a", "123"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
