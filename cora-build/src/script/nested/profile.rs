//! The profile of the NIC half: that of the host half, or the one in `CORA_NIC_PROFILE`.

use std::env;
use std::path::Path;

use super::environment::Layout;

/// The variable that selects another profile than the host half's.
pub const VARIABLE: &str = "CORA_NIC_PROFILE";

/// A profile of the second cargo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// Its name for `--profile`.
    pub(super) name: String,
    /// Its optimisation level, if it is known.
    pub(super) level: Option<String>,
}

impl Profile {
    /// The profile for this build of the package in `directory`.
    pub(super) fn of_this_build(layout: &Layout, directory: &Path) -> Self {
        let named = env::var(VARIABLE).ok().filter(|name| !name.is_empty());
        match named {
            Some(name) if name != layout.profile => {
                let level = level(&root_manifest(directory), &name);
                Self { name, level }
            }
            // Cargo passes the level of its own profile.
            _ => Self { name: layout.profile.clone(), level: env::var("OPT_LEVEL").ok() },
        }
    }
}

/// The manifest with the effective profiles: the workspace's, or the package's own.
fn root_manifest(directory: &Path) -> toml::Table {
    let manifests = directory.ancestors().filter_map(|ancestor| {
        let text = std::fs::read_to_string(ancestor.join("Cargo.toml")).ok()?;
        text.parse::<toml::Table>().ok()
    });
    let mut package = None;
    for manifest in manifests {
        if manifest.contains_key("workspace") {
            return manifest;
        }
        package = package.or(Some(manifest));
    }
    package.unwrap_or_default()
}

/// The optimisation level of a profile: its own, or the inherited one. Cargo's defaults are 3 for
/// `release` and `bench`, and 0 for `dev` and `test`.
fn level(manifest: &toml::Table, name: &str) -> Option<String> {
    let profiles = manifest.get("profile").and_then(toml::Value::as_table);
    let mut name = name;
    // A longer chain of profiles is a cycle, which cargo refuses.
    for _ in 0..8 {
        let profile = profiles.and_then(|profiles| profiles.get(name)?.as_table());
        match profile.and_then(|profile| profile.get("opt-level")) {
            Some(toml::Value::String(level)) => return Some(level.clone()),
            Some(level) => return Some(level.to_string()),
            None => {}
        }
        match (profile.and_then(|profile| profile.get("inherits")?.as_str()), name) {
            (Some(inherited), _) => name = inherited,
            (None, "release" | "bench") => return Some("3".to_owned()),
            (None, "dev" | "test") => return Some("0".to_owned()),
            (None, _) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_the_profiles_own_or_inherited() {
        let manifest: toml::Table = "[profile.release]\nopt-level = \"s\"\n\
             [profile.small]\ninherits = \"release\"\n\
             [profile.fast]\ninherits = \"dev\"\nopt-level = 2\n\
             [profile.a]\ninherits = \"b\"\n[profile.b]\ninherits = \"a\"\n"
            .parse()
            .unwrap();
        let of = |name| level(&manifest, name);
        assert_eq!(of("small").as_deref(), Some("s"));
        assert_eq!(of("fast").as_deref(), Some("2"));
        assert_eq!(of("dev").as_deref(), Some("0"));
        assert_eq!(of("a"), None, "a circle");
        assert_eq!(of("nobody"), None);
        assert_eq!(level(&toml::Table::new(), "release").as_deref(), Some("3"));
    }
}
