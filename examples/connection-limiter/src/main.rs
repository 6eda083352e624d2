//! # connection-limiter: how fast an inside host may open connections
//!
//! Inside may open so many connections per host within a window, and outside may answer: worms,
//! broken clients and floods from inside are held back where they begin. Further ones are refused
//! as `too-many-connections`; connections that are open go on. A sketch of fixed size tells
//! afterwards who asked how often, and a list who was refused most.
//!
//! Try it:  `cargo cora run connection-limiter --nic native --in some.pcap --config
//! Limit=limit.txt`
//!
//! where limit.txt says `connections 1000` and `window 60` (seconds; these are the defaults).
//!
//! Expect:  connections travel with the inside host that they count for, and two inside hosts that
//! talk to each other have one each; each side has a sketch and
//! a list of its own, and the report shows the merge, the same under every plan.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

const SECOND: u64 = 1_000_000_000;

const TOO_MANY: Reason = Reason::new("too-many-connections");

/// A connection that was let through. `idle` is the longest time that one may be silent.
#[state(key = FiveTuple, reply, capacity = 1_000_000, idle = "2h4m", idle_by = Self::idle)]
struct Connection {
    tcp: TcpState,
    packets: u64,
    bytes: u64,
}

impl Connection {
    fn idle(&self) -> Duration {
        self.tcp.idle()
    }
}

/// The connections that an inside host opened within its window.
#[state(key = InsideAddress, capacity = 1 << 20, idle = "10m")]
struct Client {
    /// When its window began (ns).
    since: u64,
    opened: u32,
    /// In all its windows.
    refused: u64,
}

/// Who asked how often.
#[state(commutative)]
struct Asked {
    connections: CountMin<4, 16_384>,
    refused: TopK<SourceAddress, 16>,
}

/// How many connections within how long (ns).
#[state(read_mostly)]
struct Limit {
    connections: u32,
    window: u64,
}

impl Default for Limit {
    fn default() -> Self {
        Self { connections: 1_000, window: 60 * SECOND }
    }
}

impl Configure for Limit {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut limit = Self::default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        for line in lines.filter(|line| !line.is_empty()) {
            const FORM: &str = "a line is `connections NUMBER` or `window SECONDS`";
            let (what, number) = line.split_once(' ').ok_or(FORM)?;
            let number: u32 = number.trim().parse().map_err(|_| "not a whole number")?;
            match (what, number) {
                ("connections", _) => limit.connections = number,
                // A client is forgotten when it was unused for ten minutes.
                ("window", 1..=600) => limit.window = u64::from(number) * SECOND,
                ("window", _) => return Err("a window is from 1 to 600 seconds"),
                _ => return Err(FORM),
            }
        }
        Ok(limit)
    }
}

impl Client {
    /// One more, if its window has room.
    fn open(&mut self, connections: u32, window: u64, now: u64) -> bool {
        if now.saturating_sub(self.since) >= window {
            (self.since, self.opened) = (now, 0);
        }
        let open = self.opened < connections;
        self.opened += u32::from(open);
        self.refused += u64::from(!open);
        open
    }
}

/// Inside may open connections up to its limit; outside may only answer.
#[flow_handler]
fn limit(
    packet: &mut Headers,
    connections: &mut Table<Connection>,
    clients: &mut Table<Client>,
    asked: &mut Asked,
    limit: &Limit,
) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let flow = packet.five_tuple()?;
    let bytes = packet.len() as u64;
    if let Some((direction, connection)) = connections.find_mut(&flow) {
        // At the wrong side: made up, or misled.
        if packet.from_inside() != (direction == Direction::Original) {
            return Drop(NotAllowed);
        }
        connection.tcp.advance(packet, direction)?;
        connection.packets += 1;
        connection.bytes += bytes;
        return Transmit;
    }
    // An error answers something.
    if !packet.from_inside() || packet.is_icmp_error() {
        return Drop(NotAllowed);
    }
    // One that was open before this program is counted as another.
    let tcp = TcpState::pick_up(packet)?;
    let (inside, now) = (packet.inside_address()?, packet.now());
    asked.connections.add(&SourceAddress(inside), 1);
    let (key, most, window) = (InsideAddress(inside), limit.connections, limit.window);
    let (open, refused) = if let Some(client) = clients.get_mut(&key) {
        (client.open(most, window, now), client.refused)
    } else {
        let mut client = Client { since: now, opened: 0, refused: 0 };
        let open = client.open(most, window, now);
        clients.insert(key, client)?;
        (open, client.refused)
    };
    if !open {
        asked.refused.raise(SourceAddress(inside), refused);
        return Drop(TOO_MANY);
    }
    connections.insert(flow, Connection { tcp, packets: 1, bytes })?;
    Transmit
}

cora::app!(limit);

#[cfg(test)]
mod tests;
