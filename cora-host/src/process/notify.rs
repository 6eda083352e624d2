//! Tells a service manager how a live run stands, by the protocol of `sd_notify(3)`: datagrams of
//! lines `NAME=VALUE` to the socket that `NOTIFY_SOCKET` names.
//!
//! | sent | when |
//! | --- | --- |
//! | `READY=1` | all halves work for the first time; a requested configuration came to its end |
//! | `STATUS=…` | whenever the sentence changes |
//! | `RELOADING=1` | files of the configuration are read again |
//! | `STOPPING=1` | the run begins to end |
//! | `WATCHDOG=1` | twice in each `WATCHDOG_USEC` |
//!
//! No packet waits for the manager. Datagrams that find its queue full are sent later, in order;
//! after any other failure they are dropped. An upgrade keeps process and environment, so the next
//! program goes on with the same socket.
//!
//! The watchdog is told by the loop that moves packets. A half that hangs is the supervisor's
//! business, which starts it again or ends the run at its limits; so while this loop turns, all
//! halves work or are within those limits. A loop that hangs tells nothing.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Maximum number of datagrams that wait for room in the manager's queue.
const MOST_WAITING: usize = 32;
/// Maximum length of a sentence in bytes: an error may quote a whole file.
const MOST_BYTES: usize = 512;

/// The state of a run's halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// All halves are at work, as `status` tells it.
    pub(crate) works: bool,
    /// No NIC half is away or stands still.
    pub(crate) nic: bool,
    /// The same of the host halves.
    pub(crate) host: bool,
}

impl Standing {
    const BEGINS: Self = Self { works: false, nic: false, host: false };
}

/// The service manager of a live run, if it has one.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// Half of the watchdog's time, and when it is told next.
    watchdog: Option<(Duration, Instant)>,
    waiting: VecDeque<String>,
    standing: Option<Standing>,
    is_ready: bool,
    reloads: bool,
    stops: bool,
}

