//! An agent between two networks. Servers are at the inside, and programs are attached before their
//! sockets. Without an agent both networks are joined directly.

use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use cora_traffic::namespace::Namespace;
use serde_json::Value;

use crate::Result;
use crate::program::{Service, run_well};

/// The address of servers.
pub const SERVERS: &str = "10.78.0.1";
/// That of clients.
pub const CLIENTS: &str = "10.78.0.2";
/// Upper bound on the time until a process is up, or has ended.
const SOON: Duration = Duration::from_secs(20);

/// Both networks, and the agent between them.
#[derive(Debug)]
pub struct SharedNic {
    /// The agent, unless both are joined directly.
    agent: Option<Service>,
    /// `cargo cora`.
    cora: PathBuf,
    /// Where servers are.
    pub inside: Namespace,
    /// Where their clients are.
    pub outside: Namespace,
    /// The agent's socket.
    pub socket: PathBuf,
}

impl SharedNic {
    /// Starts an agent with these words between two TAP interfaces; its socket is in this
    /// directory.
    ///
    /// # Errors
    /// A facility that this machine lacks, or the agent's words.
    pub fn start(cora: &Path, directory: &Path, label: &str, words: &[&str]) -> Result<Self> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("no /dev/net/tun".into());
        }
        let (inside, outside) = networks(label)?;
        let taps = ["i", "o"].map(|end| format!("a{end}{label}{}", std::process::id()));
        let socket = directory.join(format!("{label}.sock"));
        let live = format!("inside=tap:{},outside=tap:{}", taps[0], taps[1]);
        let behind = format!("/run/netns/{}", inside.name());
        let mut command = Command::new(cora);
        command.args(["cora", "agent"]).arg(&socket);
        command.args(["--json", "--live", &live, "--behind", &behind]).args(words);
        command.arg("--log-to").arg(socket.with_extension("log"));
        let mut agent = Service::start(&mut command)?;
        let exists = |tap: &String| Path::new("/sys/class/net").join(tap).exists();
        if !within(SOON, || (taps.iter().all(exists) && socket.exists()) || agent.has_ended())
            || agent.has_ended()
        {
            return Err(agent.last_words());
        }
        for (namespace, tap, address) in
            [(&inside, &taps[0], SERVERS), (&outside, &taps[1], CLIENTS)]
        {
            namespace.take(tap)?;
            address_at(namespace, tap, address)?;
        }
        Ok(Self { agent: Some(agent), cora: cora.to_owned(), inside, outside, socket })
    }

    /// Joins both networks directly.
    ///
    /// # Errors
    /// A facility that this machine lacks.
    pub fn without(label: &str) -> Result<Self> {
        let (inside, outside) = networks(label)?;
        inside.join("wire", &outside, "wire")?;
        address_at(&inside, "wire", SERVERS)?;
        address_at(&outside, "wire", CLIENTS)?;
        let (cora, socket) = (PathBuf::new(), PathBuf::new());
        Ok(Self { agent: None, cora, inside, outside, socket })
    }

    /// The command that attaches this program before the sockets at these addresses.
    #[must_use]
    pub fn attaches(&self, program: &Path, at: &[&str]) -> Command {
        let mut command = self.inside.command(&program.display().to_string());
        command.args(["run", "--json", "--agent"]).arg(&self.socket);
        command.args(["--serves", &at.join(",")]);
        command
    }

    /// A path for a control socket beside the agent's.
    #[must_use]
    pub fn control(&self) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.socket.with_extension(format!("{number}.sock"))
    }

    /// The counts of the agent.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn tenants(&self) -> Result<Value> {
        let mut command = Command::new(&self.cora);
        command.args(["cora", "tenants"]).arg(&self.socket).arg("--json");
        let told = run_well(&mut command, SOON)?;
        serde_json::from_str(&told).map_err(|error| format!("{told}: {error}"))
    }

    /// The agent's counts of the tenant at this address, if there is one.
    ///
    /// # Errors
    /// As for [`tenants`](Self::tenants).
    pub fn tenant(&self, at: &str) -> Result<Option<Value>> {
        let all = self.tenants()?;
        let tenants = all["tenants"].as_array().into_iter().flatten();
        Ok(tenants.into_iter().find(|tenant| tenant["at"][0] == at).cloned())
    }

    /// Waits until packets for this many addresses go to tenants.
    ///
    /// # Errors
    /// If they don't in time, with the agent's counts.
    pub fn wait_for(&self, tenants: usize) -> Result<()> {
        let mut counts = Value::Null;
        let work = |counts: &Value| {
            let all = counts["tenants"].as_array().into_iter().flatten();
            all.filter(|tenant| tenant["stage"] == "works").count() == tenants
        };
        let works = within(SOON + Duration::from_millis(tenants as u64 * 200), || {
            counts = self.tenants().unwrap_or_default();
            work(&counts)
        });
        if works { Ok(()) } else { Err(format!("{tenants} tenants do not begin: {counts:#}")) }
    }

    /// The log of the agent so far.
    #[must_use]
    pub fn log(&self) -> String {
        // Without an agent there is none.
        std::fs::read_to_string(self.socket.with_extension("log")).unwrap_or_default()
    }

    /// The agent's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.agent.as_ref().map_or(0, Service::id)
    }

    /// Ends the agent; returns its counts.
    ///
    /// # Errors
    /// If it does not end well.
    pub fn end(self) -> Result<Value> {
        let Some(agent) = self.agent else { return Ok(Value::Null) };
        let output = agent.interrupt_well("the agent", SOON)?;
        Ok(serde_json::from_str(&output.text()).unwrap_or_default())
    }
}

