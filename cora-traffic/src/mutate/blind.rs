//! Changes without knowledge of the headers.

use crate::random::Random;

/// Edge values of lengths and counts.
const EDGES: [u8; 8] = [0, 1, 4, 0x0f, 0x7f, 0x80, 0xf0, 0xff];

/// Maximum length of a piece that is copied or filled, in octets.
const PIECE: u64 = 24;

/// Changes a frame in one way, maybe with a piece of the frame `other`.
pub(super) fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    // Damage to headers has the most effect: half of all places are among the first octets.
    let reach = if random.percent(50) { bytes.len().min(96) } else { bytes.len() };
    let at = random.below(reach as u64) as usize;
    let octet = random.next() as u8;
    let piece = random.between(1, PIECE) as usize;
    match random.below(9) {
        0 => bytes.truncate(at),
        1 => bytes.extend(std::iter::repeat_n(octet, piece * 4)),
        2 => {
            bytes.splice(at..at, std::iter::repeat_n(octet, piece));
        }
        3 => {
            bytes.drain(at..bytes.len().min(at + piece));
        }
        4 => overwrite(bytes, at, other.get(at..other.len().min(at + piece)).unwrap_or_default()),
        5 => {
            let from = random.below(bytes.len() as u64) as usize;
            let copied = bytes[from..bytes.len().min(from + piece)].to_vec();
            overwrite(bytes, at, &copied);
        }
        6 => overwrite(bytes, at, &[EDGES[random.below(8) as usize]]),
        7 => overwrite(bytes, at, &[octet]),
        _ => {
            if let Some(place) = bytes.get_mut(at) {
                *place ^= 1 << random.below(8);
            }
        }
    }
}

/// Writes `new` at `at`, as far as there is room for it.
fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    let places = bytes.get_mut(at..).unwrap_or_default();
    places.iter_mut().zip(new).for_each(|(place, octet)| *place = *octet);
}
