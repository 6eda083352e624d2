//! `cargo xtask words`: the language test.
//!
//! | figure | of | rule | goal |
//! | --- | --- | --- | --- |
//! | `per_thousand` | a crate | *what*, *whose*, *whoever* in 1,000 words of its comments | 4 |
//! | `over_100_columns` | a crate | lines with a comment that are longer than 100 columns | 0 |
//! | `messages_per_thousand` | a crate | the same words in 1,000 of its messages | 4 |
//! | `mean_sentence` | a page | words of a sentence in the mean | 18 |
//! | `per_thousand` | a page | the same words in 1,000 of the page's prose | 4 |
//!
//! A crate is a package of the workspace. Each Rust file belongs to the package with the nearest
//! manifest, tests and examples included. Comments are `//`, `///` and `//!`. A message is a string
//! literal of three words and more, outside tests. A page is README.md, ARCHITECTURE.md,
//! CHANGELOG.md or a file below `docs/`; [`prose`] says which of its text is prose, and where a
//! sentence ends.
//!
//! Pages have to meet the goals. A crate may have an [`allowance`]: a figure above the goal that
//! must fall.

mod allowance;
mod count;
pub(crate) mod files;
mod prose;
mod report;
mod source;

use std::path::Path;

use allowance::Allowances;
use count::{Crate, Page};

/// The file with the allowances.
const ALLOWANCES: &str = "tests/golden/words.txt";

/// Of a thousand words.
const GOAL_WORDS: f64 = 4.0;

/// Words.
const GOAL_SENTENCE: f64 = 18.0;

/// The figures of a repository.
#[derive(Debug, Default)]
struct Figures {
    /// By name of the package.
    crates: Vec<(String, Crate)>,
    /// By path.
    pages: Vec<(String, Page)>,
}

/// The command, with the words behind its name.
pub(crate) fn run(options: &[String]) -> Result<(), String> {
    let figures = || measure(crate::root());
    match options.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => print!("{}", report::table(&figures()?)),
        ["--json"] => println!("{}", report::json(&figures()?)),
        ["--check"] => return check(),
        ["--lower"] => return lower(&figures()?),
        _ => return Err("usage: cargo xtask words [--json | --check | --lower]".to_owned()),
    }
    Ok(())
}

/// The step of the tests: fails with every figure that misses its goal or its allowance.
pub(crate) fn check() -> Result<(), String> {
    let allowances = Allowances::read(&crate::root().join(ALLOWANCES))?;
    let faults = faults(&measure(crate::root())?, &allowances);
    if faults.is_empty() { Ok(()) } else { Err(format!("words:\n  {}", faults.join("\n  "))) }
}

fn faults(figures: &Figures, allowances: &Allowances) -> Vec<String> {
    let mut faults = allowances.faults(&figures.crates);
    for (path, page) in &figures.pages {
        let (mean, words) = (page.mean_sentence(), page.words.per_thousand());
        if mean > GOAL_SENTENCE {
            faults.push(format!("{path}: {mean:.1} words a sentence, at most {GOAL_SENTENCE}"));
        }
        if words > GOAL_WORDS {
            let rule = format!("{words:.1} of 1,000 words are {}", count::PRONOUNS.join(", "));
            faults.push(format!("{path}: {rule}, at most {GOAL_WORDS}"));
        }
    }
    faults
}

/// Writes the allowances anew, each at most as high as it was.
fn lower(figures: &Figures) -> Result<(), String> {
    let path = crate::root().join(ALLOWANCES);
    let lowered = Allowances::read(&path)?.lowered(&figures.crates);
    std::fs::write(&path, lowered.to_string()).map_err(|error| format!("{ALLOWANCES}: {error}"))
}

fn measure(root: &Path) -> Result<Figures, String> {
    let mut figures = Figures::default();
    for package in files::packages(root)? {
        let mut counted = Crate::default();
        for file in &package.sources {
            counted.add(&source::read(&files::text(file)?), files::is_test(root, file));
        }
        figures.crates.push((package.name, counted));
    }
    for page in files::pages(root)? {
        let path = files::inside(root, &page);
        figures.pages.push((path, Page::of(&prose::sentences(&files::text(&page)?))));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::{Figures, faults};
    use crate::words::allowance::Allowances;
    use crate::words::count::{Crate, Page};
    use crate::words::{prose, source};

    #[test]
    fn a_page_must_meet_both_goals() {
        let long = "Word ".repeat(19) + ".";
        let page = |text: &str| Page::of(&prose::sentences(text));
        let pages = vec![
            ("long.md".to_owned(), page(&long)),
            ("clause.md".to_owned(), page("It says what it does.")),
            ("good.md".to_owned(), page("It names its purpose.")),
        ];
        let figures = Figures { pages, ..Figures::default() };
        let faults = faults(&figures, &Allowances::default());
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("long.md: 19.0 words a sentence"), "{faults:?}");
        assert!(faults[1].starts_with("clause.md: 200.0 of 1,000"), "{faults:?}");
    }

    #[test]
    fn a_crate_without_an_allowance_must_meet_the_goals() {
        let mut wordy = Crate::default();
        wordy.add(&source::read("// What it does.\nlet a = \"say what it is\";\n"), false);
        wordy.add(&source::read(&format!("//! {}\n", "word ".repeat(30))), false);
        let figures = Figures { crates: vec![("wordy".to_owned(), wordy)], ..Figures::default() };
        let faults = faults(&figures, &Allowances::default());
        assert_eq!(faults.len(), 3, "{faults:?}");
    }
}