fn networks(label: &str) -> Result<(Namespace, Namespace)> {
    let create = |end: &str| Namespace::create(&format!("{label}-{end}"));
    let (inside, outside) = (create("in")?, create("out")?);
    for namespace in [&inside, &outside] {
        namespace.ip("link set lo up")?;
    }
    Ok((inside, outside))
}

fn address_at(namespace: &Namespace, interface: &str, address: &str) -> Result<()> {
    namespace.ip(&format!("link set {interface} up"))?;
    Ok(namespace.ip(&format!("address add {address}/24 dev {interface}"))?)
}

/// Whether it is done within this time.
pub(super) fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        sleep(Duration::from_millis(10));
    }
}

/// A server of UDP in a thread of its own.
#[derive(Debug)]
pub struct Server {
    thread: Option<JoinHandle<()>>,
    ends: Arc<AtomicBool>,
}

impl Server {
    /// Binds this address in a namespace, and answers there what `answer` makes of a datagram.
    ///
    /// # Errors
    /// If the address can't be bound.
    pub fn start(
        there: &Namespace,
        address: &str,
        mut answer: impl FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| format!("{address}: {error}");
        let at: SocketAddr = address.parse().map_err(|error| failed(&error))?;
        let socket = there.visit(|| UdpSocket::bind(at))?.map_err(|error| failed(&error))?;
        let wakes = socket.set_read_timeout(Some(Duration::from_millis(20)));
        wakes.map_err(|error| failed(&error))?;
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while !told.load(Ordering::Relaxed) {
                let Ok((length, client)) = socket.recv_from(&mut bytes) else { continue };
                if let Some(said) = answer(bytes.get(..length).unwrap_or_default()) {
                    // A client that is gone gets no answer.
                    let _sent = socket.send_to(&said, client);
                }
            }
        });
        Ok(Self { thread: Some(thread), ends })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// A client of UDP in a namespace, which waits a second for an answer.
///
/// # Errors
/// If it has no address there.
pub fn client(there: &Namespace, server: &str) -> Result<UdpSocket> {
    let connect = || {
        let socket = UdpSocket::bind((CLIENTS, 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok::<_, std::io::Error>(socket)
    };
    there.visit(connect)?.map_err(|error| format!("{server}: {error}"))
}
