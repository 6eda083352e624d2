//! Network namespaces, whose kernels talk to each other through what is tested. Gone when dropped.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;
use std::thread::{JoinHandle, spawn};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace, known by name.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// A new one; why there is none, where the machine gives none.
    ///
    /// # Errors
    /// When `ip` is missing, or may not.
    pub fn create(label: &str) -> Result<Self, String> {
        // As `cora-traffic` names its own: it removes those whose process is gone.
        let name = format!("cora-{}-{label}", std::process::id());
        ip(&["netns", "add", &name])?;
        Ok(Self { name })
    }

    /// Its name, as `ip netns` knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `ip` within.
    ///
    /// # Errors
    /// What it says.
    pub fn ip(&self, words: &str) -> Result<(), String> {
        let mut all = vec!["-n", &self.name];
        all.extend(words.split(' '));
        ip(&all)
    }

    /// Moves an interface here from where this process is.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn take(&self, interface: &str) -> Result<(), String> {
        ip(&["link", "set", interface, "netns", &self.name])
    }

    /// A program that will run within.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Sets a kernel variable of the network's, by its path below `/proc/sys/net`.
    ///
    /// # Errors
    /// When there is none.
    pub fn set(&self, variable: &str, value: &str) -> Result<(), String> {
        let path = Path::new("/proc/sys/net").join(variable);
        let value = value.to_owned();
        let written = self.within(move || {
            std::fs::write(&path, value).map_err(|e| format!("{}: {e}", path.display()))
        });
        written.join().unwrap_or_else(|_| Err(format!("{variable}: a thread panicked")))
    }

    /// Does something on a thread of its own, within; threads that it starts will be in it too.
    ///
    /// # Panics
    /// The thread does, when the namespace is gone.
    pub fn within<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let path = Path::new("/run/netns").join(&self.name);
        spawn(move || {
            let file = File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            work()
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "delete", &self.name]) {
            eprintln!("a namespace stays behind: {error}");
        }
    }
}

fn ip(words: &[&str]) -> Result<(), String> {
    let said = |why: String| format!("ip {}: {why}", words.join(" "));
    let output =
        Command::new("ip").args(words).output().map_err(|error| said(error.to_string()))?;
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(said(why)) }
}
