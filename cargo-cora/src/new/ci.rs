//! The workflow of a package that stands alone, for GitHub.

use super::source::Source;

/// Its file.
pub(super) const FILE: &str = ".github/workflows/ci.yml";

/// The workflow of the package `name`. A machine of GitHub's lacks a checkout that is named by its
/// path here: the workflow then begins with a step that says so.
pub(super) fn workflow(name: &str, source: &Source) -> String {
    let step = match source {
        Source::Published => String::new(),
        Source::Checkout(path) => {
            let path = path.display().to_string();
            // Within single quotes of a shell.
            let path = path.replace('\'', "'\\''");
            format!(
                "      - name: Cora is where Cargo.toml names it\n        run: |\n          \
                 test -f '{path}/Cargo.toml' || {{\n            \
                 echo \"::error::Cargo.toml names Cora by a path, which is not on this machine. \
                 Name a version, or a repository by 'git =', there.\"\n            \
                 exit 1\n          }}\n"
            )
        }
    };
    include_str!("ci.txt").replace("{name}", name).replace("{checkout}", &step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A light check of YAML of this kind: spaces alone, two of them for each level, and in each
    /// line a comment, a key, an item, or text of a block.
    fn check(text: &str) {
        let mut block: Option<usize> = None;
        let mut depth = 0;
        for (number, line) in text.lines().enumerate() {
            let place = format!("line {}: `{line}`", number + 1);
            let indent = line.len() - line.trim_start_matches(' ').len();
            assert!(!line.contains('\t') && !line.trim().is_empty() && indent % 2 == 0, "{place}");
            if block.is_some_and(|of| indent > of) || line.starts_with('#') {
                continue;
            }
            block = None;
            assert!(indent <= depth + 2, "{place}");
            let item = line.trim_start().strip_prefix("- ");
            // The keys of an item stand behind its hyphen.
            depth = if item.is_some() { indent + 2 } else { indent };
            let entry = item.unwrap_or_else(|| line.trim_start());
            let (key, value) = entry.split_once(':').unwrap_or_else(|| panic!("{place}"));
            assert!(key.chars().all(|it| it.is_ascii_lowercase() || it == '-'), "{place}");
            assert!(value.is_empty() || value.starts_with(' '), "{place}");
            assert!(!value.contains(": ") && !value.contains(" #"), "{place}");
            if value == " |" {
                block = Some(depth);
            }
        }
    }

    #[test]
    fn it_is_yaml_and_each_step_does_something() {
        for source in [Source::Published, Source::Checkout("/it's/cora".into())] {
            let text = workflow("my-nf", &source);
            check(&text);
            assert!(!text.contains(['{', '}']) || source != Source::Published, "{text}");
            let steps: Vec<&str> = text.split("\n      - ").skip(1).collect();
            assert!(steps.len() >= 6, "{text}");
            for step in &steps {
                assert!(step.starts_with("uses: ") || step.contains("\n        run: "), "{step}");
            }
            let is_checked = text.contains("test -f '/it'\\''s/cora/Cargo.toml' || {");
            assert_eq!(is_checked, source != Source::Published, "{text}");
        }
    }
}
