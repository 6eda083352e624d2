//! The tests of `branches`, kept beside it: only QEMU can load the plugin itself.
#![expect(dead_code, reason = "the plugin uses it, which is not here")]

#[path = "../src/branches.rs"]
mod branches;
