//! A control socket, for other processes to query a live run and to send it orders.
//!
//! It is a file in the file system, accessible only to its owner. A request is a line of JSON, and
//! so is the answer; then the connection ends:
//!
//! | request | answer |
//! | --- | --- |
//! | `{"command":"status"}` | the program, its versions, whether both halves work |
//! | `{"command":"outcomes"}` | packets by outcome, and those without one so far |
//! | `{"command":"tables"}` | fill level and losses of each table |
//! | `{"command":"snapshot"}` | all of it, with the counts of sides and ports |
//! | `{"command":"values"}` | values of states without keys |
//! | `{"command":"flows","filter":{…}}` | entries, and where a listing goes on |
//! | `{"command":"delete","filter":{…}}` | how many entries were removed |
//! | `{"command":"move","to":"nic","filter":{…}}` | how many flows move from now on |
//! | `{"command":"log","levels":"ports=debug"}` | the log's levels, which `levels` may change |
//! | `{"command":"events","after":N}` | the next events behind that number, or the `last` ones |
//! | `{"command":"tap","file":FILE,"points":[…]}` | at its end: how many packets are in the file |
//! | `{"command":"trace","limit":N}` | at its end: packets and their ways through the handlers |
//! | `{"command":"trace","frame":HEX}` | the way that this packet would have |
//! | `{"command":"configure"}` | when it is done: the version in force, or `error` |
//! | `{"command":"check","program":FILE}` | whether that program could take over, or `error` |
//! | `{"command":"upgrade"}` | the one in the program's file takes its place, or `error` |
//!
//! `"drop_connections":true` upgrades a program without durable states, too. All connections are
//! lost then.
//!
//! Silent clients are disconnected after a while, and sooner if others wait.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::RunError;
use crate::inspect::question::{Listing, Movement, Removal, TapRequest, TraceRequest};

/// Maximum length of a request, including the name of a file.
const LONGEST: usize = 4200;
/// Maximum number of clients; others wait.
const MOST_CLIENTS: usize = 16;
/// Maximum number of waiting clients.
const BACKLOG: i32 = 128;
/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while others wait.
const PATIENCE_BEFORE_OTHERS: Duration = Duration::from_millis(100);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "command", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Asked {
    Status,
    Outcomes,
    Tables,
    Snapshot,
    /// Values of states without keys.
    Values,
    /// Entries of tables.
    Flows(Listing),
    /// Removes entries.
    Delete(Removal),
    /// Moves flows to a side.
    Move(Movement),
    /// Copies packets to a file.
    Tap(TapRequest),
    /// Follows packets through the handlers.
    Trace(TraceRequest),
    Log {
        /// Levels that change, as the option of a run has them.
        levels: Option<String>,
    },
    /// Newest lines, whatever the levels are.
    Events {
        /// The number of the last one that is known.
        #[serde(default)]
        after: u64,
        /// Only so many, the newest.
        last: Option<u64>,
    },
    Configure,
    Check {
        program: PathBuf,
    },
    Upgrade {
        /// Even if no connection survives.
        #[serde(default)]
        drop_connections: bool,
    },
}

/// The socket and its clients.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    clients: Vec<Client>,
    _file: OwnFile,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    since: Instant,
    said: Vec<u8>,
    asked: Option<Asked>,
    /// The answer while a part of it waits for room in the kernel, and the bytes that were sent.
    unsent: Arc<str>,
    sent: usize,
}

impl Control {
    /// Listens at this path. Replaces a socket without a listener, but no other file.
    pub(crate) fn listen(path: &Path) -> Result<Self, RunError> {
        let listener = listen_alone(path)?;
        let failed = |cause| RunError::File { path: path.into(), cause };
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, clients: Vec::new(), _file: OwnFile::at(path) })
    }

    /// Requests since the last call.
    pub(crate) fn look(&mut self) -> Vec<Asked> {
        self.accept();
        let full = self.clients.len() >= MOST_CLIENTS;
        let patience = if full { PATIENCE_BEFORE_OTHERS } else { PATIENCE };
        let mut asked = Vec::new();
        self.clients.retain_mut(|client| match client.listen(patience) {
            Ok(None) => true,
            Ok(Some(request)) => {
                asked.push(request);
                true
            }
            Err(why) => {
                if let Some(why) = why {
                    client.answer(&format!("{}\n", json!({ "error": why })).into());
                }
                false
            }
        });
        asked
    }

    fn accept(&mut self) {
        while self.clients.len() < MOST_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_ok() {
                let since = Instant::now();
                self.clients.push(Client {
                    stream,
                    since,
                    said: Vec::new(),
                    asked: None,
                    unsent: Arc::default(),
                    sent: 0,
                });
            }
        }
    }

    /// Whether a client waits for the answer to this request.
    pub(crate) fn is_waited_for(&self, asked: &Asked) -> bool {
        self.clients.iter().any(|client| client.asked.as_ref() == Some(asked))
    }

    /// Answers all clients with this request.
    pub(crate) fn answer(&mut self, asked: &Asked, answer: &Value) {
        self.answer_line(asked, &format!("{answer}\n").into());
    }

    /// The same, with a line of others. It may have many megabytes, so it is not copied: the wire
    /// would wait for that.
    pub(crate) fn answer_line(&mut self, asked: &Asked, line: &Arc<str>) {
        self.clients.retain_mut(|client| {
            let is_answered = client.asked.as_ref() == Some(asked);
            !is_answered || client.answer(line)
        });
    }
}