impl Manager {
    /// The manager that the environment names.
    pub(crate) fn of_environment() -> Self {
        let variable = |name: &str| std::env::var_os(name);
        let socket = variable("NOTIFY_SOCKET").and_then(|name| address(&name));
        let (time, process) = (variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"));
        let watchdog = interval(time.as_deref(), process.as_deref(), std::process::id());
        Self::at(socket, watchdog)
    }

    fn at(address: Option<SocketAddr>, watchdog: Option<Duration>) -> Self {
        let socket = address.and_then(|address| {
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        let watchdog = watchdog.filter(|_| socket.is_some()).map(|every| (every, Instant::now()));
        Self { socket, watchdog, ..Self::default() }
    }

    /// Tells how the halves stand under this version of read-mostly states, if that is news,
    /// and that this loop turns. To be called often.
    pub(crate) fn look(&mut self, standing: Standing, version: u32) {
        if self.socket.is_none() {
            return;
        }
        // Before all halves worked once, it is no news which of them does.
        let standing = if self.is_ready || standing.works { standing } else { Standing::BEGINS };
        if self.standing != Some(standing) && !self.stops {
            self.stands(standing, version);
        }
        let now = Instant::now();
        if let Some((every, next)) = &mut self.watchdog
            && now >= *next
        {
            *next = now + *every;
            self.tell("WATCHDOG=1".to_owned());
        }
        self.send();
    }

    fn stands(&mut self, standing: Standing, version: u32) {
        let sentence = match standing {
            Standing { works: true, .. } => {
                format!("all halves work, version {version} is in force")
            }
            _ if !self.is_ready => "the halves begin".to_owned(),
            Standing { nic: false, host: false, .. } => {
                "neither half works at the moment".to_owned()
            }
            Standing { nic: false, .. } => "the NIC half does not work at the moment".to_owned(),
            Standing { host: false, .. } => "the host half does not work at the moment".to_owned(),
            // They are back, and have not found each other yet.
            _ => return,
        };
        self.standing = Some(standing);
        let is_first = standing.works && !self.is_ready;
        self.is_ready |= standing.works;
        // While files are read, their end tells that the run is ready.
        self.status(if is_first { "READY=1\n" } else { "" }, &sentence);
    }

    /// Tells that files of the configuration are read again.
    pub(crate) fn reloads(&mut self) {
        if self.socket.is_none() || !self.is_ready || self.reloads || self.stops {
            return;
        }
        self.reloads = true;
        let now = clock_gettime(ClockId::Monotonic);
        let micros = Duration::try_from(now).unwrap_or_default().as_micros();
        self.status(
            &format!("RELOADING=1\nMONOTONIC_USEC={micros}\n"),
            "the configuration is read again",
        );
    }

    /// Tells the outcome: the version in force, or the reason why it is still another.
    pub(crate) fn reloaded(&mut self, outcome: &Result<u32, String>) {
        if !std::mem::take(&mut self.reloads) || self.stops {
            return;
        }
        match outcome {
            Ok(version) => self.status("READY=1\n", &format!("version {version} is in force")),
            Err(why) => self.status("READY=1\n", why),
        }
    }

    /// Tells that another build takes this one's place: its halves end, and others begin.
    pub(crate) fn leaves(&mut self) {
        if !self.stops {
            self.stops = true;
            self.status("", "another build takes this one's place");
        }
    }

    /// Tells that the run ends.
    pub(crate) fn stops(&mut self) {
        if !self.stops {
            self.stops = true;
            self.status("STOPPING=1\n", "the run ends");
        }
    }

    fn status(&mut self, before: &str, sentence: &str) {
        // A line break would begin another assignment.
        let line: String = sentence.split(char::is_control).collect::<Vec<_>>().join(" ");
        let line = &line[..line.floor_char_boundary(MOST_BYTES)];
        self.tell(format!("{before}STATUS={line}"));
        self.send();
    }

    fn tell(&mut self, datagram: String) {
        if self.socket.is_some() && self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(datagram);
        }
    }

    /// Sends waiting datagrams, until the manager's queue is full.
    fn send(&mut self) {
        let Some((socket, address)) = &self.socket else { return };
        while let Some(datagram) = self.waiting.front() {
            match socket.send_to_addr(datagram.as_bytes(), address) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Without a manager there is nobody to tell, the log's readers neither.
                Ok(_) | Err(_) => drop(self.waiting.pop_front()),
            }
        }
    }
}

/// The socket of this name: a path, or with `@` in front a name without a file.
fn address(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes() {
        [b'@', rest @ ..] if !rest.is_empty() => SocketAddr::from_abstract_name(rest).ok(),
        [b'/', ..] => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

/// Half of the time after which the watchdog of this process strikes; `None` if it has none.
fn interval(time: Option<&OsStr>, process: Option<&OsStr>, own: u32) -> Option<Duration> {
    let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
    if process.is_some_and(|process| number(process) != Some(own.into())) {
        return None;
    }
    let micros = number(time?).filter(|micros| *micros > 0)?;
    Some(Duration::from_micros(micros) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKS: Standing = Standing { works: true, nic: true, host: true };
    const NO_NIC: Standing = Standing { works: false, nic: false, host: true };
    const NO_HOST: Standing = Standing { works: false, nic: true, host: false };
    const BEGINS: Standing = Standing::BEGINS;

    /// A manager's socket, under a name without a file.
    fn listener() -> (UnixDatagram, SocketAddr) {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("@cora-notify-{}-{number}", std::process::id());
        let address = address(OsStr::new(&name)).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("nobody else has it");
        socket.set_nonblocking(true).expect("a socket");
        (socket, address)
    }

    fn heard(socket: &UnixDatagram) -> Vec<String> {
        let mut bytes = [0; 2048];
        let mut next = || socket.recv(&mut bytes).map(|length| bytes[..length].to_vec()).ok();
        std::iter::from_fn(&mut next).map(|it| String::from_utf8(it).expect("text")).collect()
    }

    #[test]
    fn a_run_tells_what_its_halves_do_and_repeats_nothing() {
        let (socket, address) = listener();
        let mut manager = Manager::at(Some(address), None);
        let back = Standing { works: false, ..WORKS };
        for standing in
            [BEGINS, BEGINS, NO_HOST, WORKS, WORKS, NO_NIC, NO_NIC, back, WORKS, NO_HOST, BEGINS]
        {
            manager.look(standing, 3);
        }
        manager.stops();
        manager.look(WORKS, 3);
        manager.stops();
        let works = "STATUS=all halves work, version 3 is in force";
        let wanted = [
            "STATUS=the halves begin",
            &format!("READY=1\n{works}"),
            "STATUS=the NIC half does not work at the moment",
            works,
            "STATUS=the host half does not work at the moment",
            "STATUS=neither half works at the moment",
            "STOPPING=1\nSTATUS=the run ends",
        ];
        assert_eq!(heard(&socket), wanted);
    }

    #[test]
    fn a_configuration_is_told_from_its_begin_to_its_end_and_only_of_a_ready_run() {
        let (socket, address) = listener();
        let mut manager = Manager::at(Some(address), None);
        manager.reloads();
        manager.reloaded(&Ok(1));
        assert_eq!(heard(&socket), [""; 0], "READY=1 would be untrue");
        manager.look(WORKS, 1);
        drop(heard(&socket));
        manager.reloads();
        manager.reloads();
        manager.reloaded(&Err("line 3:\nREADY=0".to_owned()));
        manager.reloaded(&Ok(7));
        let heard = heard(&socket);
        let [begin, end] = &heard[..] else { panic!("{heard:?}") };
        let lines: Vec<&str> = begin.lines().collect();
        assert_eq!(lines[0], "RELOADING=1");
        let micros = lines[1].strip_prefix("MONOTONIC_USEC=").map(str::parse::<u64>);
        assert!(matches!(micros, Some(Ok(1..))), "{begin}");
        assert_eq!(end, "READY=1\nSTATUS=line 3: READY=0");
    }

    #[test]
    fn an_upgrade_is_no_end() {
        let (socket, address) = listener();
        let mut manager = Manager::at(Some(address), None);
        manager.look(WORKS, 1);
        manager.leaves();
        manager.look(BEGINS, 1);
        let heard = heard(&socket);
        assert_eq!(
            heard.last().map(String::as_str),
            Some("STATUS=another build takes this one's place")
        );
        assert!(heard.iter().all(|it| !it.contains("STOPPING")), "{heard:?}");
    }

    #[test]
    fn the_watchdog_is_told_twice_in_its_time() {
        let (socket, address) = listener();
        let every = Duration::from_millis(40);
        let mut manager = Manager::at(Some(address), Some(every));
        let begun = Instant::now();
        while begun.elapsed() < 5 * every {
            manager.look(WORKS, 1);
            std::thread::sleep(Duration::from_millis(1));
        }
        let beats = heard(&socket).iter().filter(|it| *it == "WATCHDOG=1").count();
        let most = (begun.elapsed().as_millis() / every.as_millis()) as usize + 1;
        assert!((2..=most).contains(&beats), "{beats} of {most}");
    }

    #[test]
    fn a_full_queue_is_told_later_and_a_dead_manager_never() {
        let (socket, address) = listener();
        // Full of what others have said.
        let other = UnixDatagram::unbound().expect("a socket");
        other.set_nonblocking(true).expect("a socket");
        while other.send_to_addr(b"X=1", &address).is_ok() {}
        let mut manager = Manager::at(Some(address), None);
        manager.look(WORKS, 1);
        assert_eq!(manager.waiting.len(), 1);
        let others = heard(&socket);
        assert!(others.iter().all(|it| it == "X=1"));
        manager.look(WORKS, 1);
        assert!(heard(&socket)[0].starts_with("READY=1\n"));
        for standing in [NO_NIC, WORKS].iter().cycle().take(1000) {
            manager.look(*standing, 1);
        }
        assert_eq!(manager.waiting.len(), MOST_WAITING, "the rest is dropped");
        drop(socket);
        manager.look(NO_NIC, 1);
        assert!(manager.waiting.is_empty());
    }

    #[test]
    fn the_environment_names_a_socket_and_a_time() {
        let text = |text: &'static str| Some(OsStr::new(text));
        let address_of = |name: &str| address(OsStr::new(name));
        let path = address_of("/run/notify").expect("a path");
        assert_eq!(path.as_pathname(), Some(std::path::Path::new("/run/notify")));
        let name = address_of("@x/y").expect("a name");
        assert_eq!(name.as_abstract_name(), Some(&b"x/y"[..]));
        for wrong in ["", "@", "notify", "vsock:2:1", &"/x".repeat(100)] {
            assert!(address_of(wrong).is_none(), "{wrong}");
        }
        assert_eq!(interval(text("3000000"), None, 7), Some(Duration::from_millis(1500)));
        assert_eq!(interval(text("2"), text("7"), 7), Some(Duration::from_micros(1)));
        for (time, process) in [
            (None, None),
            (text("0"), None),
            (text("-1"), None),
            (text("9"), text("8")),
            (text("9"), text("x")),
        ] {
            assert_eq!(interval(time, process, 7), None, "{time:?} {process:?}");
        }
        let mut nobody = Manager::at(None, Some(Duration::ZERO));
        nobody.look(WORKS, 1);
        nobody.reloads();
        nobody.stops();
        assert!(nobody.waiting.is_empty());
    }
}
