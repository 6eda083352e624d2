//! Mistakes that a mirror could make. The simulation makes them in its place: it changes the
//! records in a frame, and seals it again.

use cora_link::frame::{self, Addresses, HEADER, Kind};

use super::network::happens;
use crate::random::Random;

/// A mistake of a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Says now and then that its side has taken more than it has.
    TookMore,
    /// Records that were taken in another region count for this one.
    TookElsewhere,
    /// Says that the NIC half is in a region that nobody made.
    ArrivedElsewhere,
    /// Doesn't say that the NIC half has left its region.
    ArrivedUnsaid,
    /// Says that another region follows than the next one.
    FollowElsewhere,
    /// Doesn't say that the next region is there.
    FollowUnsaid,
    /// Doesn't say that the host half lives.
    HostUnsaid,
    /// Doesn't say that the NIC half has ended.
    EndedUnsaid,
    /// Leaves out a message to the host half now and then.
    MessageUnsaid,
}

/// Kinds of the records that are words of mirrors, as they are on the link.
mod word {
    pub(super) const TOOK: u16 = 1 << 14;
    pub(super) const HOST: u16 = TOOK + 3;
    pub(super) const FOLLOW: u16 = TOOK + 4;
    pub(super) const ARRIVED: u16 = TOOK + 5;
    pub(super) const ENDED: u16 = TOOK + 6;
}

/// The bit of a piece's length that says that more of its record follows.
const MORE: u16 = 1 << 15;

/// A record in a frame, or a piece of one.
struct Piece<'a> {
    length: u16,
    kind: u16,
    bytes: &'a [u8],
}

fn pieces(mut rest: &[u8]) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    while let Some((head, behind)) = rest.split_first_chunk::<4>() {
        let length = u16::from_le_bytes([head[0], head[1]]);
        let kind = u16::from_le_bytes([head[2], head[3]]);
        let bytes = behind.get(..usize::from(length & !MORE))?;
        rest = behind.get(bytes.len().next_multiple_of(4)..)?;
        pieces.push(Piece { length, kind, bytes });
    }
    rest.is_empty().then_some(pieces)
}

/// The frame as a mirror with this mistake had sent it. `to` has the addresses of the end that
/// hears it, whose region has this generation.
pub(super) fn spoiled(
    frame: &[u8],
    to: Addresses,
    mistake: Mistake,
    generation: u64,
    draw: &mut Random,
) -> Vec<u8> {
    let sound = frame.to_vec();
    let Ok((header, rest)) = frame::open(frame, to) else { return sound };
    let Some(pieces) = pieces(rest).filter(|_| header.kind == Kind::Data) else { return sound };
    let mut changed = frame[..HEADER].to_vec();
    for Piece { length, kind, bytes } in pieces {
        let mut bytes = bytes.to_vec();
        let is_whole = length & MORE == 0;
        if is_whole && !spoil(mistake, kind, &mut bytes, generation, draw) {
            continue;
        }
        changed.extend(length.to_le_bytes());
        changed.extend(kind.to_le_bytes());
        changed.extend(&bytes);
        changed.resize(changed.len().next_multiple_of(4), 0);
    }
    frame::seal(&mut changed, Addresses { own: to.peer, peer: to.own }, &header);
    changed
}

/// Changes a record; whether it is said at all.
fn spoil(
    mistake: Mistake,
    kind: u16,
    bytes: &mut [u8],
    generation: u64,
    draw: &mut Random,
) -> bool {
    let (words, _) = bytes.as_chunks_mut::<8>();
    match (mistake, kind, words) {
        (Mistake::TookMore, word::TOOK, [_, peer, wire]) if happens(draw, 50) => {
            add(peer, 64);
            add(wire, 64);
        }
        (Mistake::TookElsewhere, word::TOOK, [of, ..]) => *of = generation.to_le_bytes(),
        (Mistake::ArrivedElsewhere, word::ARRIVED, [of])
        | (Mistake::FollowElsewhere, word::FOLLOW, [of, ..]) => add(of, 1),
        (Mistake::ArrivedUnsaid, word::ARRIVED, [_])
        | (Mistake::FollowUnsaid, word::FOLLOW, [..])
        | (Mistake::HostUnsaid, word::HOST, [_])
        | (Mistake::EndedUnsaid, word::ENDED, [_]) => return false,
        (Mistake::MessageUnsaid, kind, _) if kind < word::TOOK => return !happens(draw, 50),
        _ => {}
    }
    true
}

fn add(word: &mut [u8; 8], more: u64) {
    *word = u64::from_le_bytes(*word).wrapping_add(more).to_le_bytes();
}
