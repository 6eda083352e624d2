//! What one pair writes shares no line of the cache with what another one does.

/// A value on lines of its own, two of them at a time: processors of today fetch lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

impl<T> Apart<T> {
    /// Its alignment, of which its size is a multiple: nothing else can lie on its lines, wherever
    /// it is.
    const ALIGNED: () = assert!(
        align_of::<Self>() >= 128 && size_of::<Self>().is_multiple_of(align_of::<Self>()),
        "a value apart has its lines to itself"
    );

    /// Puts a value apart.
    pub const fn new(value: T) -> Self {
        let () = Self::ALIGNED;
        Self(value)
    }
}

/// Zeroed bytes on lines of their own.
pub type Bytes<const SIZE: usize> = Box<Apart<[u8; SIZE]>>;

/// So many of them.
#[must_use]
pub fn bytes<const SIZE: usize>() -> Bytes<SIZE> {
    Box::new(Apart::new([0; SIZE]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First and last line of a value.
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
