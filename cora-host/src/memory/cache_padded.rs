//! Cache padding: data written by one shard shares no cache line with data of another.

/// A value padded to two cache lines of its own: current processors prefetch lines in shards.
#[derive(Debug)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

impl<T> Apart<T> {
    /// The size is a multiple of the alignment: nothing else can share its cache lines.
    const ALIGNED: () = assert!(
        align_of::<Self>() >= 128 && size_of::<Self>().is_multiple_of(align_of::<Self>()),
        "a value apart has its lines to itself"
    );

    /// Pads a value.
    pub const fn new(value: T) -> Self {
        let () = Self::ALIGNED;
        Self(value)
    }
}

/// Zeroed bytes on cache lines of their own.
pub type Bytes<const SIZE: usize> = Box<Apart<[u8; SIZE]>>;

/// Zeroed bytes of this size.
#[must_use]
pub fn bytes<const SIZE: usize>() -> Bytes<SIZE> {
    Box::new(Apart::new([0; SIZE]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last cache line shard of a value.
    fn lines<T>(value: &T) -> (usize, usize) {
        let first = std::ptr::from_ref(value).addr();
        (first / 128, (first + size_of::<T>() - 1) / 128)
    }

    #[test]
    fn neighbours_share_no_line() {
        let small: Vec<Apart<u8>> = (0..9).map(Apart::new).collect();
        let odd: Vec<Bytes<129>> = (0..9).map(|_| bytes()).collect();
        let mut lines: Vec<(usize, usize)> =
            small.iter().map(lines).chain(odd.iter().map(|odd| lines(&**odd))).collect();
        lines.sort_unstable();
        assert!(lines.windows(2).all(|two| two[0].1 < two[1].0), "{lines:?}");
    }
}
