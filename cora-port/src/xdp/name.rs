//! The name of an AF_XDP port: `eth0?queues=2&mode=copy&attach=native&checksum=leave`.

use std::fmt;
use std::str::FromStr;

use crate::name::{interface, number};

/// Most queues of a port.
const MOST_QUEUES: u32 = 64;

/// An interface, and the settings of its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpName {
    /// Its name.
    pub interface: String,
    /// The number of its first queues to use; all unless stated.
    pub queues: Option<u32>,
    /// The way of frames to this process.
    pub mode: Mode,
    /// The place of the program that hands them over.
    pub attach: Attach,
    /// The rule for checksums that a local sender left unfinished.
    pub checksum: ChecksumRule,
}

/// The way of frames to this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Without a copy if the driver can, otherwise by a copy.
    #[default]
    Auto,
    /// By a copy.
    Copy,
    /// Without a copy.
    ZeroCopy,
}

/// The place of the program that hands frames over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attach {
    /// In the driver if it can, otherwise in the network stack.
    #[default]
    Auto,
    /// In the driver.
    Native,
    /// In the network stack.
    Generic,
}

/// The rule for checksums that a local sender left unfinished. AF_XDP doesn't report these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumRule {
    /// Finished on a veth, where nobody else does it, and left on every other driver.
    #[default]
    Auto,
    /// A checksum that matches the value such a sender leaves is finished, and counted.
    Finish,
    /// Such a checksum is left, and counted.
    Leave,
}

const MODES: [(&str, Mode); 3] =
    [("copy", Mode::Copy), ("zerocopy", Mode::ZeroCopy), ("auto", Mode::Auto)];
const ATTACHES: [(&str, Attach); 3] =
    [("native", Attach::Native), ("generic", Attach::Generic), ("auto", Attach::Auto)];
const RULES: [(&str, ChecksumRule); 3] = [
    ("finish", ChecksumRule::Finish),
    ("leave", ChecksumRule::Leave),
    ("auto", ChecksumRule::Auto),
];

impl XdpName {
    /// Creates the name of an interface with default settings.
    pub fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            queues: None,
            mode: Mode::default(),
            attach: Attach::default(),
            checksum: ChecksumRule::default(),
        }
    }
}

impl FromStr for XdpName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once('?').unwrap_or((text, ""));
        let mut read = Self::new(&interface(name)?);
        let mut said = Vec::new();
        for part in settings.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("`{part}` in `xdp:{text}`: write KEY=VALUE, as in xdp:{name}?queues=2")
            })?;
            if said.contains(&key) {
                return Err(format!("`{key}` is said twice in `xdp:{text}`"));
            }
            said.push(key);
            match key {
                "queues" => read.queues = Some(number(key, value, 1..=MOST_QUEUES)?),
                "mode" => read.mode = word(key, value, &MODES)?,
                "attach" => read.attach = word(key, value, &ATTACHES)?,
                "checksum" => read.checksum = word(key, value, &RULES)?,
                _ => {
                    return Err(format!(
                        "`xdp:` knows no `{key}`: write queues, mode, attach or checksum"
                    ));
                }
            }
        }
        Ok(read)
    }
}

impl fmt::Display for XdpName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.interface)?;
        let said = [
            self.queues.map(|queues| format!("queues={queues}")),
            told("mode", self.mode, &MODES),
            told("attach", self.attach, &ATTACHES),
            told("checksum", self.checksum, &RULES),
        ];
        for (number, setting) in said.into_iter().flatten().enumerate() {
            write!(f, "{}{setting}", if number == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

fn word<T: Copy>(key: &str, value: &str, words: &[(&str, T); 3]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let [(a, _), (b, _), (c, _)] = words;
        format!("`{key}={value}`: write {a}, {b} or {c}")
    })
}

fn told<T: Copy + Default + PartialEq>(
    key: &str,
    value: T,
    words: &[(&str, T); 3],
) -> Option<String> {
    let (word, _) = words.iter().find(|(_, meant)| *meant == value)?;
    (value != T::default()).then(|| format!("{key}={word}"))
}
