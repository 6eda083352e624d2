//! In place of `dpdk` where it is not installed.

use crate::figure::Figure;

/// Says what lacks.
pub(crate) fn run(_: bool, _: &dyn Fn(&str) -> bool, _: &mut dyn FnMut(Figure)) {
    eprintln!(
        "DPDK is not here, its rows lack. Type: apt-get install libdpdk-dev pkg-config, and build again"
    );
}
