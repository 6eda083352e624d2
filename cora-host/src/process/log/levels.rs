//! Parts of a run, and the level of each: which lines are written. Levels change at run time.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::spelling::nearest;

/// How serious a line is, or up to which level a part's lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// No line at all. No line has this level.
    Off,
    /// A packet, an entry, a record or the run itself is lost.
    Error,
    /// Something is wrong, and the run deals with it.
    Warn,
    /// A change that an operator asked for, or wants to know of.
    Info,
    /// Steps, for the search for a fault.
    Debug,
}

impl Level {
    pub(super) const ALL: [Self; 5] = [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// The part of a run that a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The run as a whole: its end, its progress, upgrades.
    Run,
    /// NIC halves: deaths, protocol violations, their own words.
    Nic,
    /// Host halves: the same, carried entries, and what handlers print.
    Host,
    Ports,
    /// Requests and signals of an operator, and the endpoint of metrics.
    Control,
    /// Versions of read-mostly states.
    Configuration,
    /// The link to a card: relay and agent.
    Card,
    /// Moves of flows and buckets.
    Moves,
    /// Records of entries that ended.
    Records,
}

impl Part {
    pub(super) const ALL: [Self; 9] = [
        Self::Run,
        Self::Nic,
        Self::Host,
        Self::Ports,
        Self::Control,
        Self::Configuration,
        Self::Card,
        Self::Moves,
        Self::Records,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Nic => "nic",
            Self::Host => "host",
            Self::Ports => "ports",
            Self::Control => "control",
            Self::Configuration => "configuration",
            Self::Card => "card",
            Self::Moves => "moves",
            Self::Records => "records",
        }
    }
}

/// The level of each part.
#[derive(Debug)]
pub(super) struct InForce([AtomicU8; Part::ALL.len()]);

impl InForce {
    pub(super) const fn new() -> Self {
        Self([const { AtomicU8::new(Level::Info as u8) }; Part::ALL.len()])
    }

    pub(super) fn admits(&self, part: Part, level: Level) -> bool {
        let now = self.0.get(part as usize).map_or(0, |now| now.load(Ordering::Relaxed));
        level as u8 <= now
    }

    pub(super) fn set(&self, levels: &Levels) {
        for (parts, level) in &levels.0 {
            for part in parts {
                if let Some(now) = self.0.get(*part as usize) {
                    now.store(*level as u8, Ordering::Relaxed);
                }
            }
        }
    }

    /// The name of each part's level, by the part's.
    pub(super) fn names(&self) -> BTreeMap<&'static str, &'static str> {
        let level = |part: &Part| {
            let up_to = Level::ALL.into_iter().rev().find(|level| self.admits(*part, *level));
            (part.name(), up_to.unwrap_or(Level::Off).name())
        };
        Part::ALL.iter().map(level).collect()
    }
}

/// Levels as told: `LEVEL` for all parts, `PART=LEVEL` for one; later ones count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Levels(Vec<(Vec<Part>, Level)>);

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.0.iter().map(|(parts, level)| match parts[..] {
            [part] => format!("{}={}", part.name(), level.name()),
            _ => level.name().to_owned(),
        });
        f.write_str(&said.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let each = text.split(',').map(|word| match word.trim().split_once('=') {
            Some((part, level)) => Ok((vec![part_of(part)?], level_of(level)?)),
            None => Ok((Part::ALL.to_vec(), level_of(word)?)),
        });
        each.collect::<Result<_, String>>().map(Self)
    }
}

fn part_of(word: &str) -> Result<Part, String> {
    let word = word.trim();
    let names = || Part::ALL.iter().map(|part| part.name());
    let found = Part::ALL.into_iter().find(|part| part.name() == word);
    found.ok_or_else(|| {
        let meant = nearest(word, names()).map(|name| format!("did you mean `{name}`? "));
        let all: Vec<_> = names().collect();
        format!(
            "the log has no part `{word}`: {}its parts are {}",
            meant.unwrap_or_default(),
            all.join(", ")
        )
    })
}

fn level_of(word: &str) -> Result<Level, String> {
    let word = word.trim();
    let found = Level::ALL.into_iter().find(|level| level.name() == word);
    found.ok_or_else(|| {
        let names = Level::ALL.map(Level::name).join(", ");
        match Part::ALL.iter().find(|part| part.name() == word) {
            Some(part) => format!("`{word}` is a part: say its level, as in {}=debug", part.name()),
            None => format!(
                "`{word}` is no level: say one of {names}, or PART=LEVEL, as in info,ports=debug"
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> InForce {
        let now = InForce::new();
        now.set(&text.parse().expect(text));
        now
    }

    #[test]
    fn later_levels_count_and_other_parts_keep_theirs() {
        let now = told("warn, ports=debug,nic=off");
        assert!(now.admits(Part::Ports, Level::Debug) && now.admits(Part::Run, Level::Warn));
        assert!(!now.admits(Part::Run, Level::Info) && !now.admits(Part::Nic, Level::Error));
        now.set(&"nic=error".parse().expect("levels"));
        assert!(now.admits(Part::Nic, Level::Error) && !now.admits(Part::Nic, Level::Warn));
        assert!(now.admits(Part::Ports, Level::Debug), "nothing was said of it");
        assert!(told("ports=debug,error").0.iter().all(|it| it.load(Ordering::Relaxed) == 1));
        let names = InForce::new().names();
        assert_eq!(names.len(), Part::ALL.len());
        assert!(names.values().all(|level| *level == "info"), "{names:?}");
        assert_eq!(now.names()["ports"], "debug");
    }

    #[test]
    fn levels_read_as_they_are_shown() {
        for text in ["debug", "info,ports=debug", "off,configuration=warn,moves=error"] {
            assert_eq!(text.parse::<Levels>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_wrong_word_is_told_with_what_would_be_right() {
        let wrong = [
            ("prots=debug", "did you mean `ports`? its parts are run, nic, host, ports, control"),
            ("zzz=debug", "the log has no part `zzz`: its parts are run"),
            ("ports", "`ports` is a part: say its level, as in ports=debug"),
            ("loud", "`loud` is no level: say one of off, error, warn, info, debug"),
            ("ports=loud", "`loud` is no level"),
            ("", "`` is no level"),
            ("info,,ports=debug", "`` is no level"),
        ];
        for (text, why) in wrong {
            let told = text.parse::<Levels>().expect_err(text);
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
