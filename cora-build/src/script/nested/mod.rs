//! The NIC half: the same package, built again for the NIC's target by a second cargo.
//!
//! With feature `nic` on, in a build that is not for the NIC itself:
//!
//! 1. If the NIC's target is not installed, the error has the command that installs it.
//! 2. `cargo build` builds the same package with the same features and profile, except for `flags`.
//!    It uses a separate target directory (`<target>/nic`), because the outer cargo holds the lock
//!    of its own. `CORA_NIC_PROFILE` selects another profile: a host half with a fast build can
//!    contain a release build of the NIC half.
//! 3. The executable must be a static one for aarch64, and is copied to `OUT_DIR/nic-image`.
//! 4. The outer cargo gets the list of its source files, so that a change rebuilds it.
//!
//! `CORA_SKIP_NIC=1` skips all of this, for editors.

mod environment;
mod flags;
mod image;
pub(super) mod link;
mod profile;
mod told;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use profile::VARIABLE;
use quote::ToTokens as _;

use super::cargo::environment::cleaned;
use super::source::mentions;
use crate::diag::codes;
use crate::diag::fault::{Fault, fault};
use link::is_for_the_nic;

/// The NIC's target.
pub const TARGET: &str = "aarch64-unknown-none";

/// Whether this build script has to build the NIC half.
pub fn wanted() -> bool {
    let skipped = env::var("CORA_SKIP_NIC").is_ok_and(|value| !value.is_empty() && value != "0");
    let feature = env::var_os("CARGO_FEATURE_NIC").is_some();
    feature && !is_for_the_nic() && !skipped
}

/// Builds the NIC half of the package in `directory` with root `root`, and copies it to `image`.
/// Returns its source files. The error is ready to show.
pub fn run(directory: &Path, root: &Path, image: &Path) -> Result<BTreeSet<PathBuf>, String> {
    installed(TARGET)?;
    let layout = environment::Layout::of(image, env::var("TARGET").ok().as_deref())
        .ok_or_else(|| failed("`OUT_DIR` is not within a target directory"))?;
    let profile = profile::Profile::of_this_build(&layout, directory);
    let messages = cargo(directory, &layout, &profile)?;
    let built = image::executable(&messages, root)
        .ok_or_else(|| failed(&format!("cargo tells no executable of `{}`", root.display())))?;
    let bytes = std::fs::read(&built)
        .map_err(|error| failed(&format!("`{}` can't be read: {error}", built.display())))?;
    image::check(&bytes).map_err(|why| failed(&format!("`{}` {why}", built.display())))?;
    std::fs::write(image, &bytes)
        .map_err(|error| failed(&format!("`{}` can't be written: {error}", image.display())))?;
    let dependencies = std::fs::read_to_string(built.with_extension("d")).unwrap_or_default();
    // Files from the build itself are newer than this run, and would rerun it forever.
    let mut files = image::dependencies(&dependencies);
    files.retain(|file| !file.starts_with(&layout.target));
    Ok(files)
}

/// The words that leave `std` out: of a program, which has a `main` of Cora's, and of a library.
pub const OF_A_PROGRAM: &[&str] = &["no_std", "no_main"];
/// As [`OF_A_PROGRAM`].
pub const OF_A_LIBRARY: &[&str] = &["no_std"];

/// The fault of a root with this text and name, if it is for a NIC half but links `std`.
pub fn without_std(wanted: &[&str], text: &str, name: &str) -> Result<(), Fault> {
    let root = syn::parse_file(text);
    let words = |attribute: &syn::Attribute| {
        let words = mentions(&attribute.to_token_stream());
        words.into_iter().map(|(word, _)| word).collect::<Vec<_>>()
    };
    let attributes = root.map(|file| file.attrs).unwrap_or_default();
    let words: Vec<String> = attributes.iter().flat_map(words).collect();
    if wanted.iter().all(|wanted| words.iter().any(|word| word == wanted)) {
        return Ok(());
    }
    let message = "the NIC half has no `std`, and the root of the crate does not leave it out";
    let cure = if wanted == OF_A_LIBRARY {
        "begin it with `#![cfg_attr(target_os = \"none\", no_std)]`"
    } else {
        "begin it with `#![cfg_attr(all(feature = \"nic\", target_os = \"none\"), no_std, no_main)]`"
    };
    Err(fault(codes::STD_AT_THE_NIC, message.to_owned(), cure, Some((name, 1, text))))
}

