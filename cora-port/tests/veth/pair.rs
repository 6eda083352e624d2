//! Two network namespaces with a veth between them. Gone when dropped.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::thread::spawn;

use cora_port::{Port, PortError, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Both namespaces: interface `a` is in the first, `b` in the second.
#[derive(Debug)]
pub(crate) struct Pair {
    names: [String; 2],
}

impl Pair {
    /// Nothing, and a line that says why, where the machine gives none.
    pub(crate) fn new(label: &str) -> Option<Self> {
        let name = |end| format!("cora-port-{}-{label}-{end}", std::process::id());
        let pair = Self { names: [name("a"), name("b")] };
        if let Err(why) = ip(&format!("netns add {}", pair.names[0])) {
            // Past what a test's harness holds back.
            let _told = writeln!(std::io::stderr(), "SKIPPED {label}: {why}");
            return None;
        }
        pair.build().expect("whoever makes a namespace may do the rest");
        Some(pair)
    }

    fn build(&self) -> Result<(), String> {
        let [a, b] = &self.names;
        ip(&format!("netns add {b}"))?;
        for name in [a, b] {
            // Nobody else is to talk here.
            ip(&format!("netns exec {name} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"))?;
        }
        ip(&format!("-n {a} link add name a type veth peer name b netns {b}"))?;
        self.ip(0, "link set dev a up")?;
        self.ip(1, "link set dev b up")
    }

    /// Runs `ip` in one of them.
    pub(crate) fn ip(&self, end: usize, words: &str) -> Result<(), String> {
        ip(&format!("-n {} {words}", self.names[end]))
    }

    /// Opens a port in one of them.
    pub(crate) fn open(&self, end: usize, name: &str) -> Result<Box<dyn Port>, PortError> {
        let name = name.parse().expect("a name of a port");
        self.within(end, move || open(&name))
    }

    /// Does something in one of them, on a thread of its own.
    pub(crate) fn within<T: Send + 'static>(
        &self,
        end: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let file = File::open(format!("/run/netns/{}", self.names[end])).expect("it is there");
        let thread = spawn(move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(file.as_fd(), network).expect("root may go there");
            work()
        });
        thread.join().expect("it ends in good order")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            // One that was never made is not there.
            let _gone = ip(&format!("netns delete {name}"));
        }
    }
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|error| format!("ip {words}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
