//! Why a flow is at the side where it is.

/// Why a flow is at the side where it is, by that side's own records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// The plan has it here: no flow moves.
    Planned,
    /// At the NIC: the host offered it, and the NIC took it.
    Taken,
    /// At the host: its entries belong to no flow that could move.
    Unknown,
    /// Its entries go to the other side now, or come from there.
    Moves,
    /// At the host: it is offered, and the NIC may hold its packets.
    Offered,
    /// At the host: some of its entries came when there was no room for a flow's record.
    Scattered,
    /// At the host: the NIC half in place now takes no flow.
    NicTakesNone,
    /// At the host: it is offered after more packets. Each punt doubles that number.
    Packets {
        /// Packets so far.
        packets: u32,
        /// Packets before an offer.
        of: u32,
        /// Punts so far.
        punts: u32,
    },
    /// At the host: it came back from the NIC, and rests.
    Rests {
        /// For how much longer (ns of packet time).
        left: u64,
    },
    /// At the host: it is not among the flows that the NIC may own.
    Share {
        /// How many of 1024 may be.
        share: u16,
    },
    /// At the host: the NIC has as many flows as it may.
    Full {
        /// How many that is.
        most: u32,
    },
    /// At the host: it is offered with its next packet.
    Next,
}

impl Stay {
    pub(crate) const WORDS: usize = 3;

    pub(crate) fn words(self) -> [u64; Self::WORDS] {
        match self {
            Self::Planned => [0, 0, 0],
            Self::Taken => [1, 0, 0],
            Self::Unknown => [2, 0, 0],
            Self::Moves => [3, 0, 0],
            Self::Offered => [4, 0, 0],
            Self::Scattered => [5, 0, 0],
            Self::NicTakesNone => [6, 0, 0],
            Self::Packets { packets, of, punts } => {
                [7, u64::from(packets) | u64::from(of) << 32, punts.into()]
            }
            Self::Rests { left } => [8, left, 0],
            Self::Share { share } => [9, share.into(), 0],
            Self::Full { most } => [10, most.into(), 0],
            Self::Next => [11, 0, 0],
        }
    }

    /// Words that no reason has stand for [`Self::Unknown`].
    pub(crate) fn from_words([number, first, second]: [u64; Self::WORDS]) -> Self {
        match number {
            0 => Self::Planned,
            1 => Self::Taken,
            3 => Self::Moves,
            4 => Self::Offered,
            5 => Self::Scattered,
            6 => Self::NicTakesNone,
            7 => Self::Packets {
                packets: first as u32,
                of: (first >> 32) as u32,
                punts: second as u32,
            },
            8 => Self::Rests { left: first },
            9 => Self::Share { share: first as u16 },
            10 => Self::Full { most: first as u32 },
            11 => Self::Next,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_comes_back() {
        let reasons = [
            Stay::Planned,
            Stay::Taken,
            Stay::Unknown,
            Stay::Moves,
            Stay::Offered,
            Stay::Scattered,
            Stay::NicTakesNone,
            Stay::Packets { packets: u32::MAX, of: 3, punts: 4 },
            Stay::Rests { left: 1 << 40 },
            Stay::Share { share: 1023 },
            Stay::Full { most: u32::MAX },
            Stay::Next,
        ];
        for reason in reasons {
            assert_eq!(Stay::from_words(reason.words()), reason);
        }
        assert_eq!(Stay::from_words([12, 1, 1]), Stay::Unknown);
    }
}
