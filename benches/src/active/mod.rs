//! Items that come to a message, against messages that go to the items.
//!
//! | module | concept |
//! | --- | --- |
//! | `reads` | what a fetched read, its check and a commit cost, on one thread |
//! | `store` | the example `mica`: most questions answered from copies, or all at the host |

mod reads;
mod store;

use std::path::Path;

use crate::figure::Figure;

/// The prefix of these figures.
pub(crate) const NAME: &str = "active";

/// Measures all of it; the store only with its programs, under either plan.
pub(crate) fn run(
    programs: Option<(&Path, &Path)>,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    reads::run(quick, tell);
    match programs {
        Some((fetched, shipped)) => store::run(fetched, shipped, quick, tell),
        None => Ok(()),
    }
}
