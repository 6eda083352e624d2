//! Replaces `dpdk` on a machine without it.

use crate::figure::Figure;

/// Prints the missing packages.
pub(crate) fn run(_: bool, _: &dyn Fn(&str) -> bool, _: &mut dyn FnMut(Figure)) {
    eprintln!(
        "DPDK is not here, its rows lack. Type: apt-get install libdpdk-dev pkg-config, and build again"
    );
}
