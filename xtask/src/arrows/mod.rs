//! `cargo xtask arrows`: which crates, and which folders inside a crate, depend on which.
//!
//! A room of a crate is a folder of its `src`, or a file beside its `lib.rs`; a file in a folder is
//! part of the folder. The first file of a crate, which composes all, is none. An arrow is a path
//! from code of one room to another room: by `use`, or where it stands. Tests, comments and strings
//! have no arrows, nor has a folder that says `pub use` of a folder inside it.
//!
//! Rooms stand on floors: each above all rooms that it depends on. Rooms on a circle stand as their
//! heaviest arrows want it, and arrows against those lead up.
//!
//! | module | concept |
//! | --- | --- |
//! | `source` | a file's code, without comments, strings and tests |
//! | `paths` | the paths that code mentions |
//! | `rooms` | a crate's rooms, and the arrows between them |
//! | `crates` | the crates, and the arrows between them |
//! | `graph` | floors, circles, arrows that lead up |
//! | `report` | both as text and JSON |
//! | `allowance` | circles that are there, and may go |

mod allowance;
mod crates;
mod graph;
mod paths;
mod report;
mod rooms;
mod source;

use std::path::Path;

use graph::Graph;

/// Crates whose folders are drawn, each with its rooms.
struct Drawing {
    crates: Graph,
    folders: Vec<(String, Graph)>,
}

/// The command, with the words behind its name.
pub(crate) fn run(options: &[String]) -> Result<(), String> {
    let root = crate::root();
    match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => print!("{}", report::table(&draw(root)?)),
        ["--json"] => println!("{}", report::json(&draw(root)?)),
        ["--check"] => return check(),
        ["--lower"] => return allowance::write(root, &draw(root)?),
        _ => return Err("usage: cargo xtask arrows [--json | --check | --lower]".to_owned()),
    }
    Ok(())
}

/// The step of the tests: no circle between crates, and between folders none that is new.
pub(crate) fn check() -> Result<(), String> {
    let root = crate::root();
    let drawing = draw(root)?;
    let mut faults = allowance::faults(root, &drawing)?;
    let circles = drawing.crates.circles().into_iter();
    faults.extend(circles.map(|circle| format!("crates on a circle: {}", circle.join(", "))));
    if faults.is_empty() { Ok(()) } else { Err(format!("arrows:\n  {}", faults.join("\n  "))) }
}

fn draw(root: &Path) -> Result<Drawing, String> {
    let packages = crates::packages(root)?;
    let folders = packages.iter().filter(|package| package.has_library());
    let folders = folders.map(|package| Ok((package.name.clone(), rooms::draw(&package.home)?)));
    Ok(Drawing {
        crates: crates::draw(&packages),
        folders: folders.collect::<Result<_, String>>()?,
    })
}
