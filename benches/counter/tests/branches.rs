//! The tests of `branches`, which stand beside it: the plugin itself can be loaded by QEMU alone.
#![expect(dead_code, reason = "the plugin uses it, which is not here")]

#[path = "../src/branches.rs"]
mod branches;
