//! Attaches a Cora program before the sockets of a server that cooperates.
//!
//! A server that binds a socket may have a program answer, filter or transform packets for it at an
//! agent, `cargo cora agent`. The socket itself is the proof that its address is held: it goes to
//! the agent as a descriptor. The server goes on as it is, and sees the packets that the program
//! passes. When the [`Attachment`] is dropped, or the server ends, all packets pass by the program
//! again.
//!
//! ```no_run
//! use std::net::UdpSocket;
//!
//! use cora_attach::Attach;
//!
//! let socket = UdpSocket::bind("10.0.0.2:11211")?;
//! let attachment = Attach::new("/run/cora/agent.sock", "/usr/lib/cora/cache")
//!     .before(&socket)
//!     .option("--config", "Server=/etc/cora/server.txt")
//!     .begin()?;
//! // … serve …
//! drop(attachment);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The program is a static one, as `cargo cora attach --program PACKAGE` builds it. A server as it
//! is needs none of this: `cargo cora attach` finds its sockets.
#![deny(unsafe_op_in_unsafe_fn)]
#![expect(unsafe_code, reason = "arranges, between fork and exec, which descriptors a child gets")]

use std::ffi::OsString;
use std::io::Result;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

/// A program that is to be attached.
#[derive(Debug)]
pub struct Attach {
    agent: PathBuf,
    program: PathBuf,
    sockets: Vec<Result<OwnedFd>>,
    serves: Vec<String>,
    options: Vec<OsString>,
}

impl Attach {
    /// The program in this file, at the agent with this socket.
    pub fn new(agent: impl Into<PathBuf>, program: impl Into<PathBuf>) -> Self {
        Self {
            agent: agent.into(),
            program: program.into(),
            sockets: Vec::new(),
            serves: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Before this socket: one of UDP that is bound, or one of TCP that listens. A duplicate goes
    /// to the agent.
    #[must_use]
    pub fn before(mut self, socket: impl AsFd) -> Self {
        self.sockets.push(socket.as_fd().try_clone_to_owned());
        self
    }

    /// Where a socket is asked that is bound to all addresses, as `udp:ADDRESS:PORT`.
    #[must_use]
    pub fn serving(mut self, at: impl Into<String>) -> Self {
        self.serves.push(at.into());
        self
    }

    /// An option of the program's run, such as `--config`, `--control` or `--weight`.
    #[must_use]
    pub fn option(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.options.extend([name.into(), value.into()]);
        self
    }

    /// Shares a process at the agent with others that attach this same file, so that hundreds have
    /// room there.
    #[must_use]
    pub fn sharing_process(mut self) -> Self {
        self.options.push("--share-process".into());
        self
    }

    /// Starts the program's run. Packets go to it once its NIC half works at the agent; until then,
    /// and if the agent refuses it, they pass by. Its log goes to standard error. The run ends with
    /// the thread that calls this: call it where the server's own life ends.
    ///
    /// # Errors
    /// If a socket can't be duplicated, or the program can't be started.
    pub fn begin(self) -> Result<Attachment> {
        let Self { agent, program, sockets, serves, options } = self;
        let sockets = sockets.into_iter().collect::<Result<Vec<_>>>()?;
        let numbers: Vec<_> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        let mut command = Command::new(program);
        command.args(["run", "--json", "--agent"]).arg(agent);
        for number in &numbers {
            command.args(["--sockets".to_owned(), number.to_string()]);
        }
        for at in &serves {
            command.args(["--serves", at]);
        }
        command.args(options).stdin(Stdio::null()).stdout(Stdio::null());
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::INT))?;
            for number in &numbers {
                // SAFETY: the duplicates live until the child has started.
                let socket = unsafe { BorrowedFd::borrow_raw(*number) };
                fcntl_setfd(socket, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls only, which are allowed between fork and exec.
        unsafe { command.pre_exec(prepare) };
        let run = command.spawn()?;
        drop(sockets);
        Ok(Attachment { run })
    }
}

/// An attached program. Dropped, it ends, and packets pass by.
#[derive(Debug)]
pub struct Attachment {
    run: Child,
}

impl Attachment {
    /// How the program's run ended, if it has: when the agent refuses it, say.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_ended(&mut self) -> Result<Option<ExitStatus>> {
        self.run.try_wait()
    }

    /// Tells it to end, and does not wait for that.
    pub fn end(&self) {
        // It may have ended already.
        let _told = kill_process(Pid::from_child(&self.run), Signal::INT);
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.end();
        // If it has already ended, that returns an error, and nothing is left to do.
        let _ended = self.run.wait();
    }
}
