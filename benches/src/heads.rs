//! What long frames cost that the NIC passes on: two programs whose one handler lets every packet
//! pass at the host, and that differ in what it takes, the packet or its headers. Of the latter,
//! frames go there as heads, and their rests stay at the NIC. Both halves are on a core each and
//! always busy.

use std::path::Path;

use crate::figure::Figure;
use crate::keys::Skew;
use crate::program::Program;
use crate::traffic::Traffic;
use crate::turns::Turns;

const HEADERS: &str = "headers-chain";
const WHOLE: &str = "parsed-chain";
/// Lengths of frames as a capture holds them; the first alone where there is little time.
const LENGTHS: [usize; 2] = [1514, 600];
/// Few, so that the frames stand in a cache, as a NIC puts them there.
const FLOWS: u64 = 300;
/// How long a turn takes at least, in milliseconds.
const TURN: &str = "60";

/// Measures both, in the programs that stand in `programs`.
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