/// Listens at this path, for its owner alone. Replaces a socket without a listener, but no other
/// file.
///
/// # Errors
/// If something else is there, or somebody listens.
pub(crate) fn listen_alone(path: &Path) -> Result<UnixListener, RunError> {
    let failed = |cause| RunError::File { path: path.into(), cause };
    let other = |why: &str| failed(std::io::Error::other(why));
    match path.symlink_metadata() {
        Ok(there) if !there.file_type().is_socket() => {
            return Err(other("is there and no socket: one is made here, say another path"));
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            Ok(_) => return Err(other("another run listens there")),
            Err(_) => {}
        },
        Err(_) => {}
    }
    open(path).map_err(|errno| failed(errno.into()))
}

/// The file of a socket, which ends with its listener.
#[derive(Debug)]
pub(crate) struct OwnFile {
    path: PathBuf,
    /// Device and inode of the socket's file, which another run may have replaced.
    file: Option<(u64, u64)>,
}

impl OwnFile {
    /// The file of the socket that was made at this path.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.into(), file: identity(path) }
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // Another run may have its own socket there by now.
        if self.file.is_some() && identity(&self.path) == self.file {
            // A later run replaces it anyway.
            let _removed = std::fs::remove_file(&self.path);
        }
    }
}

/// A socket that is accessible only to its owner from the beginning: its file gets the mode that
/// the socket has when it is bound.
fn open(path: &Path) -> rustix::io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|there| (there.dev(), there.ino()))
}

impl Client {
    /// Reads further; returns the request when it is complete. An error ends the client, with an
    /// answer if anybody listens. After its request, a client may wait indefinitely.
    fn listen(&mut self, patience: Duration) -> Result<Option<Asked>, Option<String>> {
        if !self.unsent.is_empty() {
            let goes_on = self.since.elapsed() <= patience && self.send();
            return if goes_on { Ok(None) } else { Err(None) };
        }
        if self.asked.is_none() && self.since.elapsed() > patience {
            return Err(Some("no request came in time".into()));
        }
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                // The client is gone.
                Ok(0) => return Err(None),
                Ok(length) if self.asked.is_none() => self.said.extend(&bytes[..length]),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(_) => return Err(None),
            }
            if self.said.len() > LONGEST {
                return Err(Some("a request is a line".into()));
            }
            if self.said.ends_with(b"\n") && self.asked.is_none() {
                let asked = Asked::read(&self.said)?;
                self.asked = Some(asked.clone());
                return Ok(Some(asked));
            }
        }
    }

    /// Answers. Returns whether a part of the answer is still to be sent.
    fn answer(&mut self, line: &Arc<str>) -> bool {
        (self.asked, self.since) = (None, Instant::now());
        (self.unsent, self.sent) = (Arc::clone(line), 0);
        self.send()
    }

    /// Sends further. Returns whether something is left; the client may be gone.
    fn send(&mut self) -> bool {
        match self.stream.write(self.unsent.as_bytes().get(self.sent..).unwrap_or_default()) {
            Ok(length) => self.sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
        self.sent < self.unsent.len()
    }
}

