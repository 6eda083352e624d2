//! Results that are kept in files, so that every change of them is visible.

use std::path::Path;

use crate::workshop::root;

/// Returns whether `CORA_BLESS=1` asks to rewrite the files.
pub fn blessing() -> bool {
    std::env::var_os("CORA_BLESS").is_some_and(|value| value == "1")
}

/// Compares with `tests/golden/<name>`; the error names the first line that differs.
pub fn check(name: &str, text: &str) -> Result<(), String> {
    let path = root().join("tests/golden").join(name);
    if blessing() {
        return write(&path, text);
    }
    let kept = std::fs::read_to_string(&path).map_err(|error| unlike(name, &error.to_string()))?;
    if kept == text {
        return Ok(());
    }
    let place = kept.lines().zip(text.lines()).position(|(kept, now)| kept != now);
    let place = place.unwrap_or_else(|| kept.lines().count().min(text.lines().count()));
    let line = |text: &str| text.lines().nth(place).unwrap_or("(its end)").to_owned();
    let (before, now) = (line(&kept), line(text));
    Err(unlike(name, &format!("line {}:\n  was  {before}\n  is   {now}", place + 1)))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let directory = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

fn unlike(name: &str, how: &str) -> String {
    format!(
        "not as in tests/golden/{name}: {how}\n(CORA_BLESS=1 cargo test -p cora-tests writes it anew)"
    )
}
