//! A control socket, for other processes to query a live run and to send it orders.
//!
//! It is a file in the file system, accessible only to its owner. A request is a line of one word,
//! the answer a line of JSON; then the connection ends:
//!
//! | request | answer |
//! | --- | --- |
//! | `status` | the program, its versions, whether both halves work |
//! | `configure` | when it is done: the version in force, or `error` |
//! | `check FILE` | whether the program in that file could replace this one, or `error` |
//! | `upgrade` | the running program is replaced by the one in its file, or `error` |
//! | `upgrade drop-connections` | the same without durable states, so all connections are lost |
//!
//! Silent clients are disconnected after a while, and sooner if others wait.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use serde_json::{Value, json};

use crate::RunError;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Status,
    Configure,
    Check(PathBuf),
    Upgrade {
        /// Even if no connection survives.
        drops_connections: bool,
    },
}

/// The socket and its clients.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket's file, which another run may have replaced.
    file: Option<(u64, u64)>,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    since: Instant,
    said: Vec<u8>,
    asked: Option<Asked>,
}

impl Control {
    /// Listens at this path. Replaces a socket without a listener, but no other file.
    pub(crate) fn listen(path: &Path) -> Result<Self, RunError> {
        let failed = |cause| RunError::File { path: path.into(), cause };
        let other = |why: &str| failed(std::io::Error::other(why));
        match path.symlink_metadata() {
            Ok(there) if !there.file_type().is_socket() => {
                return Err(other("is there and no socket: --control makes one, say another path"));
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
        let listener = open(path).map_err(|errno| failed(errno.into()))?;
        listener.set_nonblocking(true).map_err(failed)?;
        let file = identity(path);
        Ok(Self { listener, path: path.into(), file, clients: Vec::new() })
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
                    client.answer(&json!({ "error": why }));
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
                self.clients.push(Client { stream, since, said: Vec::new(), asked: None });
            }
        }
    }

    /// Answers all clients with this request.
    pub(crate) fn answer(&mut self, asked: &Asked, answer: &Value) {
        for client in self.clients.extract_if(.., |client| client.asked.as_ref() == Some(asked)) {
            client.answer(answer);
        }
    }
}

impl Drop for Control {
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
                let asked = Asked::read(String::from_utf8_lossy(&self.said).trim_end())?;
                self.asked = Some(asked.clone());
                return Ok(Some(asked));
            }
        }
    }

    /// The answer fits the kernel's buffer; the client may be gone.
    fn answer(&self, answer: &Value) {
        let _told = (&self.stream).write_all(format!("{answer}\n").as_bytes());
    }
}

impl Asked {
    fn read(line: &str) -> Result<Self, Option<String>> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("status", "") => Ok(Self::Status),
            ("configure", "") => Ok(Self::Configure),
            ("upgrade", "") => Ok(Self::Upgrade { drops_connections: false }),
            ("upgrade", "drop-connections") => Ok(Self::Upgrade { drops_connections: true }),
            ("check", path) if path.starts_with('/') => Ok(Self::Check(path.into())),
            _ => Err(Some("ask for status, configure, check FILE or upgrade".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (first, second) = (ask(&path, "status\n"), ask(&path, "check /bin/new\n"));
        let third = ask(&path, "make coffee\n");
        let asked: Vec<_> = (0..4).flat_map(|_| control.look()).collect();
        assert_eq!(asked, [Asked::Status, Asked::Check("/bin/new".into())]);
        control.answer(&asked[0], &json!({ "version": 3 }));
        control.answer(&asked[1], &json!({ "error": "no" }));
        assert_eq!(heard(first), "{\"version\":3}\n");
        assert_eq!(heard(second), "{\"error\":\"no\"}\n");
        assert!(heard(third).contains("ask for status"));
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
        let talks = ask(&path, "status\n");
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
