//! The words of the command line.

use std::net::{SocketAddr, ToSocketAddrs as _};

/// The client's purpose, and its words.
pub(crate) const HELP: &str = "\
Transactions against nodes that run `transactions`, and a check of their history.

    client -- tatp|smallbank --node ADDRESS:PORT [--node …] [words]

  --node ADDRESS:PORT   a node; clients are divided among several
  --transactions N      jobs in all (100000); one of reading and writing is two transactions
  --clients N           how many have one under way at a time (64)
  --rows N              accounts, or subscribers (10000)
  --seed N              of the random choices (1)
  --give-up SECONDS     after which the end of a transaction counts as unknown (60)

It ends with 0 if all checks hold, with 1 if one does not, and with 2 if it could not run.";

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Benchmark {
    Tatp,
    SmallBank,
}

/// The words of the command line.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) benchmark: Benchmark,
    pub(crate) nodes: Vec<SocketAddr>,
    pub(crate) transactions: u64,
    pub(crate) clients: u64,
    pub(crate) rows: u64,
    pub(crate) seed: u64,
    /// In seconds.
    pub(crate) give_up: u64,
}

impl Options {
    /// Reads the words.
    ///
    /// # Errors
    /// Names the wrong word, and the right ones.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let benchmark = match words.next().as_deref() {
            Some("tatp") => Benchmark::Tatp,
            Some("smallbank") => Benchmark::SmallBank,
            Some(other) => return Err(format!("{other}: say tatp, or smallbank")),
            None => return Err("say tatp, or smallbank".to_owned()),
        };
        let mut read = Self {
            benchmark,
            nodes: Vec::new(),
            transactions: 100_000,
            clients: 64,
            rows: 10_000,
            seed: 1,
            give_up: 60,
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word}: its value is missing"))?;
            let number = |least: u64, most: u64| {
                let number = value.replace('_', "").parse().ok();
                let number = number.filter(|number| (least..=most).contains(number));
                number.ok_or_else(|| format!("{word} {value}: write a number, {least} to {most}"))
            };
            match word.as_str() {
                "--node" => {
                    let node = value.to_socket_addrs().ok().and_then(|mut all| all.next());
                    let wrong = || format!("--node {value}: write ADDRESS:PORT");
                    read.nodes.push(node.ok_or_else(wrong)?);
                }
                "--transactions" => read.transactions = number(1, 100_000_000)?,
                "--clients" => read.clients = number(1, 65_536)?,
                "--rows" => read.rows = number(2, 10_000_000)?,
                "--seed" => read.seed = number(0, u64::MAX)?,
                "--give-up" => read.give_up = number(1, 86_400)?,
                _ => return Err(format!("{word}: there is no such word")),
            }
        }
        if read.nodes.is_empty() {
            return Err("--node is missing: write --node 127.0.0.1:7000".to_owned());
        }
        let families = read.nodes.iter().filter(|node| node.is_ipv4()).count();
        if families != 0 && families != read.nodes.len() {
            return Err("--node: all of IPv4, or all of IPv6".to_owned());
        }
        Ok(read)
    }
}
