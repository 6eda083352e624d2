//! Client, cache and memcached in namespaces of their own.

use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::Command;

use cora_traffic::namespace::Namespace;

use super::questions::SERVER;
use crate::asked::Client;
use crate::link::set_up;

/// The cards' addresses: the client's, and the server's.
const CARDS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const CLIENT: [u8; 4] = [10, 0, 0, 1];
/// The interface of client and server, and those of the cache.
const WIRE: &str = "wire";
const BOTH: [&str; 2] = ["out", "in"];
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
        let made = |label: &str| Namespace::create(label).map_err(Error::other);
        let labels = if with_cache { ["cask", "cmem"] } else { ["dask", "dmem"] };
        let (client, server) = (made(labels[0])?, made(labels[1])?);
        let cache = if with_cache { Some(made("ccache")?) } else { None };
        match &cache {
            Some(cache) => {
                client.join(WIRE, cache, BOTH[0]).map_err(Error::other)?;
                server.join(WIRE, cache, BOTH[1]).map_err(Error::other)?;
                for end in BOTH {
                    cache.send_plain_frames(end).map_err(Error::other)?;
                    cache.ip(&format!("link set dev {end} up")).map_err(Error::other)?;
                }
            }
            None => client.join(WIRE, &server, WIRE).map_err(Error::other)?,
        }
        let addresses = [Ipv4Addr::from(CLIENT), *SERVER.ip()];
        for (end, space) in [&client, &server].into_iter().enumerate() {
            set_up(space, WIRE, CARDS[end])?;
            let (own, other) = (addresses[end], addresses[1 - end]);
            let words = [
                format!("address add {own}/24 dev {WIRE}"),
                format!("neighbour add {other} lladdr {} dev {WIRE}", CARDS[1 - end]),
            ];
            words.iter().try_for_each(|it| space.ip(it)).map_err(Error::other)?;
        }
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
        let live = format!("inside=xdp:{},outside=xdp:{},pass=opposite", BOTH[1], BOTH[0]);
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
