//! The search against two oracles that share nothing with it, and the work it takes.
//!
//! | module | what |
//! | --- | --- |
//! | `generator` | random problems, shared with the benchmark |
//! | `exhaustive` | the optimum by trying everything; `small` holds the search against it |
//! | `milp` | the optimum by another solver; `large` holds the search against it |
//! | `promises` | ties, proofs, contradictions, bytes |
//! | `work` | how much work it is, and how much time |

mod exhaustive;
mod generator;
mod large;
mod milp;
mod promises;
mod small;
mod work;

use cora_plan::search::Problem;

/// What makes a problem of a seed, so many switches, and so many classes.
type Maker = fn(u64, usize, usize) -> Problem;

/// Makers of problems that always have a solution.
const MAKERS: [(&str, Maker); 2] = [("chain", generator::chain), ("packed", generator::packed)];
