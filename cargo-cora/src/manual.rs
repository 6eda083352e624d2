//! `man`: the manual, a page for each command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;

use crate::arguments::Manual;
use crate::command_of_file;
use crate::failure::{Failure, Outcome};
use crate::tell::tell_line;

pub(crate) fn run(manual: &Manual) -> Outcome {
    let directory = &manual.directory;
    let failed = |error| Failure::Failed(format!("{}: {error}", directory.display()));
    let pages = write(directory).map_err(failed)?;
    tell_line(format_args!("{} pages are in {}", pages.len(), directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes all pages into this directory, which is made if it is not there.
fn write(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::create_dir_all(directory)?;
    pages().into_iter().map(|command| Man::new(command).generate_to(directory)).collect()
}

/// The command and those behind it, as far as help shows them.
fn pages() -> Vec<Command> {
    let mut whole = command_of_file().disable_help_subcommand(true);
    whole.build();
    let mut pages = vec![whole];
    let mut next = 0;
    while let Some(command) = pages.get(next) {
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let inner: Vec<Command> = shown.cloned().collect();
        pages.extend(inner);
        next += 1;
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_that_names_its_options() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().join("share/man1");
        let written = write(&place).expect("it is written");
        let command = command_of_file();
        let shown: Vec<_> = command.get_subcommands().filter(|it| !it.is_hide_set()).collect();
        assert_eq!(written.len(), shown.len() + 1);
        for command in shown {
            let page = place.join(format!("cargo-cora-{}.1", command.get_name()));
            let text = fs::read_to_string(&page).unwrap_or_else(|why| panic!("{page:?}: {why}"));
            assert!(text.lines().any(|line| line.starts_with(".TH cargo-cora-")), "{text}");
            for option in command.get_arguments().filter(|it| !it.is_hide_set()) {
                let Some(name) = option.get_long() else { continue };
                let name = format!("\\-\\-{}", name.replace('-', "\\-"));
                assert!(text.contains(&name), "{page:?} has no {name}");
            }
        }
        let first = fs::read_to_string(place.join("cargo-cora.1")).expect("a page");
        assert!(first.contains("cargo\\-cora\\-status(1)"), "{first}");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let failed = run(&Manual { directory: file.path().join("man") });
        let told = failed.expect_err("a file has nothing in it").to_string();
        assert!(told.contains(&file.path().display().to_string()), "{told}");
    }
}
