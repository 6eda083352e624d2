//! A program on a card with ports of its own, between a client and a server.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::agent::Agent;
use crate::control;
use crate::conversations::Conversations;
use crate::machines::Machines;
use crate::namespace::Namespace;
use crate::process::{Running, send, start};
use crate::workshop::room;

/// How long a connection may stand still. TCP doubles its waits while a link is cut.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// Upper bound on the end of a run.
const LIMIT: Duration = Duration::from_mins(1);
/// Upper bound on the time until a connection is open.
const SOON: Duration = Duration::from_secs(10);
/// A live run ends by itself then, even if the test that started it does not.
const AT_MOST: &str = "600";

/// The addresses of client and server: the program answers no ARP.
const INSIDE: &str = "02:00:00:00:02:01";
const OUTSIDE: &str = "02:00:00:00:02:02";
/// The public address of a NAT.
const PUBLIC: &str = "192.0.2.1";
/// Where the server listens.
const SERVER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1)), 7);

/// Such a site.
#[derive(Debug)]
pub struct CardSite {
    /// The agent on the card.
    pub agent: Agent,
    running: Running,
    /// The namespace of the client.
    pub inside: Namespace,
    outside: Namespace,
    /// Host and card.
    pub machines: Machines,
    host: PathBuf,
    socket: PathBuf,
}

impl CardSite {
    /// Builds the site, with these programs at the host and on the card.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build(label: &str, [host, card]: [&Path; 2], words: &[&str]) -> Result<Self, String> {
        let machines = Machines::build(label)?;
        let [inside, outside] =
            ["in", "out"].map(|end| Namespace::create(&format!("{label}-{end}")));
        let (inside, outside) = (inside?, outside?);
        for (network, port, address) in [(&inside, "in0", INSIDE), (&outside, "out0", OUTSIDE)] {
            network.join("e0", &machines.card, port)?;
            network.send_plain_frames("e0")?;
            network.ip(&format!("link set dev e0 address {address} up"))?;
            machines.card.ip(&format!("link set dev {port} up"))?;
        }
        inside.ip("address add 10.77.0.1/24 dev e0")?;
        inside.ip("route add default dev e0")?;
        inside.ip(&format!("neighbour add 203.0.113.1 lladdr {OUTSIDE} dev e0"))?;
        outside.ip("address add 203.0.113.1/32 dev e0")?;
        for (route, host) in [(PUBLIC, PUBLIC), ("10.77.0.0/24", "10.77.0.1")] {
            outside.ip(&format!("route add {route} dev e0"))?;
            outside.ip(&format!("neighbour add {host} lladdr {INSIDE} dev e0"))?;
        }
        let room = room(&format!("card-site-{label}"));
        let ports = ["--live", "inside=packet:in0,outside=packet:out0"];
        let agent = Agent::start(&machines, card, &ports, &room);
        let socket = room.join("control");
        let running = run(&machines, host, &socket, words);
        let host = host.to_owned();
        Ok(Self { agent, running, inside, outside, machines, host, socket })
    }

    /// Opens connections from client to server.
    pub fn converse(&self, connections: usize) -> Conversations {
        let Self { inside, outside, .. } = self;
        Conversations::open_patient(inside, outside, SERVER, connections, PATIENCE)
    }

    /// Opens a further connection, and closes it.
    ///
    /// # Errors
    /// If it does not open in time.
    pub fn connect(&self, within: Duration) -> Result<(), String> {
        let connect = move || TcpStream::connect_timeout(&SERVER, within);
        let opened = self.inside.within(connect).join();
        let opened = opened.map_err(|_| "the client panicked".to_owned())?;
        opened.map(drop).map_err(|error| error.to_string())
    }

    /// The same, soon.
    ///
    /// # Errors
    /// If it does not open.
    pub fn connect_soon(&self) -> Result<(), String> {
        self.connect(SOON)
    }

    /// Returns the process id of the supervisor.
    pub fn pid(&self) -> u32 {
        self.running.id()
    }

    /// Returns the path of the run's control socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Asks the run, if it listens.
    pub fn ask(&self, request: &str) -> Option<Value> {
        control::ask(&self.socket, request)
    }

    /// Returns what the run has said so far.
    pub fn log(&self) -> String {
        self.running.log()
    }

    /// Ends the run as an operator does, and returns its report and its log.
    pub fn end(mut self) -> (Value, String) {
        self.end_run()
    }

    /// The same, and starts another run, while the agent stays. `meanwhile` runs in between.
    pub fn run_again(&mut self, meanwhile: impl FnOnce(&Self)) -> (Value, String) {
        let ended = self.end_run();
        meanwhile(self);
        self.running = run(&self.machines, &self.host, &self.socket, &[]);
        ended
    }

    fn end_run(&mut self) -> (Value, String) {
        assert!(self.agent.is_there(), "{}", self.agent.log());
        send(self.running.id(), Signal::INT);
        let ended = self.running.wait(LIMIT);
        assert_eq!(ended.code, Some(0), "{}\nThe card: {}", ended.stderr, self.agent.log());
        (ended.json(), ended.stderr)
    }
}

impl Drop for CardSite {
    fn drop(&mut self) {
        // The run of a test that failed would go on without its card.
        self.running.kill();
    }
}

/// Starts a run at the host with the ports of the card.
fn run(machines: &Machines, host: &Path, socket: &Path, words: &[&str]) -> Running {
    let mut command = machines.run(host, &["--live", "card", "--seconds", AT_MOST]);
    start(command.arg("--control").arg(socket).args(words))
}
