//! Checks that `docs/diagnostics.md` is exactly the catalogue.

use std::fmt::Write as _;
use std::path::Path;

#[test]
fn the_page_lists_the_catalogue() {
    let mut page = String::from(
        "# Diagnostics\n\nEvery error and warning that Cora's macros and build script give, by code. Made from the \
         catalogue; `cargo cora explain <code>` prints one.\n",
    );
    for entry in cora_build::diag::entries() {
        let _ = write!(
            page,
            "\n## {}: {}\n\n{}\n\n**Cure:** {}\n\n```rust\n{}\n```\n",
            entry.code,
            entry.title,
            entry.cause,
            entry.cure,
            entry.example.trim_end()
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/diagnostics.md");
    if std::env::var_os("CORA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == page,
        "docs/diagnostics.md is out of date; make it: CORA_BLESS=1 cargo test -p cora-build --test diagnostics_doc"
    );
}
