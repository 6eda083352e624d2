//! Two network namespaces with a veth between them, removed when dropped.

use std::io::Write as _;

use cora_port::{Port, PortError, open};
use cora_traffic::TrafficError;
use cora_traffic::namespace::Namespace;

/// Both namespaces: interface `a` is in the first, `b` in the second.
#[derive(Debug)]
pub(crate) struct Pair([Namespace; 2]);

impl Pair {
    /// Makes a pair. If the machine allows none, prints a line with the reason.
    pub(crate) fn new(label: &str) -> Option<Self> {
        Self::with_queues(label, 1)
    }

    /// Makes a pair with so many queues in each direction.
    pub(crate) fn with_queues(label: &str, queues: usize) -> Option<Self> {
        let a = match Namespace::create(&format!("port-{label}-a")) {
            Ok(a) => a,
            Err(why) => {
                // Written directly, because the test harness would hold back `eprintln!`.
                let _told = writeln!(std::io::stderr(), "SKIPPED {label}: {why}");
                return None;
            }
        };
        Some(Self::build(label, a, queues).expect("whoever makes a namespace may do the rest"))
    }

    fn build(label: &str, a: Namespace, queues: usize) -> Result<Self, TrafficError> {
        let pair = Self([a, Namespace::create(&format!("port-{label}-b"))?]);
        let [a, b] = &pair.0;
        for space in [a, b] {
            // IPv6 would send frames of its own.
            space.set("ipv6/conf/default/disable_ipv6", "1")?;
        }
        let each = format!("numrxqueues {queues} numtxqueues {queues}");
        a.ip(&format!("link add name a {each} type veth peer name b {each} netns {}", b.name()))?;
        a.ip("link set dev a up")?;
        b.ip("link set dev b up")?;
        Ok(pair)
    }

    /// Runs `ip` in one namespace.
    pub(crate) fn ip(&self, end: usize, words: &str) -> Result<(), TrafficError> {
        self.0[end].ip(words)
    }

    /// Opens a port in one namespace.
    pub(crate) fn open(&self, end: usize, name: &str) -> Result<Box<dyn Port>, PortError> {
        let name = name.parse().expect("a name of a port");
        self.within(end, move || open(&name))
    }

    /// Runs `work` in one namespace, on its own thread.
    pub(crate) fn within<T: Send + 'static>(
        &self,
        end: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        self.0[end].within(work).join().expect("it ends in good order")
    }
}
