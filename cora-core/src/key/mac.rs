//! An Ethernet address, for rows of configured tables.

use core::fmt;
use core::str::FromStr;

use crate::plain::{Describe, Plain};

/// An Ethernet address; its text is `02:00:5e:00:53:01`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

/// The text is not six pairs of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMac;

impl fmt::Display for NotMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Ethernet address is six bytes in hexadecimal digits: `02:00:5e:00:53:01`")
    }
}

impl core::error::Error for NotMac {}

impl FromStr for Mac {
    type Err = NotMac;

    fn from_str(text: &str) -> Result<Self, NotMac> {
        let (mut octets, mut count) = ([0; 6], 0);
        for part in text.split([':', '-']) {
            let place = octets.get_mut(count).ok_or(NotMac)?;
            let is_pair = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *place = u8::from_str_radix(part, 16).ok().filter(|_| is_pair).ok_or(NotMac)?;
            count += 1;
        }
        if count == 6 { Ok(Self(octets)) } else { Err(NotMac) }
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|octet| write!(f, ":{octet:02x}"))
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Plain for Mac {
    const SIZE: usize = 6;

    #[inline]
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        Plain::get(bytes).map(Self)
    }

    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use super::*;

    #[test]
    fn text_is_six_pairs_of_digits() {
        let mac = Mac([2, 0, 0x5e, 0xab, 0, 0xff]);
        assert_eq!(mac.to_string(), "02:00:5e:ab:00:ff");
        for text in ["02:00:5e:ab:00:ff", "02-00-5E-AB-00-FF"] {
            assert_eq!(text.parse(), Ok(mac));
        }
        for text in
            ["", "2:0:5e:ab:0:ff", "02:00:5e:ab:00", "02:00:5e:ab:00:ff:01", "+2:00:5e:ab:00:ff"]
        {
            assert_eq!(text.parse::<Mac>(), Err(NotMac), "{text}");
        }
    }
}
