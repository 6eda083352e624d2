//! `cargo xtask deny`: the dependencies, against deny.toml, and against reports of their flaws.

use crate::{cargo, need, run};

/// Licences, bans and sources; and advisories, their database being elsewhere. Without it the check
/// fails, for nothing is known then: where `CORA_OFFLINE=1` says that there is no way to it, that
/// part is left out, and told.
pub(crate) fn check() -> Result<(), String> {
    need::cargo_deny()?;
    run(&mut cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
    if std::env::var_os("CORA_OFFLINE").is_some_and(|value| value == "1") {
        eprintln!("CORA_OFFLINE=1: advisories are not looked up");
        return Ok(());
    }
    run(&mut cargo(&["deny", "fetch", "db"])).map_err(|why| {
        format!(
            "the database of advisories can't be reached, so none were looked up ({why}); CORA_OFFLINE=1 leaves them out"
        )
    })?;
    run(&mut cargo(&["deny", "--offline", "check", "advisories"]))
        .map_err(|why| format!("there are advisories about what Cora uses: {why}"))
}
