//! `cargo xtask deb`: a package of the command for Debian and its descendants, by cargo-deb.
//!
//! `cargo-cora/Cargo.toml` says what is in it. Completions and the manual are the command's own
//! output: they are made first, where that file looks for them.

use std::fs;
use std::path::Path;

use crate::{cargo, command, need, output, run, target};

/// The directory of the files that are made, in Cargo's target directory.
const MADE: &str = "release/deb";
/// The shells that Debian has a place for, and their files.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "cargo-cora.bash"), ("zsh", "_cargo-cora"), ("fish", "cargo-cora.fish")];
/// The directory of the manual, in there.
const MANUAL: &str = "man";

/// Builds the command, makes its files, and the package.
pub(crate) fn make() -> Result<(), String> {
    need::cargo_deb()?;
    run(&mut cargo(&["build", "--release", "--locked", "--package", "cargo-cora"]))?;
    files(&target("release/cargo-cora"), &target(MADE))?;
    run(&mut cargo(&["deb", "--no-build", "--strip", "--locked", "--package", "cargo-cora"]))
}

/// Has this command write its completions and its manual into this directory, and nothing else is
/// there afterwards.
fn files(built: &Path, into: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", into.display());
    if into.exists() {
        fs::remove_dir_all(into).map_err(failed)?;
    }
    let (built, manual) = (built.display().to_string(), into.join(MANUAL));
    fs::create_dir_all(&manual).map_err(failed)?;
    for (shell, file) in COMPLETIONS {
        let script = output(command(&built, &["completions", shell]))
            .ok_or_else(|| format!("{built} completions {shell}: it gave none"))?;
        fs::write(into.join(file), script).map_err(failed)?;
    }
    run(&mut command(&built, &["man", &manual.display().to_string()]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::root;

    use super::*;

    /// Each file of the package: from where, and to where.
    fn assets() -> Vec<(String, String)> {
        let manifest =
            fs::read_to_string(root().join("cargo-cora/Cargo.toml")).expect("it is there");
        let manifest: toml::Table = manifest.parse().expect("it is TOML");
        let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("a list");
        let word = |of: &toml::Value| of.as_str().expect("text").to_owned();
        assets.iter().map(|asset| (word(&asset[0]), word(&asset[1]))).collect()
    }

    #[test]
    fn each_file_of_the_package_is_there_or_is_made() {
        let mut made: BTreeSet<String> =
            COMPLETIONS.iter().map(|(_, file)| format!("target/{MADE}/{file}")).collect();
        made.insert(format!("target/{MADE}/{MANUAL}/*.1"));
        made.insert("target/release/cargo-cora".to_owned());
        for (from, to) in assets() {
            assert!(to.starts_with("usr/"), "{from}: {to}");
            let is_there = root().join("cargo-cora").join(&from).is_file();
            assert!(made.remove(&from) != is_there, "{from}");
        }
        assert!(made.is_empty(), "they are made, and not in the package: {made:?}");
    }

    #[test]
    fn the_package_has_what_its_page_says() {
        let page = fs::read_to_string(root().join("docs/operations.md")).expect("it is there");
        for (from, to) in assets() {
            // A directory, or a file in one.
            let directory = to.rsplit_once('/').map_or("", |(directory, _)| directory);
            assert!(page.contains(&format!("`/{directory}")), "{from}: the page has no /{to}");
        }
    }
}
