//! Client, cache and memcached in namespaces of their own.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::Command;

use cora_traffic::namespace::Namespace;

use super::questions::SERVER;
use crate::asked::{BETWEEN, CLIENT, Client, ends};

/// Where memcached is on the loopback: not where one may run that belongs to the machine.
const LOCAL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 11_911);

/// memcached with one thread, by UDP.
fn memcached(mut command: Command, at: SocketAddrV4) -> Command {
    let port = at.port().to_string();
    command.args(["-u", "root", "-l", &at.ip().to_string(), "-p", &port, "-U", &port]);
    command.args(["-t", "1", "-m", "256"]);
    command
}

/// A client and memcached, with or without the cache between them.
#[derive(Debug)]
pub(super) struct Place {
    client: Option<Namespace>,
    cache: Option<Namespace>,
    server: Option<Namespace>,
}

impl Place {
    /// On the loopback.
    pub(super) const fn loopback() -> Self {
        Self { client: None, cache: None, server: None }
    }

    /// On a wire, with or without a place for the cache in it. The error names a facility that this
    /// machine lacks.
    pub(super) fn wire(with_cache: bool) -> Result<Self> {
        let made = || Namespace::create("ccache").map_err(Error::other);
        let cache = if with_cache { Some(made()?) } else { None };
        let labels = if with_cache { ["cask", "cmem"] } else { ["dask", "dmem"] };
        let [client, server] = ends(labels, *SERVER.ip(), cache.as_ref())?;
        Ok(Self { client: Some(client), cache, server: Some(server) })
    }

    /// memcached's address.
    pub(super) const fn address(&self) -> SocketAddrV4 {
        if self.server.is_some() { SERVER } else { LOCAL }
    }

    /// memcached there.
    pub(super) fn memcached(&self) -> Command {
        let program = "memcached";
        let command = self
            .server
            .as_ref()
            .map_or_else(|| Command::new(program), |server| server.command(program));
        memcached(command, self.address())
    }

    /// The cache there, by AF_XDP.
    pub(super) fn cora(&self, program: &Path, config: &Path) -> Result<Command> {
        let cache = self.cache.as_ref().ok_or_else(|| Error::other("no place for the cache"))?;
        let mut command = cache.command(&program.display().to_string());
        let live = format!("inside=xdp:{},outside=xdp:{},pass=opposite", BETWEEN[1], BETWEEN[0]);
        command.args(["run", "--nic", "native", "--live", &live, "--config"]);
        command.arg(format!("Server={}", config.display()));
        Ok(command)
    }

    /// Does this in the client's network.
    pub(super) fn visit<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match &self.client {
            Some(client) => client.visit(work).map_err(Error::other)?,
            None => work(),
        }
    }

    /// A client there.
    pub(super) fn client(&self) -> Result<Client> {
        let own = if self.client.is_some() { CLIENT } else { [127, 0, 0, 1] };
        self.visit(|| Client::of(self.address(), own))
    }
}

/// The cache's configuration in a file of this room: times for a capture, or the usual ones.
pub(super) fn configuration(room: &Path, of_capture: bool) -> Result<PathBuf> {
    let (name, text) = if of_capture {
        ("cache-capture.txt", "life 1h\nsettle 1ms\n")
    } else {
        // Its items have no expiry.
        ("cache.txt", "life 1h\nsettle 1s\n")
    };
    let path = room.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}
