//! `new`: a package to begin with.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::New;
use crate::failure::{Failure, Outcome};

/// The files of a new package. `{name}`, `{handler}` and `{cora}` are filled in.
const FILES: [(&str, &str); 4] = [
    ("Cargo.toml", include_str!("manifest.txt")),
    ("build.rs", include_str!("build.txt")),
    ("cora.toml", include_str!("plan.txt")),
    ("src/main.rs", include_str!("main.txt")),
];

pub(crate) fn run(new: &New) -> Outcome {
    let name = new.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    check(name)?;
    if new.path.exists() {
        return Err(Failure::Usage(format!("`{}` exists already", new.path.display())));
    }
    let cora = source(new)?;
    let handler = name.replace('-', "_");
    for (file, text) in FILES {
        let text = text.replace("{name}", name).replace("{handler}", &handler);
        write(&new.path.join(file), &text.replace("{cora}", &cora))
            .map_err(|error| Failure::Failed(format!("`{file}` can't be written: {error}")))?;
    }
    eprintln!(
        "made `{name}`; try: cargo cora run {} --nic native --in some.pcap --out out.pcap",
        if new.path.components().count() > 1 {
            new.path.display().to_string()
        } else {
            format!("./{name}")
        }
    );
    Ok(ExitCode::SUCCESS)
}

/// A package's name is also the handler's here, but for hyphens.
fn check(name: &str) -> Result<(), Failure> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
    let goes_on_well = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter)
    };
    if starts_well && name.chars().all(goes_on_well) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`{name}` can't be a package's name here: small letters, digits, `-` and `_`, a letter first"
    )))
}

/// Where the new package gets Cora from.
fn source(new: &New) -> Result<String, Failure> {
    let Some(directory) = &new.cora else {
        return Ok(format!("version = \"{}\"", env!("CARGO_PKG_VERSION")));
    };
    let path = directory.canonicalize().ok().filter(|path| path.join("cora-core").is_dir());
    let path = path.ok_or_else(|| {
        Failure::Usage(format!("`{}` is no checkout of Cora", directory.display()))
    })?;
    Ok(format!("path = {:?}", path.display().to_string()))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text)
}
