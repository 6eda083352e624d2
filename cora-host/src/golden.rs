//! JSON in `tests/golden/json`, which docs/json.md is held to (cargo-cora's test `json`).

use std::path::Path;

use serde::Serialize;

/// Fails unless the file of this name has the JSON of this value. `CORA_BLESS=1` writes it.
#[track_caller]
pub(crate) fn json(name: &str, of: &impl Serialize) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/json");
    let path = directory.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(of).expect("JSON") + "\n";
    if std::env::var_os("CORA_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::write(&path, &text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{}: it is another now (CORA_BLESS=1 cargo test -p cora-host --lib golden):\n{text}",
        path.display()
    );
}
