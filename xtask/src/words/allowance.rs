//! Allowances of crates that miss a goal: a line for each crate, with three figures.
//!
//! An allowance only falls. A crate above it fails, and so does a crate that is below it by more
//! than a tenth and one: then `cargo xtask words --lower` writes the lower figures. A crate without
//! a line must meet the goals.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::Path;

use super::GOAL_WORDS;
use super::count::Crate;

const HEAD: &str = "\
# Highest figures of `cargo xtask words` for crates that miss a goal (4, 0, 4). They only fall:
# `cargo xtask words --lower`. Words of 1,000 in comments, comment lines over 100 columns, words of 1,000 in messages.
";

/// By name of the package: comments, long lines, messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowances(BTreeMap<String, [usize; 3]>);

/// The names of the three figures.
const FIGURES: [&str; 3] = [
    "pronouns for a noun, of 1,000 words in comments",
    "comment lines over 100 columns",
    "pronouns for a noun, of 1,000 words in messages",
];

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "four")]
const GOALS: [usize; 3] = [GOAL_WORDS as usize, 0, GOAL_WORDS as usize];

/// The figures of a crate, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1,000")]
fn figures(counted: &Crate) -> [usize; 3] {
    let whole = |figure: f64| figure.ceil() as usize;
    let [comments, messages] =
        [counted.comments, counted.messages].map(|it| whole(it.per_thousand()));
    [comments, counted.over_100_columns, messages]
}

impl Allowances {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        Self::parse(&super::files::text(path)?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(line).collect::<Result<_, _>>().map(Self)
    }

    /// A sentence for each figure that is above its allowance, or too far below.
    pub(crate) fn faults(&self, crates: &[(String, Crate)]) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, counted) in crates {
            let allowed = self.0.get(name).copied().unwrap_or(GOALS);
            for (index, figure) in figures(counted).into_iter().enumerate() {
                let (allowed, rule, goal) = (allowed[index], FIGURES[index], GOALS[index]);
                if figure > allowed {
                    faults.push(format!("{name}: {rule}: {figure}, at most {allowed}"));
                } else if figure.max(goal) + allowed / 10 + 1 < allowed {
                    faults.push(format!(
                        "{name}: {rule}: {figure}, well below the {allowed} allowed: lower the allowance by \
                         `cargo xtask words --lower`"
                    ));
                }
            }
        }
        let is_gone = |name: &&String| !crates.iter().any(|(known, _)| known == *name);
        let gone = self.0.keys().filter(is_gone);
        faults
            .extend(gone.map(|name| format!("{}: there is no crate `{name}`", super::ALLOWANCES)));
        faults
    }

    /// With today's figures where those are lower; a crate that meets the goals needs no line.
    pub(crate) fn lowered(self, crates: &[(String, Crate)]) -> Self {
        let lowered = self.0.into_iter().filter_map(|(name, allowed)| {
            let (_, counted) = crates.iter().find(|(known, _)| *known == name)?;
            let today = figures(counted);
            let lower = [0, 1, 2].map(|at| allowed[at].min(today[at].max(GOALS[at])));
            (lower != GOALS).then_some((name, lower))
        });
        Self(lowered.collect())
    }
}

fn line(line: &str) -> Result<(String, [usize; 3]), String> {
    let wrong = || format!("{}: `{line}` is not a name and three numbers", super::ALLOWANCES);
    let mut words = line.split_whitespace();
    let name = words.next().ok_or_else(wrong)?.to_owned();
    let numbers = words.map(str::parse).collect::<Result<Vec<usize>, _>>();
    let numbers = numbers.ok().and_then(|numbers| <[usize; 3]>::try_from(numbers).ok());
    Ok((name, numbers.ok_or_else(wrong)?))
}

impl Display for Allowances {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "{HEAD}")?;
        for (name, [comments, lines, messages]) in &self.0 {
            writeln!(text, "{name} {comments} {lines} {messages}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Allowances;
    use crate::words::count::{Crate, Words};

    fn crates(pronouns: usize, over_100_columns: usize) -> Vec<(String, Crate)> {
        let comments = Words { all: 1000, pronouns };
        let counted = Crate { comments, over_100_columns, ..Crate::default() };
        vec![("a".to_owned(), counted)]
    }

    fn allowed(text: &str) -> Allowances {
        Allowances::parse(text).expect("allowances")
    }

    #[test]
    fn without_an_allowance_the_goal_holds() {
        assert!(allowed("").faults(&crates(4, 0)).is_empty());
        assert_eq!(allowed("").faults(&crates(5, 1)).len(), 2);
    }

    #[test]
    fn an_allowance_is_neither_passed_nor_kept_too_high() {
        let allowed = allowed("# head\na 20 30 4\n");
        assert!(allowed.faults(&crates(20, 30)).is_empty());
        assert!(allowed.faults(&crates(17, 26)).is_empty());
        assert!(allowed.faults(&crates(21, 30))[0].contains("at most 20"));
        assert!(allowed.faults(&crates(16, 26))[0].contains("lower the allowance"));
        assert!(allowed.faults(&crates(17, 25))[0].contains("lower the allowance"));
    }

    #[test]
    fn an_allowance_of_no_crate_is_told() {
        let faults = allowed("a 20 30 4\nb 9 9 9\n").faults(&crates(20, 30));
        assert!(faults.len() == 1 && faults[0].contains("no crate `b`"), "{faults:?}");
    }

    #[test]
    fn lowering_never_raises_and_drops_what_meets_the_goals() {
        assert_eq!(allowed("a 20 30 9\n").lowered(&crates(25, 3)), allowed("a 20 3 4\n"));
        assert_eq!(allowed("a 20 30 4\nb 9 9 9\n").lowered(&crates(2, 0)), allowed(""));
        assert_eq!(allowed("").lowered(&crates(25, 3)), allowed(""));
    }

    #[test]
    fn written_allowances_are_read_again() {
        let some = allowed("a 20 30 4\nb 9 9 9\n");
        assert_eq!(allowed(&some.to_string()), some);
        assert!(Allowances::parse("a 1 2\n").is_err());
        assert!(Allowances::parse("a 1 2 x\n").is_err());
    }
}
