//! Items of CBOR (RFC 8949), read one behind the other. Those of indefinite length are not read.

/// A kind of item: the three highest bits of its first byte.
mod major {
    pub const BYTES: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const ARRAY: u8 = 4;
    pub const MAP: u8 = 5;
    pub const TAG: u8 = 6;
}

/// The items that are left. After a `None` nothing can be read.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Items<'a> {
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether all were read.
    pub const fn is_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Enters a map. Returns how many pairs it says to have.
    pub fn map(&mut self) -> Option<u64> {
        match self.head()? {
            (major::MAP, pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Reads a text.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        match self.head()? {
            (major::TEXT, length) => self.take(length),
            _ => None,
        }
    }

    /// Passes over an item with all that is in it.
    pub fn skip(&mut self) -> Option<()> {
        let mut left = 1_u64;
        // Each head takes a byte at least, whatever the items say to have.
        for _ in 0..=self.rest.len() {
            if left == 0 {
                return Some(());
            }
            let (major, number) = self.head()?;
            left -= 1;
            match major {
                major::BYTES | major::TEXT => _ = self.take(number)?,
                major::ARRAY => left = left.saturating_add(number),
                major::MAP => left = left.saturating_add(number).saturating_add(number),
                major::TAG => left = left.saturating_add(1),
                _ => {}
            }
        }
        None
    }

    /// The kind of an item, and the number in its head: of a text its length.
    fn head(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        let number = match first & 0x1f {
            small @ 0..=23 => small.into(),
            24 => u8::from_be_bytes(self.chunk()?).into(),
            25 => u16::from_be_bytes(self.chunk()?).into(),
            26 => u32::from_be_bytes(self.chunk()?).into(),
            27 => u64::from_be_bytes(self.chunk()?),
            _ => return None,
        };
        Some((first >> 5, number))
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*chunk)
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }
}
