//! Where memcached listens, and for how long the cache believes and waits.

use cora::prelude::*;

/// memcached, and the times of the cache.
#[state(read_mostly)]
pub struct Server {
    /// Without an address, any.
    address: Address,
    is_any: bool,
    port: u16,
    /// Milliseconds for which a value is answered: nobody tells when an item expires.
    life_ms: u32,
    /// Milliseconds after which a change has reached memcached's memory, if nothing tells sooner.
    settle_ms: u32,
}

impl Default for Server {
    fn default() -> Self {
        let (address, is_any) = (Address::v4([0; 4]), true);
        Self { address, is_any, port: 11_211, life_ms: 1_000, settle_ms: 1_000 }
    }
}

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

impl Server {
    /// Whether memcached listens there.
    pub fn is(&self, address: Address, port: u16) -> bool {
        port == self.port && (self.is_any || address == self.address)
    }

    /// In nanoseconds.
    pub const fn life(&self) -> u64 {
        self.life_ms as u64 * MILLISECOND
    }

    /// In nanoseconds.
    pub const fn settle(&self) -> u64 {
        self.settle_ms as u64 * MILLISECOND
    }
}

#[host_only]
impl Configure for Server {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let value = value.trim();
            match word {
                "server" => match value.parse::<std::net::SocketAddr>() {
                    Ok(server) => {
                        (read.address, read.is_any) = (server.ip().into(), false);
                        read.port = server.port();
                    }
                    Err(_) => read.port = value.parse().map_err(|_| SERVER)?,
                },
                "life" => read.life_ms = milliseconds(value)?,
                "settle" => read.settle_ms = milliseconds(value)?,
                _ => return Err("a line is `server ADDRESS:PORT`, `life 1s` or `settle 1s`"),
            }
        }
        Ok(read)
    }
}

#[host_only]
const SERVER: &str = "`server` has an address and a port, as in 10.0.0.7:11211, or a port";

#[host_only]
fn milliseconds(text: &str) -> Result<u32, &'static str> {
    const SAYS: &str = "a time is from 1ms to 1h, as in `life 500ms` or `settle 2s`";
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => match text.strip_suffix('s') {
            Some(number) => (number, 1_000),
            None => (text.strip_suffix('h').ok_or(SAYS)?, 3_600_000),
        },
    };
    let number: u32 = number.parse().map_err(|_| SAYS)?;
    number.checked_mul(unit).filter(|time| (1..=3_600_000).contains(time)).ok_or(SAYS)
}
