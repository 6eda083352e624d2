//! What a live run does when it is asked or told something, by a signal or by its socket.

use std::path::Path;

use cora_core::app::App;
use serde_json::{Value, json};

use super::control::{Asked, Control};
use super::{Supervisor, stop};
use crate::wire::Cable as _;

impl Supervisor<'_> {
    /// Does what was asked for by signals and by the socket; whether the program in this file is to
    /// go on.
    pub(super) fn obey<A: App>(&mut self, own: &Path) -> bool {
        let asked = self.control.as_mut().map(Control::look).unwrap_or_default();
        let mut replaces = false;
        for asked in asked {
            let answer = match &asked {
                Asked::Status => self.status::<A>(own),
                Asked::Check(program) => or_error(self.check_upgrade(program), json!({})),
                Asked::Upgrade => {
                    let checked = self.check_upgrade(own);
                    replaces |= checked.is_ok();
                    or_error(checked, json!({ "upgrades": self.upgrades() }))
                }
                Asked::Configure => {
                    self.configuration.ask();
                    continue;
                }
            };
            self.answer(&asked, &answer);
        }
        if stop::replaces() {
            match self.check_upgrade(own) {
                Ok(()) => replaces = true,
                Err(why) => eprintln!("the program goes on as it is: {why}"),
            }
        }
        replaces
    }

    fn answer(&mut self, asked: &Asked, answer: &Value) {
        if let Some(control) = &mut self.control {
            control.answer(asked, answer);
        }
    }

    fn status<A: App>(&self, own: &Path) -> Value {
        let (came, left) = self.wire.cable.packets();
        json!({
            "program": A::NAME,
            "plan": format!("{:016x}", A::PLAN.hash),
            "file": own,
            "pid": std::process::id(),
            "version": self.configuration.number(),
            "upgrades": self.upgrades(),
            "carried": self.page.carried(),
            "generation": self.region.identity().generation,
            "works": self.works(),
            "packets_in": came,
            "packets_out": left,
        })
    }

    /// Lets another version of read-mostly states come, if there is one.
    pub(super) fn configure(&mut self) {
        if stop::reads_again() {
            self.configuration.ask();
        }
        let in_force = self.page.version();
        self.wire.in_force(u32::try_from(in_force).unwrap_or(0));
        self.configuration.arrived(in_force);
        if let Some(change) = self.configuration.advance() {
            self.wire.change(change);
        }
        if let Some(outcome) = self.configuration.outcome() {
            let answer = outcome.map(|version| json!({ "version": version }));
            let answer = answer.unwrap_or_else(|why| json!({ "error": why }));
            self.answer(&Asked::Configure, &answer);
        }
    }
}

/// This answer, or why not.
fn or_error(done: Result<(), String>, answer: Value) -> Value {
    match done {
        Ok(()) => answer,
        Err(why) => json!({ "error": why }),
    }
}
