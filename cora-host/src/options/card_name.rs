//! Which card a run has: an emulated one, one that this machine plays, or one at an interface.

use std::fmt;
use std::str::FromStr;

use crate::options::peer::Peer;

/// The card of a run, as named by `--card` or in a run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CardName {
    /// A card that this machine emulates as a whole.
    Emulated,
    /// An agent on this machine, which a socket joins with its host: the joint of a card behind
    /// Ethernet without a second kernel.
    Local,
    /// The card behind this interface.
    At(Peer),
}

impl FromStr for CardName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "emulated" => Ok(Self::Emulated),
            "local" => Ok(Self::Local),
            _ => match text.parse() {
                Ok(peer) => Ok(Self::At(peer)),
                Err(why) => Err(format!("{why}; `emulated` and `local` are cards, too")),
            },
        }
    }
}

impl fmt::Display for CardName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated => f.write_str("emulated"),
            Self::Local => f.write_str("local"),
            Self::At(peer) => peer.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_is_written() {
        for text in ["emulated", "local", "pf0hpf,b8:ce:f6:00:12:34"] {
            let card: CardName = text.parse().expect(text);
            assert_eq!(card.to_string(), text);
        }
        let refused = "lokal".parse::<CardName>().expect_err("no card");
        assert!(refused.contains("IFACE,MAC") && refused.contains("`local`"), "{refused}");
    }
}
