//! Names of domains, by a hash.

#[host_only]
use core::str::FromStr;

use cora::prelude::*;

/// A domain, in the width of a key: FNV-1a of its name from the end, in lower case. A name with the
/// hash of a refused one is refused, too. The hash is bytes, since `#[derive(Key)]` would take a
/// number for a column of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
pub(crate) struct Domain {
    hash: [u8; 8],
}

impl Domain {
    const EMPTY: Self = Self { hash: 0xcbf2_9ce4_8422_2325_u64.to_le_bytes() };

    const fn with(self, byte: u8) -> Self {
        let mixed = u64::from_le_bytes(self.hash) ^ byte.to_ascii_lowercase() as u64;
        Self { hash: mixed.wrapping_mul(0x0100_0000_01b3).to_le_bytes() }
    }
}

/// A row of a file says a name, not its hash.
impl FromColumns for Domain {
    const COLUMNS: &'static [&'static str] = &["name"];

    #[host_only]
    fn from_columns(file: &mut dyn cora::config::File) -> Option<Self> {
        cora::config::read(file, "name")
    }
}

#[host_only]
impl FromStr for Domain {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.len() > 253 || text.split('.').any(str::is_empty) {
            return Err("a name has labels between dots, 253 bytes together");
        }
        Ok(text.bytes().rev().fold(Self::EMPTY, Self::with))
    }
}

/// The domains that a name belongs to, from the top-level one to the name itself.
pub(crate) fn domains(name: &[u8]) -> impl Iterator<Item = Domain> {
    let before = name.iter().rev().skip(1).map(Some).chain([None]);
    let bytes = name.iter().rev().zip(before);
    let domains = bytes.scan(Domain::EMPTY, |domain, (byte, before)| {
        *domain = domain.with(*byte);
        Some((*domain, matches!(before, None | Some(b'.'))))
    });
    domains.filter(|(_, is_whole)| *is_whole).map(|(domain, _)| domain)
}
