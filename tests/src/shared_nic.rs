//! An agent between two networks. Servers are at the inside, and programs are attached before their
//! sockets.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::control;
use crate::namespace::Namespace;
use crate::process::{self, Ended, Running, start, wait_until};
use crate::site::SOON;
use crate::workshop::{cora, room};

/// The address of servers, and that of their clients.
pub const SERVERS: &str = "10.78.0.1";
/// That of clients.
pub const CLIENTS: &str = "10.78.0.2";

/// The agent, its ports, and the networks behind them.
#[derive(Debug)]
pub struct SharedNic {
    agent: Running,
    /// Where servers are.
    pub inside: Namespace,
    /// Where their clients are.
    pub outside: Namespace,
    /// The agent's socket.
    pub socket: PathBuf,
}

impl SharedNic {
    /// Starts an agent with these words between two TAP interfaces.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn build(label: &str, words: &[&str]) -> Result<Self, String> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("no /dev/net/tun".into());
        }
        let inside = Namespace::create(&format!("{label}-in"))?;
        let outside = Namespace::create(&format!("{label}-out"))?;
        let taps = ["i", "o"].map(|end| format!("a{end}{label}{}", std::process::id()));
        let socket = room(&format!("shared-{label}")).join("agent.sock");
        let live = format!("inside=tap:{},outside=tap:{}", taps[0], taps[1]);
        let behind = format!("/run/netns/{}", inside.name());
        let mut command = cora();
        command.arg("agent").arg(&socket).args(["--json", "--live", &live, "--behind", &behind]);
        let agent = start(command.args(words));
        let exists = |tap: &String| Path::new("/sys/class/net").join(tap).exists();
        let are_there = || taps.iter().all(exists) && socket.exists();
        if !wait_until(SOON, are_there) {
            return Err(agent.log());
        }
        let ends = [(&inside, &taps[0], SERVERS), (&outside, &taps[1], CLIENTS)];
        for (namespace, tap, address) in ends {
            namespace.take(tap)?;
            namespace.ip("link set lo up")?;
            namespace.ip(&format!("link set {tap} up"))?;
            namespace.ip(&format!("address add {address}/24 dev {tap}"))?;
        }
        Ok(Self { agent, inside, outside, socket })
    }

    /// Attaches this program before the sockets at these addresses.
    pub fn attach(&self, program: &Path, at: &[&str], words: &[&str]) -> Attached {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let control = self.socket.with_file_name(format!("{number}.sock"));
        let mut command = self.inside.command(&program.display().to_string());
        command.args(["run", "--json", "--agent"]).arg(&self.socket);
        command.args(["--serves", &at.join(",")]).arg("--control").arg(&control);
        Attached { run: start(command.args(words)), control }
    }

    /// The agent's process.
    pub fn id(&self) -> u32 {
        self.agent.id()
    }

    /// The counts of the agent.
    pub fn tenants(&self) -> Value {
        let mut command = cora();
        command.arg("tenants").arg(&self.socket).arg("--json");
        process::run(&mut command, SOON).well("tenants").json()
    }

    /// The agent's counts of the tenant at this address, if there is one.
    pub fn tenant(&self, at: &str) -> Option<Value> {
        let all = self.tenants();
        let tenants = all["tenants"].as_array().into_iter().flatten();
        tenants.into_iter().find(|tenant| tenant["at"][0] == at).cloned()
    }

    /// Waits until packets for this address go to a tenant.
    pub fn wait_for(&self, at: &str) {
        let works = || self.tenant(at).is_some_and(|tenant| tenant["stage"] == "works");
        assert!(wait_until(SOON, works), "{at}: {:#}\n{}", self.tenants(), self.agent.log());
    }

    /// The log of the agent so far.
    pub fn log(&self) -> String {
        self.agent.log()
    }

    /// Ends the agent; returns its counts and its log.
    pub fn end(self) -> (Value, String) {
        process::send(self.agent.id(), rustix::process::Signal::INT);
        let ended = self.agent.end(SOON).well("the agent");
        (ended.json(), ended.stderr)
    }
}

/// A program that is attached, and its control socket.
#[derive(Debug)]
pub struct Attached {
    run: Running,
    control: PathBuf,
}

impl Attached {
    /// The process of its supervisor.
    pub fn id(&self) -> u32 {
        self.run.id()
    }

    /// The answer to a command at its control socket.
    pub fn ask(&self, command: &str) -> Value {
        control::ask(&self.control, command).unwrap_or_else(|| panic!("no answer: {command}"))
    }

    /// Ends it as an operator does; returns its report.
    pub fn end(self) -> (Value, String) {
        process::send(self.run.id(), rustix::process::Signal::INT);
        let ended = self.run.end(2 * SOON).well("an attached run");
        (ended.json(), ended.stderr)
    }

    /// The same, whatever its exit code is.
    pub fn end_anyhow(self) -> (Value, String) {
        process::send(self.run.id(), rustix::process::Signal::INT);
        let ended = self.run.end(2 * SOON);
        (serde_json::from_str(&ended.stdout).unwrap_or_default(), ended.stderr)
    }

    /// Waits until it ends by itself.
    pub fn ends(self) -> Ended {
        self.run.end(2 * SOON)
    }

    /// Kills its supervisor.
    pub fn kill(mut self) {
        self.run.kill();
    }
}

/// A server of UDP: it answers each datagram with `server:` in front.
#[derive(Debug)]
pub struct PlainServer {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl PlainServer {
    /// Binds this address in a namespace, and serves there.
    pub fn start(there: &Namespace, address: &str) -> Self {
        let address: SocketAddr = address.parse().unwrap_or_else(|_| panic!("{address}"));
        let socket = there.visit(|| UdpSocket::bind(address));
        let socket = socket.ok().and_then(Result::ok).unwrap_or_else(|| panic!("{address}"));
        let wakes = socket.set_read_timeout(Some(Duration::from_millis(20)));
        assert!(wakes.is_ok(), "{wakes:?}");
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while !told.load(Ordering::Relaxed) {
                let Ok((length, client)) = socket.recv_from(&mut bytes) else { continue };
                let answer = [b"server:", &bytes[..length]].concat();
                // A client that is gone gets no answer.
                let _sent = socket.send_to(&answer, client);
            }
        });
        Self { thread: Some(thread), ends }
    }
}

impl Drop for PlainServer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// A client of UDP in a namespace.
pub fn client(there: &Namespace, server: &str) -> UdpSocket {
    let connect = || {
        let socket = UdpSocket::bind((CLIENTS, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok::<_, std::io::Error>(socket)
    };
    let socket = there.visit(connect).unwrap_or_else(|error| panic!("{error}"));
    socket.unwrap_or_else(|error| panic!("{server}: {error}"))
}