/// Whether the target's core library is installed.
fn installed(target: &str) -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .map_err(|error| failed(&format!("rustc does not run: {error}")))?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if output.status.success() && libraries.is_dir() {
        return Ok(());
    }
    let (message, cure) =
        ("the NIC target is not installed", format!("run: rustup target add {target}"));
    Err(fault(codes::NIC_TARGET_MISSING, message.to_owned(), &cure, None).to_string())
}

/// Runs the second cargo; returns its messages.
fn cargo(
    directory: &Path,
    layout: &environment::Layout,
    profile: &profile::Profile,
) -> Result<String, String> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--message-format=json-render-diagnostics", "--no-default-features"])
        .args(["--target", TARGET, "--profile", &profile.name])
        .arg("--manifest-path")
        .arg(directory.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(layout.target.join("nic"))
        .args(["--features", &environment::features(env::vars())])
        .args(flags::smaller(&profile.name, profile.level.as_deref()))
        .env_clear()
        .envs(cleaned(env::vars_os()))
        .envs(flags::variables(TARGET))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The NIC half uses the versions that the outer cargo resolved.
    if directory.ancestors().any(|ancestor| ancestor.join("Cargo.lock").is_file()) {
        command.arg("--locked");
    }
    let ended = told::run(&mut command);
    match ended.map_err(|error| failed(&format!("cargo does not run: {error}")))? {
        (true, messages) => Ok(messages),
        (false, _) => Err(failed("the compiler's errors stand above")),
    }
}

fn failed(why: &str) -> String {
    let message = format!("the NIC half does not build: {why}");
    let cure = "where the compiler misses `Vec`, `String`, `println!` or `std`: handlers, helpers and `Configure` are \
                compiled for the NIC, too, where there is only `core`; `CORA_SKIP_NIC=1` builds the host half alone";
    fault(codes::NIC_BUILD_FAILED, message, cure, None).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_has_to_leave_std_out() {
        let usual = "//! A page.\n#![cfg_attr(all(feature = \"nic\", target_os = \"none\"), no_std, no_main)]\nfn f() {}\n";
        assert_eq!(without_std(OF_A_PROGRAM, usual, "src/main.rs"), Ok(()));
        for lacking in
            ["fn no_std() { no_main() }", "#![no_std]\nfn f() {}", "//! no_std, no_main\n"]
        {
            let told = without_std(OF_A_PROGRAM, lacking, "src/main.rs").unwrap_err().to_string();
            assert!(told.starts_with("error[CORA0129]: "), "{told}");
            assert!(told.contains("--> src/main.rs:1\n"), "{told}");
        }
        let library = "#![cfg_attr(target_os = \"none\", no_std)]\n";
        assert_eq!(without_std(OF_A_LIBRARY, library, "src/lib.rs"), Ok(()));
        let told = without_std(OF_A_LIBRARY, "fn f() {}", "src/lib.rs").unwrap_err().to_string();
        assert!(told.contains("`#![cfg_attr(target_os = \"none\", no_std)]`"), "{told}");
    }

    #[test]
    fn a_target_that_is_not_installed_is_told_with_what_mends_it() {
        // Known to every rustc, and nowhere installed by default.
        let told = installed("mipsel-sony-psx").unwrap_err();
        assert_eq!(
            told,
            "error[CORA0123]: the NIC target is not installed\n \
             = help: run: rustup target add mipsel-sony-psx\n"
        );
    }
}
