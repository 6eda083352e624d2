//! The files of the repository, and their code.

use std::path::{Path, PathBuf};

/// A text file.
pub(crate) struct File {
    /// From the repository's root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text without comments and with empty literals; lines keep their numbers.
    pub(crate) code: String,
}

pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) lines: usize,
}

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the tests are a member of the workspace").to_owned()
}

/// Returns every text file that Cargo did not make, in order of path.
pub(crate) fn files() -> Vec<File> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.sort();
    paths.into_iter().filter_map(|path| File::open(&path)).collect()
}

/// Returns the Rust files, except those that are wrong on purpose.
pub(crate) fn rust() -> impl Iterator<Item = File> {
    let rust = files().into_iter().filter(|file| file.is_of("rs"));
    rust.filter(|file| !file.path.starts_with("tests/ui/"))
}

/// Adds what is at `path` and below. In a linked work tree `.git` is a file.
fn walk(path: &Path, paths: &mut Vec<PathBuf>) {
    let made = ["target", ".git", "corpus", "artifacts"].iter().any(|name| path.ends_with(name));
    if made || path.join("CACHEDIR.TAG").exists() {
        return;
    }
    if !path.is_dir() {
        return paths.push(path.to_owned());
    }
    for entry in path.read_dir().expect("a directory that can be read") {
        walk(&entry.expect("an entry that can be read").path(), paths);
    }
}

impl File {
    fn open(path: &Path) -> Option<Self> {
        let text = String::from_utf8(std::fs::read(path).ok()?).ok()?;
        let inside = path.strip_prefix(root()).ok()?;
        let path = inside.to_string_lossy().replace('\\', "/");
        let mut file = Self { path, code: text.clone(), text };
        if file.is_of("rs") {
            file.code = code(&file.text);
        }
        Some(file)
    }

    #[track_caller]
    pub(crate) fn read(path: &str) -> Self {
        Self::open(&root().join(path)).unwrap_or_else(|| panic!("{path} can be read"))
    }

    pub(crate) fn is_of(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|it| it == extension)
    }

    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// Returns the file without the items for its tests.
    pub(crate) fn without_tests(mut self) -> Self {
        const MARK: &str = "#[cfg(test)]\n";
        while let Some(at) = self.code.find(MARK) {
            let item = item(&self.code[at + MARK.len()..]).map_or(0, str::len);
            self.code.replace_range(at..at + MARK.len() + item, "");
        }
        self
    }

    /// Returns the numbers of the lines with a word in their code.
    pub(crate) fn words(&self, word: &str) -> Vec<usize> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let has = |line: &str| line.split(|letter| !is_part(letter)).any(|part| part == word);
        let lines = self.code.lines().enumerate();
        lines.filter(|(_, line)| has(line)).map(|(number, _)| number).collect()
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        let starts = self.code.match_indices("fn ").filter(|(at, _)| {
            let before = self.code[..*at].chars().next_back();
            before.is_none_or(|letter| letter.is_whitespace() || letter == '(')
        });
        starts.filter_map(|(at, _)| function(&self.code[at + "fn ".len()..])).collect()
    }
}

/// Reads a function from the text behind its `fn`; `None` if it has no body.
fn function(rest: &str) -> Option<Function> {
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    let body = item(rest).filter(|item| item.ends_with('}'))?;
    Some(Function { name: name.to_owned(), lines: body.lines().count() })
}

/// Returns the item that begins here, up to its semicolon or closing brace.
fn item(rest: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, letter) in rest.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        // Not in `[u8; 4]`, nor behind the `]` of an attribute.
        if depth == 0 && (letter == '}' || letter == ';') {
            return Some(&rest[..=at]);
        }
    }
    None
}

/// Replaces comments by blanks, and empties literals.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (length, instead) = skipped(rest).unwrap_or((0, ""));
        let (gone, kept) = rest.split_at(if length == 0 { letter.len_utf8() } else { length });
        code.push_str(if length == 0 { gone } else { instead });
        code.extend(gone.chars().filter(|it| length > 0 && *it == '\n'));
        rest = kept;
    }
    code
}

/// Returns the length of the comment or literal that begins here, and its replacement.
fn skipped(rest: &str) -> Option<(usize, &'static str)> {
    if rest.starts_with("//") {
        return Some((rest.find('\n').unwrap_or(rest.len()), ""));
    }
    if rest.starts_with("/*") {
        return Some((rest.find("*/").map_or(rest.len(), |at| at + 2), " "));
    }
    if rest.starts_with('"') {
        return Some((closing(rest, '"'), "\"\""));
    }
    if let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&end).map_or(body.len(), |at| at + end.len());
        return Some((rest.len() - body.len() + length, "\"\""));
    }
    let character = rest.strip_prefix('\'')?;
    let is_escape = character.starts_with('\\');
    // A lifetime has no quote behind its first letter.
    let is_literal = is_escape || character.chars().nth(1) == Some('\'');
    is_literal.then(|| (closing(rest, '\''), "' '"))
}

/// Returns the length of a literal, with its closing quote.
fn closing(literal: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in literal.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    literal.len()
}

#[test]
fn code_is_what_is_neither_comment_nor_literal() {
    let text = "let a = \"unsafe \\\" {\"; // unsafe\nlet b: &'a str = r#\"\"{\"#; /* x\ny */ f('\\'', '{')";
    let expected = "let a = \"\"; \nlet b: &'a str = \"\";  \n f(' ', ' ')";
    assert_eq!(code(text), expected);
}
