//! The paths that code mentions: those from the crate's root, with the module that they lead to.

/// A path from the root of the crate, and whether it is a `pub use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mentioned {
    pub(super) path: Vec<String>,
    pub(super) is_export: bool,
}

/// All paths in the code of the module `here` that lead anywhere in its crate. A path that begins
/// with the name of a module inside `here` counts where it is used, and not where it is said again
/// inside a block.
pub(super) fn mentioned(code: &str, here: &[String]) -> Vec<Mentioned> {
    let children = children(code);
    let mut found = Vec::new();
    let mut outside = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = next_use(rest) {
        outside.push_str(&rest[..at]);
        let is_export = is_public(&rest[..at]);
        let tree = &rest[at + "use ".len()..];
        let end = tree.find(';').unwrap_or(tree.len());
        let mut paths = Vec::new();
        flatten(&tree[..end], &[], &mut paths);
        for path in paths {
            let path = absolute(&path, here, &children);
            found.extend(path.map(|path| Mentioned { path, is_export }));
        }
        rest = &tree[end..];
    }
    outside.push_str(rest);
    for path in inline(&outside, &children) {
        let path = absolute(&path, here, &children);
        found.extend(path.map(|path| Mentioned { path, is_export: false }));
    }
    found
}

/// The modules that the code declares.
fn children(code: &str) -> Vec<String> {
    let words: Vec<&str> = code.split_whitespace().collect();
    let declared = words.windows(2).filter(|pair| pair[0] == "mod" && pair[1].ends_with(';'));
    declared.map(|pair| pair[1].trim_end_matches(';').to_owned()).collect()
}

/// Where the next `use` begins.
fn next_use(code: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = code[from..].find("use ") {
        let at = from + at;
        if !code[..at].ends_with(is_of_name) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Whether the item whose keyword stands behind this is visible outside its module.
fn is_public(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with("pub")
        || before.ends_with(')')
            && before.rfind("pub(").is_some_and(|at| before[at..].matches(')').count() == 1)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The paths of a tree behind `use`.
fn flatten(tree: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        let names = path.split("::").map(|name| name.trim().to_owned());
        paths.push(before.iter().cloned().chain(names.filter(|name| !name.is_empty())).collect());
        return;
    };
    let names = tree[..open].split("::").map(|name| name.trim().to_owned());
    let before: Vec<String> =
        before.iter().cloned().chain(names.filter(|name| !name.is_empty())).collect();
    let inner = tree.strip_suffix('}').unwrap_or(tree).get(open + 1..).unwrap_or_default();
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, letter) in inner.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                flatten(&inner[begin..at], &before, paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if !inner[begin..].trim().is_empty() {
        flatten(&inner[begin..], &before, paths);
    }
}

/// Paths that stand in code: `crate::…`, `super::…`, and those that begin with one of these names.
fn inline(code: &str, children: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let children = children.iter().map(|child| format!("{child}::"));
    for start in ["crate::", "super::"].map(str::to_owned).into_iter().chain(children) {
        let mut from = 0;
        while let Some(at) = code[from..].find(&start) {
            let at = from + at;
            let path = &code[at..];
            let end = path.find(|letter| !is_of_name(letter) && letter != ':');
            let path = &path[..end.unwrap_or(path.len())];
            let is_whole = !code[..at].ends_with(|letter| is_of_name(letter) || letter == ':');
            if is_whole {
                paths.push(
                    path.split("::").map(str::to_owned).filter(|it| !it.is_empty()).collect(),
                );
            }
            from = at + path.len().max(1);
        }
    }
    paths
}

/// The path from the root of the crate, if this leads to a module of it.
fn absolute(path: &[String], here: &[String], children: &[String]) -> Option<Vec<String>> {
    let first = path.first()?;
    if first == "crate" {
        return Some(path[1..].to_vec());
    }
    let supers = path.iter().take_while(|name| *name == "super").count();
    if supers > 0 {
        let above = here.len().checked_sub(supers)?;
        return Some(here[..above].iter().chain(&path[supers..]).cloned().collect());
    }
    let is_child = first == "self" || children.contains(first);
    let path = if first == "self" { &path[1..] } else { path };
    is_child.then(|| here.iter().chain(path).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::mentioned;

    fn paths(code: &str) -> Vec<(String, bool)> {
        let here = ["a".to_owned(), "b".to_owned()];
        mentioned(code, &here).into_iter().map(|it| (it.path.join("::"), it.is_export)).collect()
    }

    #[test]
    fn trees_and_paths_in_code_are_found() {
        let code = "mod c;\nuse crate::x::{y::Z, self, w as v};\npub use c::D;\nuse std::fmt;\n\
                    pub(crate) use super::e;\nfn f(g: super::h::I) { crate::j::k() }";
        let expected = [
            ("x::y::Z", false),
            ("x::self", false),
            ("x::w", false),
            ("a::b::c::D", true),
            ("a::e", true),
            ("j::k", false),
            ("a::h::I", false),
        ];
        let expected = expected.map(|(path, is_export)| (path.to_owned(), is_export));
        assert_eq!(paths(code), expected);
        assert_eq!(paths("fn misuse () { because(); }"), []);
    }
}
