//! The command lines of the pages, with their places and as written.

use std::path::Path;

use cora_tests::workshop::{EXAMPLES, root};

/// A command line of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// File and line.
    pub(crate) place: String,
    pub(crate) text: String,
    /// Whether it is in running text, which may name a command without its arguments.
    pub(crate) is_named: bool,
}

/// Fences of blocks with command lines.
const SHELLS: [&str; 5] = ["", "sh", "text", "console", "bash"];

/// Returns all command lines of README, docs and the pages of the examples.
pub(crate) fn all() -> Vec<Written> {
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(markdown("docs"));
    pages.extend(markdown("docs/results"));
    pages.extend(EXAMPLES.map(|name| format!("examples/{name}/README.md")));
    pages.retain(|page| root().join(page).is_file());
    pages.iter().flat_map(|page| of_page(page, &read(page))).collect()
}

pub(crate) fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

fn markdown(directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(directory)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_page = |name: &String| Path::new(name).extension().is_some_and(|it| it == "md");
    let mut pages: Vec<String> =
        names.filter(is_page).map(|name| format!("{directory}/{name}")).collect();
    pages.sort();
    pages
}

/// Returns the command lines of a page with this text.
pub(crate) fn of_page(page: &str, text: &str) -> Vec<Written> {
    let mut written = Vec::new();
    let mut fence: Option<String> = None;
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let place = format!("{page}:{number}");
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language.trim().to_owned()) };
            continue;
        }
        match &fence {
            Some(language) if SHELLS.contains(&language.as_str()) => {
                let mut whole = line.to_owned();
                while let Some(before) = whole.strip_suffix('\\') {
                    let next = lines.next().map_or("", |(_, next)| next);
                    whole = format!("{before}{}", next.trim_start());
                }
                if let Some(text) = shell(&whole) {
                    written.push(Written { place, text, is_named: false });
                }
            }
            Some(_) => {}
            None => {
                // In a table, a bar within a cell is escaped.
                let line = line.replace("\\|", "|");
                let spans = line.split('`').skip(1).step_by(2).filter(|text| is_command(text));
                let named = |text: &str| Written {
                    place: place.clone(),
                    text: text.to_owned(),
                    is_named: true,
                };
                written.extend(spans.map(named));
            }
        }
    }
    written
}

/// Returns the command of a shell line, without redirections, pipes and comments.
fn shell(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = line.split(" #").next().unwrap_or(line);
    if !is_command(line) {
        return None;
    }
    let mut depth = 0;
    let end = line.char_indices().find(|(at, letter)| {
        depth += i32::from(*letter == '[') - i32::from(*letter == ']');
        let rest = &line[*at..];
        depth == 0 && [" | ", " > ", " && ", "; ", " 2>"].iter().any(|mark| rest.starts_with(mark))
    });
    Some(end.map_or(line, |(at, _)| &line[..at]).trim().to_owned())
}

/// Returns whether the text begins with a command that has Cora's options.
fn is_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match first {
        "cargo" => ["cora", "xtask"].contains(&second),
        program => is_program(program) && ["run", "graph", "plan"].contains(&second),
    }
}

/// Returns whether the word is a program of Cora: an example, or one that a page makes.
pub(crate) fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    EXAMPLES.contains(&name) || ["my-program", "my-nf", "syn-limiter"].contains(&name)
}

#[test]
fn command_lines_are_found_where_they_stand() {
    let text = "Type `cargo cora run a.b --nic off|native`.\n\n```sh\ncargo cora plan nat \\\n  --mpps 2   # fast\n\
                $ nat run --in a | less\nls\n```\n```rust\ncargo cora nothing\n```\n| `cargo cora graph x --format a\\|b` | `nat` |\n";
    let found: Vec<(String, String)> =
        of_page("p", text).into_iter().map(|written| (written.place, written.text)).collect();
    let wanted = [
        ("p:1", "cargo cora run a.b --nic off|native"),
        ("p:4", "cargo cora plan nat --mpps 2"),
        ("p:6", "nat run --in a"),
        ("p:12", "cargo cora graph x --format a|b"),
    ];
    assert_eq!(found, wanted.map(|(place, text)| (place.to_owned(), text.to_owned())));
}
