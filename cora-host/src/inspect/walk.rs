//! The tables of a run in order: by shard, the host's before the NIC's, by state.

use std::fmt;
use std::str::FromStr;

/// Where a listing goes on: `shard.side.state.place`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) shard: u16,
    pub(crate) at_nic: bool,
    pub(crate) state: u16,
    pub(crate) place: u32,
}

impl Cursor {
    /// The beginning of the next table of a run with so many shards and states; `None` behind the
    /// last one.
    pub(crate) fn next_table(self, shards: u16, states: u16) -> Option<Self> {
        let Self { shard, at_nic, state, .. } = self;
        let next = if state + 1 < states {
            Self { state: state + 1, place: 0, ..self }
        } else if !at_nic {
            Self { shard, at_nic: true, state: 0, place: 0 }
        } else {
            Self { shard: shard + 1, ..Self::default() }
        };
        (next.shard < shards).then_some(next)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, at_nic, state, place } = self;
        write!(to, "{shard}.{}.{state}.{place}", if *at_nic { "nic" } else { "host" })
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`after` is the `next` of an answer, not `{text}`");
        let parts: Vec<&str> = text.split('.').collect();
        let [shard, side, state, place] = parts[..] else { return Err(wrong()) };
        let at_nic = match side {
            "nic" => true,
            "host" => false,
            _ => return Err(wrong()),
        };
        Ok(Self {
            shard: shard.parse().map_err(|_| wrong())?,
            at_nic,
            state: state.parse().map_err(|_| wrong())?,
            place: place.parse().map_err(|_| wrong())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_comes_once() {
        let mut cursor = Some(Cursor::default());
        let mut tables = Vec::new();
        while let Some(at) = cursor {
            tables.push(at.to_string());
            cursor = at.next_table(2, 2);
        }
        let expected = ["0.host.0.0", "0.host.1.0", "0.nic.0.0", "0.nic.1.0"];
        assert_eq!(tables[..4], expected);
        assert_eq!(tables[4..], expected.map(|text| text.replacen('0', "1", 1)));
    }

    #[test]
    fn a_cursor_comes_back() {
        let cursor = Cursor { shard: 3, at_nic: true, state: 2, place: u32::MAX - 1 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for wrong in
            ["", "0.nic.1", "0.card.1.2", "0.nic.1.2.3", "-1.nic.1.2", "0.nic.1.4294967296"]
        {
            let error = wrong.parse::<Cursor>().expect_err(wrong);
            assert!(error.contains("`next` of an answer"), "{error}");
        }
    }
}
