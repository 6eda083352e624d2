//! A socket by which another process asks a live run what it does, and tells it to do something
//! else.
//!
//! It is a file in the file system, open to its owner alone. A request is a line of one word, the
//! answer a line of JSON, and then it ends:
//!
//! | request | answer |
//! | --- | --- |
//! | `status` | the program, its versions, whether both halves work |
//! | `configure` | when it is done: the version in force, or `error` |
//! | `check FILE` | whether the program in that file could take this one's place, or `error` |
//! | `upgrade` | that the running program makes place for the one in its file, or `error` |

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::RunError;

/// Longest request, the name of a file in it.
const LONGEST: usize = 4200;
/// Others wait until one of these is done.
const MOST_CLIENTS: usize = 16;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Status,
    Configure,
    Check(PathBuf),
    Upgrade,
}

/// The socket, and who is at its other ends.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    said: Vec<u8>,
    asked: Option<Asked>,
}

impl Control {
    /// Listens there. A socket that nobody listens at any more is replaced.
    pub(super) fn listen(path: &Path) -> Result<Self, RunError> {
        let failed = |cause| RunError::File { path: path.into(), cause };
        match UnixStream::connect(path) {
            Ok(_) => return Err(failed(std::io::Error::other("another run listens there"))),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        let owner_alone = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner_alone).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path: path.into(), clients: Vec::new() })
    }

    /// Requests since the last look.
    pub(super) fn look(&mut self) -> Vec<Asked> {
        if self.clients.len() < MOST_CLIENTS
            && let Ok((stream, _)) = self.listener.accept()
            && stream.set_nonblocking(true).is_ok()
        {
            self.clients.push(Client { stream, said: Vec::new(), asked: None });
        }
        let mut asked = Vec::new();
        self.clients.retain_mut(|client| match client.listen() {
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

    /// Answers all who asked for this.
    pub(super) fn answer(&mut self, asked: &Asked, answer: &Value) {
        for client in self.clients.extract_if(.., |client| client.asked.as_ref() == Some(asked)) {
            client.answer(answer);
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Whoever comes next replaces it all the same.
        let _removed = std::fs::remove_file(&self.path);
    }
}

impl Client {
    /// Reads on; the request, when it is whole. An error ends it, with what to say if anybody
    /// listens.
    fn listen(&mut self) -> Result<Option<Asked>, Option<String>> {
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                // Whoever asked is gone.
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

    /// It is small enough for what the kernel keeps; nobody may listen any more.
    fn answer(&self, answer: &Value) {
        let _told = (&self.stream).write_all(format!("{answer}\n").as_bytes());
    }
}

impl Asked {
    fn read(line: &str) -> Result<Self, Option<String>> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("status", "") => Ok(Self::Status),
            ("configure", "") => Ok(Self::Configure),
            ("upgrade", "") => Ok(Self::Upgrade),
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

    #[test]
    fn each_request_is_answered_to_whoever_made_it() {
        let path = std::env::temp_dir().join(format!("cora-control-{}", std::process::id()));
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
        // One that a killed run left behind.
        drop(UnixListener::bind(&path).expect("it is free"));
        assert!(Control::listen(&path).is_ok());
    }
}
