//! Servers with programs before their sockets at an agent, and the same servers without.
//!
//! ```text
//! clients ──tap── agent ──tap── servers        programs attached before the servers' sockets
//! clients ────────veth───────── servers        the same without any of it
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`shared_nic`] | an agent between two networks, and what is attached there |
//! | `memcached` | memcached with `cache`: its own tests, and clients that check what they read |
//! | `tokens` | a CoAP server with `token`, and requests with right and wrong tokens |
//! | `tenants` | six tenants' shares of the time, and hundreds in one process |

mod memcached;
pub mod shared_nic;
mod tenants;
mod tokens;

use std::path::PathBuf;
use std::time::Duration;

use crate::Result;
use crate::verdict::{Row, compare};

/// The programs to try, and how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// `cargo cora`, the command.
    pub command: PathBuf,
    /// Static programs: `cache`, `token` and `echoes`.
    pub cache: PathBuf,
    /// The program before the CoAP server.
    pub token: PathBuf,
    /// The program of many tenants.
    pub echoes: PathBuf,
    /// The clients of `cache`.
    pub clients: PathBuf,
    /// Fewer of everything.
    pub quick: bool,
    /// The directory for sockets and configurations.
    pub directory: PathBuf,
}

/// Tries all. Returns each check with its results, with programs and without.
///
/// # Errors
/// When this machine lacks something, or a run fails.
pub fn run(request: &Request) -> Result<Vec<Row>> {
    std::fs::create_dir_all(&request.directory)
        .map_err(|error| format!("{}: {error}", request.directory.display()))?;
    let said = |what: &'static str| move |why: String| format!("{what}: {why}");
    eprintln!("memcached: with the cache, and without");
    let ours = memcached::with_cache(request).map_err(said("memcached with the cache"))?;
    let plain = memcached::plain(request).map_err(said("memcached"))?;
    let mut rows = compare("memcached", ours, plain);
    eprintln!("tokens: with the program, and without");
    let ours = tokens::with_program(request).map_err(said("tokens"))?;
    let plain = tokens::plain(request).map_err(said("tokens without the program"))?;
    rows.extend(compare("tokens", ours, plain));
    eprintln!("tenants: shares, and many in one process");
    rows.extend(tenants::judge(request).map_err(said("tenants"))?);
    Ok(rows)
}

/// Upper bound on the time of a program that is to end.
const LIMIT: Duration = Duration::from_mins(5);
