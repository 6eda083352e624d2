//! `new`: a package to begin with.
//!
//! | module | what |
//! | --- | --- |
//! | `source` | where it gets Cora from |
//! | `capture` | packets to try it on |
//! | `ci` | the workflow of a package that stands alone |

mod capture;
mod ci;
mod source;

use std::fs;
use std::path::Path;
use std::process::{ExitCode, Stdio};

use serde_json::Value;

use crate::arguments::New;
use crate::failure::{Failure, Outcome};
use crate::package::cargo;
use source::Source;

/// The files of a new package. `{name}`, `{handler}` and `{cora}` are filled in.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("manifest.txt")),
    ("rust-toolchain.toml", include_str!("toolchain.txt")),
    (".gitignore", "/target\n"),
    ("build.rs", include_str!("build.txt")),
    ("cora.toml", include_str!("plan.txt")),
    ("src/main.rs", include_str!("main.txt")),
];

/// What its Cargo.toml has besides, where it is no member of a workspace.
const PROFILES: &str = include_str!("profiles.txt");

pub(crate) fn run(new: &New) -> Outcome {
    let name = new.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check(name)?;
    if new.path.exists() {
        return Err(Failure::Usage(format!("`{}` exists already", new.path.display())));
    }
    let source = Source::of(new.cora.as_deref())?;
    let handler = name.replace('-', "_");
    for (file, text) in FILES {
        let text = text.replace("{name}", name).replace("{handler}", &handler);
        write(&new.path.join(file), &text.replace("{cora}", &source.dependency()))?;
    }
    capture::write(&new.path.join("try.pcap")).map_err(|error| unwritten("try.pcap", &error))?;
    if !is_member(&new.path)? {
        complete(&new.path, name, &source)?;
    }
    eprintln!("made `{name}`; try: {}", first_steps(&new.path, &source));
    Ok(ExitCode::SUCCESS)
}

/// A package's name is also the handler's here, but for hyphens.
fn check(name: &str) -> Result<(), Failure> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let goes_on_well = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter)
    };
    if !starts_well || !name.chars().all(goes_on_well) {
        return Err(Failure::Usage(format!(
            "`{name}` can't be a package's name here: small letters, digits, `-` and `_`, a letter first"
        )));
    }
    let handler = name.replace('-', "_");
    if TAKEN.contains(&handler.as_str()) || crates().any(|taken| taken == handler) {
        return Err(Failure::Usage(format!(
            "`{name}` can't be a package's name here: it means something in Rust or to Cargo"
        )));
    }
    Ok(())
}

/// Names that a function or a crate can't have, or shouldn't: keywords, and crates that every
/// program has.
const TAKEN: [&str; 62] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "cora",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "main",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Cora's own crates, which are in every program's lock file.
fn crates() -> impl Iterator<Item = String> {
    const CRATES: [&str; 9] =
        ["build", "control", "core", "host", "macros", "measure", "nic", "plan", "port"];
    CRATES.into_iter().map(|name| format!("cora_{name}"))
}

/// Whether Cargo takes the package for a part of a workspace around it, whose profiles and lock
/// file hold then.
fn is_member(package: &Path) -> Result<bool, Failure> {
    let mut metadata = cargo();
    metadata.args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
        "--offline",
        "--manifest-path",
    ]);
    let output = metadata.arg(package.join("Cargo.toml")).stderr(Stdio::null()).output();
    let output =
        output.map_err(|error| Failure::Failed(format!("cargo doesn't start: {error}")))?;
    // A workspace around it that does not want it is an error.
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let root = metadata["workspace_root"].as_str().map(Path::new);
    Ok(root.is_some_and(|root| root.canonicalize().ok() != package.canonicalize().ok()))
}

/// The rest of a package that stands alone: profiles, a workflow, and the versions that Cora was
/// tested with.
fn complete(package: &Path, name: &str, source: &Source) -> Result<(), Failure> {
    let manifest = package.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| unwritten("Cargo.toml", &error))?;
    write(&manifest, &(text + PROFILES))?;
    write(&package.join(ci::FILE), &ci::workflow(name, source))?;
    let Source::Checkout(checkout) = source else { return Ok(()) };
    // Cargo strikes out what is not needed, and adds the package.
    let copied = fs::copy(checkout.join("Cargo.lock"), package.join("Cargo.lock"));
    copied.map(|_| ()).map_err(|error| unwritten("Cargo.lock", &error))
}

/// What to type next.
fn first_steps(package: &Path, source: &Source) -> String {
    let run = format!(
        "cd {} && cargo cora run --profile dev --nic off --in try.pcap --out out.pcap",
        package.display()
    );
    match source {
        Source::Checkout(checkout) if !is_installed() => format!(
            "{run}\n`cargo cora` is no command outside of the checkout yet; this makes it one: \
             cargo install --locked --path {}",
            checkout.join("cargo-cora").display()
        ),
        _ => run,
    }
}

/// Whether Cargo finds the command: in PATH, or where `cargo install` puts programs.
fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("CARGO_HOME").map(Into::into);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let installed = home.map(|home| home.join("bin"));
    std::env::split_paths(&path).chain(installed).any(|at| at.join("cargo-cora").is_file())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(path, text));
    written.map_err(|error| unwritten(&path.display().to_string(), &error))
}

fn unwritten(file: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("`{file}` can't be written: {error}"))
}

#[cfg(test)]
mod tests {
    use cora_plan::Sides;

    use super::*;

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["my-nf", "cora-firewall", "wheres", "union"] {
            assert!(check(name).is_ok(), "{name}");
        }
        for name in [
            "fn",
            "main",
            "core",
            "std",
            "test",
            "alloc",
            "proc-macro",
            "where",
            "while",
            "yield",
            "typeof",
            "cora",
            "cora-core",
            "My",
            "9",
        ] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    #[test]
    fn the_statement_names_every_plan() {
        let (_, text) = FILES.into_iter().find(|(name, _)| *name == "cora.toml").unwrap();
        let sides = [Sides::Split, Sides::HostOnly, Sides::NicOnly].map(|sides| sides.to_string());
        for plan in sides.iter().map(String::as_str).chain(["best"]) {
            assert!(cora_plan::Statement::named(plan).is_ok(), "{plan}");
            assert!(text.contains(&format!("\"{plan}\"")), "{plan}");
        }
    }
}
