//! Reads the program, plans it, and builds its NIC half when the feature `nic` is on.
fn main() {
    cora::build();
}
