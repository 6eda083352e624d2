//! The built-in profiles: the files in `nics/`.
//!
//! They are at the repository's root, where users look for them, and so outside of this package. A
//! separate package of this crate would have to include them.

use std::path::Path;

use super::{NicProfile, ProfileError};

/// Name and text of each profile.
const FILES: [(&str, &str); 2] = [
    ("bluefield2", include_str!("../../../nics/bluefield2.toml")),
    ("bluefield3", include_str!("../../../nics/bluefield3.toml")),
];

impl NicProfile {
    /// Names of the built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, _)| name)
    }

    /// The built-in profile of a name.
    ///
    /// # Panics
    /// If a built-in file does not parse; a test checks that each does.
    #[expect(clippy::panic, reason = "a test reads every file that can get here")]
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = FILES.into_iter().find(|(known, _)| *known == name)?;
        match Self::parse(text) {
            Ok(profile) => Some(profile),
            Err(faults) => panic!("nics/{name}.toml: {faults:?}"),
        }
    }

    /// The built-in profile of a name, or the profile in a file. A path contains a `/`, or ends in
    /// `.toml`.
    ///
    /// # Errors
    /// An unknown name; an unreadable file; all faults of the profile.
    pub fn load(name_or_path: &str) -> Result<Self, Vec<ProfileError>> {
        let path = Path::new(name_or_path);
        let is_path = name_or_path.contains(std::path::MAIN_SEPARATOR)
            || path.extension().is_some_and(|extension| extension == "toml");
        if !is_path {
            let name = name_or_path.to_owned();
            return Self::builtin(&name).ok_or_else(|| vec![ProfileError::NoProfile { name }]);
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            vec![ProfileError::Unreadable { path: path.to_owned(), cause: error.to_string() }]
        })?;
        Self::parse(&text)
    }
}
