//! An agent between two networks, as the lab has it, and programs that are attached there.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};

use cora_lab::program::{Output, Service};
pub use cora_lab::sockets::shared_nic::{Server, SharedNic};
use serde_json::Value;

use crate::control;
use crate::namespace::Namespace;
use crate::process::wait_until;
use crate::site::SOON;
use crate::workshop::{cargo_cora, room};

/// The result of a helper of the lab.
fn well<T>(done: Result<T, String>) -> T {
    done.unwrap_or_else(|why| panic!("{why}"))
}

/// Starts an agent with these words.
///
/// # Errors
/// A facility that this machine lacks.
pub fn shared_nic(label: &str, words: &[&str]) -> Result<SharedNic, String> {
    SharedNic::start(cargo_cora(), &room(&format!("shared-{label}")), label, words)
}

/// The agent's counts of the tenant at this address, if there is one.
pub fn tenant(nic: &SharedNic, at: &str) -> Option<Value> {
    well(nic.tenant(at))
}

/// Waits until packets for this address go to a tenant.
pub fn wait_for(nic: &SharedNic, at: &str) {
    let works = || tenant(nic, at).is_some_and(|tenant| tenant["stage"] == "works");
    assert!(wait_until(SOON, works), "{at}: {:#}\n{}", well(nic.tenants()), nic.log());
}

/// Ends the agent; returns its counts and its log.
pub fn end(nic: SharedNic) -> (Value, String) {
    let log = nic.log();
    (well(nic.end()), log)
}

/// A server that answers each datagram with `server:` in front.
pub fn plain_server(there: &Namespace, address: &str) -> Server {
    well(Server::start(there, address, |said| Some([b"server:", said].concat())))
}

/// A client of UDP in a namespace.
pub fn client(there: &Namespace, server: &str) -> UdpSocket {
    well(cora_lab::sockets::shared_nic::client(there, server))
}

/// A program that is attached, and its control socket. Dropped, it is killed.
#[derive(Debug)]
pub struct Attached {
    run: Service,
    control: PathBuf,
}

impl Attached {
    /// Attaches this program before the sockets at these addresses.
    pub fn before(nic: &SharedNic, program: &Path, at: &[&str], words: &[&str]) -> Self {
        let control = nic.control();
        let mut command = nic.attaches(program, at);
        command.arg("--control").arg(&control).args(words);
        Self { run: well(Service::start(&mut command)), control }
    }

    /// The process of its supervisor.
    pub fn id(&self) -> u32 {
        self.run.id()
    }

    /// The answer to a command at its control socket.
    pub fn ask(&self, command: &str) -> Value {
        control::ask(&self.control, command).unwrap_or_else(|| panic!("no answer: {command}"))
    }

    /// Ends it as an operator does; returns its report and its log.
    pub fn end(self) -> (Value, String) {
        let output = well(self.run.interrupt_well("an attached run", 2 * SOON));
        (report(&output), output.stderr)
    }

    /// The same with any exit code.
    pub fn end_anyhow(self) -> (Value, String) {
        let output = well(self.run.interrupt(2 * SOON));
        (report(&output), output.stderr)
    }

    /// Waits until it ends by itself.
    pub fn ends(self) -> Output {
        well(self.run.end(2 * SOON))
    }
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&output.text()).unwrap_or_default()
}
