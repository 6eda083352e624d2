//! An idle time-out as it is written: a number, or `never`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::NEVER;

const WORD: &str = "never";

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Word(String),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(super) fn serialize<S: Serializer>(ns: &u64, to: S) -> Result<S::Ok, S::Error> {
    if *ns == NEVER { to.serialize_str(WORD) } else { to.serialize_u64(*ns) }
}

pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<u64, D::Error> {
    match Written::deserialize(from)? {
        Written::Number(ns) => Ok(ns),
        Written::Word(word) if word == WORD => Ok(NEVER),
        Written::Word(word) => Err(D::Error::custom(format!("`{word}` is no idle time-out"))),
    }
}
