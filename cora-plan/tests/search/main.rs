//! The search against two independent oracles, and its effort.
//!
//! | module | contents |
//! | --- | --- |
//! | `generator` | random problems, shared with the benchmark |
//! | `exhaustive` | the optimum by exhaustive search; `small` compares the search with it |
//! | `milp` | the optimum by another solver; `large` compares the search with it |
//! | `promises` | ties, proofs, contradictions, bytes |
//! | `work` | effort and time |

mod exhaustive;
mod generator;
mod large;
mod milp;
mod promises;
mod small;
mod work;

use cora_plan::search::Problem;

/// Generates a problem from a seed, a number of switches and a number of classes.
type Maker = fn(u64, usize, usize) -> Problem;

/// Generators of problems that always have a solution.
const MAKERS: [(&str, Maker); 2] = [("chain", generator::chain), ("packed", generator::packed)];