impl Asked {
    fn read(line: &[u8]) -> Result<Self, Option<String>> {
        let asked = serde_json::from_slice(line).map_err(|error| {
            Some(format!("{error}: a request is a line like {{\"command\":\"status\"}}"))
        })?;
        match asked {
            Self::Check { program } if !program.is_absolute() => {
                Err(Some("`program` is a whole path, from / on".into()))
            }
            asked => Ok(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "{\"command\":\"status\"}\n";

    #[test]
    fn requests_are_read_or_refused_with_what_would_be_right() {
        let read = |line: &str| Asked::read(line.as_bytes());
        assert_eq!(read(STATUS), Ok(Asked::Status));
        let upgrade = r#"{"command":"upgrade","drop_connections":true}"#;
        assert_eq!(read(upgrade), Ok(Asked::Upgrade { drop_connections: true }));
        assert_eq!(
            read(r#"{"command":"upgrade"}"#),
            Ok(Asked::Upgrade { drop_connections: false })
        );
        assert_eq!(read(r#"{"command":"log"}"#), Ok(Asked::Log { levels: None }));
        let levels = Some("ports=debug".to_owned());
        let log = r#"{"command":"log","levels":"ports=debug"}"#;
        assert_eq!(read(log), Ok(Asked::Log { levels }));
        assert_eq!(read(r#"{"command":"events"}"#), Ok(Asked::Events { after: 0, last: None }));
        let events = r#"{"command":"events","after":7,"last":3}"#;
        assert_eq!(read(events), Ok(Asked::Events { after: 7, last: Some(3) }));
        let wrong = [
            (r#"{"command":"events","after":-1}"#, "expected u64"),
            (r#"{"command":"log","level":"debug"}"#, "expected `levels`"),
            ("status", "a request is a line like"),
            (r#"{"command":"stop"}"#, "expected one of"),
            (r#"{"command":"upgrade","drops_connections":true}"#, "expected `drop_connections`"),
            (r#"{"command":"check","program":"new"}"#, "a whole path"),
        ];
        for (line, why) in wrong {
            let told = read(line).expect_err(line).expect("it says why");
            assert!(told.contains(why), "{line}: {told}");
        }
    }

    #[test]
    fn an_answer_longer_than_the_kernels_buffer_arrives_whole() {
        let path = place("long");
        let mut control = Control::listen(&path).expect("a path of its own");
        let asks = ask(&path, STATUS);
        let listens = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            heard(asks)
        });
        while control.look().is_empty() {}
        let long = json!({ "text": "x".repeat(1 << 21) });
        control.answer(&Asked::Status, &long);
        while !listens.is_finished() {
            assert!(control.look().is_empty(), "nobody asks");
        }
        let heard = listens.join().expect("it hears");
        assert_eq!(heard.len(), long.to_string().len() + 1);
    }

    fn ask(path: &Path, request: &str) -> UnixStream {
        let mut stream = UnixStream::connect(path).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    fn heard(mut stream: UnixStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it ends");
        text
    }

    fn place(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("cora-control-{name}-{}", std::process::id()))
    }

    #[test]
    fn each_request_is_answered_to_whoever_made_it() {
        let path = place("answers");
        let mut control = Control::listen(&path).expect("a path of its own");
        assert!(Control::listen(&path).is_err(), "another run listens there");
        let check = "{\"command\":\"check\",\"program\":\"/bin/new\"}\n";
        let (first, second) = (ask(&path, STATUS), ask(&path, check));
        let third = ask(&path, "make coffee\n");
        let asked: Vec<_> = (0..4).flat_map(|_| control.look()).collect();
        assert_eq!(asked, [Asked::Status, Asked::Check { program: "/bin/new".into() }]);
        control.answer(&asked[0], &json!({ "version": 3 }));
        control.answer(&asked[1], &json!({ "error": "no" }));
        assert_eq!(heard(first), "{\"version\":3}\n");
        assert_eq!(heard(second), "{\"error\":\"no\"}\n");
        assert!(heard(third).contains("a request is a line like"));
        drop(control);
        assert!(!path.exists());
        // A socket that a killed run left behind.
        drop(UnixListener::bind(&path).expect("it is free"));
        assert!(Control::listen(&path).is_ok());
    }
    #[test]
    fn a_socket_is_its_owners_alone_from_the_beginning() {
        let path = place("mode");
        let control = Control::listen(&path).expect("a path of its own");
        assert_eq!(path.metadata().expect("it is there").mode() & 0o777, 0o600);
        // Another run's socket, which is not removed with this one.
        std::fs::remove_file(&path).expect("it is ours");
        let other = UnixListener::bind(&path).expect("it is free");
        drop(control);
        assert!(path.exists());
        drop(other);
        std::fs::remove_file(&path).expect("it is ours");
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let path = place("precious");
        std::fs::write(&path, "precious").expect("a path of its own");
        let link = place("link");
        std::os::unix::fs::symlink(&path, &link).expect("a path of its own");
        let room = std::env::temp_dir();
        for there in [&path, &link, &room] {
            let error = Control::listen(there).expect_err("it is no socket").to_string();
            assert!(error.contains("no socket"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&link).expect("it is there"), "precious");
        for file in [link, path] {
            std::fs::remove_file(file).expect("it is ours");
        }
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let path = place("silent");
        let mut control = Control::listen(&path).expect("a path of its own");
        let silent: Vec<_> = (0..40).map(|_| ask(&path, "stat")).collect();
        let talks = ask(&path, STATUS);
        let begun = Instant::now();
        let asked = loop {
            let asked = control.look();
            if !asked.is_empty() {
                break asked;
            }
            assert!(begun.elapsed() < Duration::from_secs(3), "it is kept out");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(asked, [Asked::Status]);
        control.answer(&Asked::Status, &json!({}));
        assert_eq!(heard(talks), "{}\n");
        assert!(heard(silent.into_iter().next().expect("there are some")).contains("in time"));
    }
}
