//! The cost of long frames that the NIC passes on. Two programs have one handler that lets every
//! packet pass at the host; one takes the packet, the other its headers. In the latter, frames go
//! there as heads, and their rests stay at the NIC. Both halves are on a core each and always busy.

use std::path::Path;

use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

const HEADERS: &str = "headers-chain";
const WHOLE: &str = "parsed-chain";
/// Lengths of frames in a capture; a quick run takes the first one alone.
const LENGTHS: [usize; 2] = [1514, 600];
/// Few flows, so that the frames stay in a cache, where a NIC would put them.
const FLOWS: u64 = 300;
/// Shortest duration of a turn, in milliseconds.
const TURN: &str = "60";

/// Measures both programs in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let lengths = LENGTHS.into_iter().take(if quick { 1 } else { LENGTHS.len() });
    for length in lengths {
        let traffic = Traffic::from_inside(FLOWS, Skew::Uniform, 0);
        let capture = traffic.save_padded(&programs.join("long.pcap"), length)?;
        let start = |program| Program::start_both(&programs.join(program), &capture, 0);
        let (mut heads, mut whole) = (start(HEADERS)?, start(WHOLE)?);
        let mut turns = [vec![], vec![]];
        for _ in 0..if quick { 7 } else { 31 } {
            for (program, turns) in [&mut heads, &mut whole].into_iter().zip(&mut turns) {
                turns.push(program.ask_for::<crate::program::Turn>(TURN)?.ns_per_packet());
            }
        }
        let [heads, whole] = turns.map(Turns::new);
        let name = format!("heads/passed on, {length} bytes");
        tell(Figure::of_times(name, &heads, &whole, "frames whole", 1.0));
    }
    Ok(())
}
