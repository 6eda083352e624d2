//! The configuration, and its defaults.

use cora::prelude::*;

use crate::Settings;

const LINES: &str = "a line is `secret` or `previous` and 32 hexadecimal digits, or `mss BYTES`";

/// For trials: who reads this can open connections that nobody asked for.
impl Default for Settings {
    fn default() -> Self {
        let secret = [0x7261_6e64_6f6d_2c20, 0x6e6f_7420_7365_6372];
        Self { secret, previous: secret, mss: 1460 }
    }
}

impl Configure for Settings {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let (mut secret, mut previous, mut mss) = (None, None, 1460);
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (what, word) = line.split_once(char::is_whitespace).ok_or(LINES)?;
            let word = word.trim();
            match what {
                "secret" if secret.is_none() => secret = Some(digits(word)?),
                "previous" if previous.is_none() => previous = Some(digits(word)?),
                "mss" => mss = word.parse().map_err(|_| LINES)?,
                _ => return Err(LINES),
            }
        }
        if !(536..=9000).contains(&mss) {
            return Err("`mss` is from 536 to 9000 bytes");
        }
        let secret = secret.ok_or("no `secret`")?;
        Ok(Self { secret, previous: previous.unwrap_or(secret), mss })
    }
}

fn digits(word: &str) -> Result<[u64; 2], &'static str> {
    let is_right = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bits = u128::from_str_radix(word, 16).map_err(|_| LINES)?;
    if is_right { Ok([(bits >> 64) as u64, bits as u64]) } else { Err(LINES) }
}
