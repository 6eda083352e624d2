//! What a user sees of a fault: one case per code of the catalogue, and what must compile.
//!
//! The messages are those of the pinned toolchain. `TRYBUILD=overwrite` writes them anew.

#[test]
fn faults_are_explained_and_what_is_right_compiles() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}
