//! The words of the command line.

use std::net::SocketAddr;
use std::time::Duration;

/// The text of `--help`.
pub(crate) const HELP: &str = "\
clients: reads and writes items of memcached, each write with a value of its own, and checks that
no client read a value older than a change that it could know of

usage: clients ADDRESS:PORT [OPTIONS]

  --operations N   operations of all clients [default: 100000]
  --clients N      clients, each with one operation at a time [default: 8]
  --items N        items [default: 1000]
  --skew X         exponent of the items' popularity (Zipf) [default: 0.99]
  --writes X       share of writes [default: 0.1]
  --tcp X          share of the writes that go by TCP [default: 0]
  --bytes N        bytes of a value, from 17 to 1024 [default: 64]
  --patience MS    milliseconds until a client gives an operation up [default: 300]
  --seed N         another seed gives other operations [default: 1]
  --json           print one JSON object
";

/// The options.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) server: SocketAddr,
    pub(crate) operations: u64,
    pub(crate) clients: u16,
    pub(crate) items: u32,
    pub(crate) skew: f64,
    pub(crate) writes: f64,
    pub(crate) tcp: f64,
    pub(crate) bytes: usize,
    pub(crate) patience: Duration,
    pub(crate) seed: u64,
    pub(crate) json: bool,
}

impl Options {
    /// Reads the words behind the program's name.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let server = words.next().ok_or("the server's address is missing")?;
        let server = server.parse().map_err(|_| format!("`{server}` is no ADDRESS:PORT"))?;
        let mut read = Self {
            server,
            operations: 100_000,
            clients: 8,
            items: 1_000,
            skew: 0.99,
            writes: 0.1,
            tcp: 0.0,
            bytes: 64,
            patience: Duration::from_millis(300),
            seed: 1,
            json: false,
        };
        while let Some(word) = words.next() {
            if word == "--json" {
                read.json = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("`{word}` has no value"))?;
            read.take(&word, &value)?;
        }
        Ok(read)
    }

    fn take(&mut self, word: &str, value: &str) -> Result<(), String> {
        match word {
            "--operations" => self.operations = within(word, value, 1..=1_000_000_000)?,
            "--clients" => self.clients = within(word, value, 1..=1_000)? as u16,
            "--items" => self.items = within(word, value, 1..=100_000_000)? as u32,
            "--skew" => self.skew = share(word, value, 10.0)?,
            "--writes" => self.writes = share(word, value, 1.0)?,
            "--tcp" => self.tcp = share(word, value, 1.0)?,
            "--bytes" => self.bytes = within(word, value, 17..=1_024)? as usize,
            "--patience" => self.patience = Duration::from_millis(within(word, value, 1..=60_000)?),
            "--seed" => self.seed = within(word, value, 0..=u64::MAX)?,
            _ => return Err(format!("there is no option `{word}`")),
        }
        Ok(())
    }
}

fn within(word: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let number = value.parse().ok().filter(|number| range.contains(number));
    let (least, most) = range.into_inner();
    number.ok_or_else(|| format!("`{word}` is a number from {least} to {most}, not `{value}`"))
}

fn share(word: &str, value: &str, most: f64) -> Result<f64, String> {
    let share = value.parse().ok().filter(|share| (0.0..=most).contains(share));
    share.ok_or_else(|| format!("`{word}` is a number from 0 to {most}, not `{value}`"))
}
