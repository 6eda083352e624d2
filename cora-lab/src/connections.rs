//! Connection tables: Cora's at the end of a run, and the kernel's by `conntrack -L`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;

/// A connection as its box knows it, from the end that opened it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// `tcp`, `udp` or `icmp`, of either IP version.
    pub protocol: String,
    /// The end that opened it.
    pub client: SocketAddr,
    /// The end that it was opened to.
    pub server: SocketAddr,
    /// Where the answers come from: the same unless a balancer chose it.
    pub answers_from: SocketAddr,
    /// Where answers are sent to: the client unless a NAT stands for it.
    pub answers_to: SocketAddr,
    /// Its TCP state, by Cora's name for it.
    pub state: Option<String>,
}

/// Cora's names of TCP states, and connection tracking's.
const STATES: [(&str, &str); 9] = [
    ("syn-sent", "SYN_SENT"),
    ("simultaneous-open", "SYN_SENT2"),
    ("syn-received", "SYN_RECV"),
    ("established", "ESTABLISHED"),
    ("fin-wait", "FIN_WAIT"),
    ("close-wait", "CLOSE_WAIT"),
    ("last-ack", "LAST_ACK"),
    ("time-wait", "TIME_WAIT"),
    ("closed", "CLOSE"),
];

/// Returns the connections in a run's final state.
pub fn of_states(states: &Value) -> Vec<Connection> {
    let tables = states["states"].as_object().into_iter().flat_map(|states| states.values());
    let entries = tables.filter_map(Value::as_array).flatten();
    entries.filter_map(of_entry).collect()
}

fn of_entry(entry: &Value) -> Option<Connection> {
    let (protocol, client, server) = tuple(entry["key"].as_str()?)?;
    let (_, answers_from, answers_to) = tuple(entry["reply"].as_str()?)?;
    let state = entry["value"]["tcp"].as_str().filter(|_| protocol == "tcp").map(str::to_owned);
    Some(Connection { protocol, client, server, answers_from, answers_to, state })
}

/// Reads `tcp 10.0.0.1:40000 > 192.0.2.1:80`.
fn tuple(text: &str) -> Option<(String, SocketAddr, SocketAddr)> {
    let (protocol, ends) = text.split_once(' ')?;
    let (from, to) = ends.split_once(" > ")?;
    let protocol = if protocol.starts_with("icmp") { "icmp" } else { protocol };
    Some((protocol.to_owned(), from.parse().ok()?, to.parse().ok()?))
}

/// Returns the connections that `conntrack -L` lists.
pub fn of_conntrack(listed: &str) -> Vec<Connection> {
    listed.lines().filter_map(of_line).collect()
}

fn of_line(line: &str) -> Option<Connection> {
    let mut words = line.split_whitespace();
    let protocol = words.next()?;
    let protocol = if protocol.starts_with("icmp") { "icmp" } else { protocol };
    let state = STATES.iter().find(|(_, theirs)| line.split_whitespace().any(|it| it == *theirs));
    let state = state.filter(|_| protocol == "tcp").map(|(ours, _)| (*ours).to_owned());
    // Each field comes twice: first in the client's direction, then in the answers'.
    let fields: Vec<(&str, &str)> = words.filter_map(|word| word.split_once('=')).collect();
    let field = |name: &str, which: usize| {
        fields.iter().filter(|(its, _)| *its == name).nth(which).map(|(_, value)| *value)
    };
    let end = |address: &str, port: &str, which: usize| {
        let address: IpAddr = field(address, which)?.parse().ok()?;
        let port = field(port, which).or_else(|| field("id", which))?;
        Some(SocketAddr::new(address, port.parse().ok()?))
    };
    Some(Connection {
        protocol: protocol.to_owned(),
        client: end("src", "sport", 0)?,
        server: end("dst", "dport", 0)?,
        answers_from: end("src", "sport", 1)?,
        answers_to: end("dst", "dport", 1)?,
        state,
    })
}

#[expect(single_use_lifetimes, reason = "an elided one in `impl Trait` isn't stable yet")]
/// Returns the number of connections by service and state, as `tcp/80 established 3, …`.
pub fn census<'a>(connections: impl Iterator<Item = &'a Connection>) -> String {
    let mut counts = BTreeMap::<String, u64>::new();
    for it in connections {
        let port = if it.protocol == "icmp" { 0 } else { it.server.port() };
        let version = if it.server.is_ipv4() { "" } else { "6" };
        let state = it.state.as_deref().map(|state| format!(" {state}")).unwrap_or_default();
        *counts.entry(format!("{}{version}/{port}{state}", it.protocol)).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_tell_the_same_connection() {
        let listed = "tcp      6 117 TIME_WAIT src=10.77.0.1 dst=203.0.113.1 sport=4000 dport=80 \
                      src=203.0.113.1 dst=192.0.2.1 sport=80 dport=32768 [ASSURED] mark=0 use=1\n\
                      icmp     1 28 src=10.77.0.1 dst=203.0.113.1 type=8 code=0 id=7 \
                      src=203.0.113.1 dst=192.0.2.1 type=0 code=0 id=32769 mark=0 use=1\n";
        let states = serde_json::json!({ "states": {
            "Pool": { "next": 1 },
            "Session": [
                { "key": "tcp 10.77.0.1:4000 > 203.0.113.1:80",
                  "reply": "tcp 203.0.113.1:80 > 192.0.2.1:32768", "value": { "tcp": "time-wait" } },
                { "key": "icmp 10.77.0.1:7 > 203.0.113.1:7",
                  "reply": "icmp 203.0.113.1:32769 > 192.0.2.1:32769", "value": { "tcp": "new" } },
            ],
        } });
        let (ours, kernel) = (of_states(&states), of_conntrack(listed));
        assert_eq!(ours.len(), 2);
        assert_eq!(ours[0], kernel[0]);
        assert_eq!(census(ours.iter()), "icmp/0 1, tcp/80 time-wait 1");
        assert_eq!(census(ours.iter()), census(kernel.iter()));
    }

    #[test]
    fn the_other_version_is_told_apart() {
        let listed = "udp      17 29 src=fd00:77::1 dst=2001:db8::1 sport=5000 dport=53 \
                      src=2001:db8::1 dst=fd00:77::1 sport=53 dport=5000 mark=0 use=1\n";
        assert_eq!(census(of_conntrack(listed).iter()), "udp6/53 1");
    }
}
