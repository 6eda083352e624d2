//! `top`: a live view of a run at a terminal, or one look at it for scripts.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::rates::Rates;
use super::{asked, events, screen};
use crate::arguments::Top;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

/// Events that are shown.
pub(super) const EVENTS: u16 = 3;

/// A look at a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub(super) snapshot: Value,
    /// The newest, oldest first.
    pub(super) events: Vec<Value>,
}

impl Look {
    fn at(control: &Path) -> Result<Self, Failure> {
        let snapshot = asked(control, "snapshot")?;
        // A run of an earlier build has none.
        let page = events::page(control, 0, Some(EVENTS.into())).ok();
        let events = page.map(|mut page| page["events"].take());
        let events = events.and_then(|events| events.as_array().cloned()).unwrap_or_default();
        Ok(Self { snapshot, events })
    }
}

/// Size of the view that is printed once.
const ONCE: (u16, u16) = (120, 40);

pub(crate) fn run(arguments: &Top) -> Outcome {
    let every = Duration::from_millis(arguments.every);
    let first = Look::at(&arguments.control)?;
    if arguments.once || arguments.json {
        std::thread::sleep(every);
        let now = Look::at(&arguments.control)?;
        let rates = Rates::between(&first.snapshot, &now.snapshot);
        if arguments.json {
            let mut told = rates.json();
            told["events"] = now.events.into();
            tell_line(told)?;
        } else {
            tell(screen::printed(&now, &rates, ONCE))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut terminal = ratatui::try_init().map_err(|error| {
        Failure::Failed(format!("no terminal: {error}; --once prints one look at the run"))
    })?;
    let ended = view(&mut terminal, arguments, first, every);
    ratatui::restore();
    ended.map(|()| ExitCode::SUCCESS)
}

/// Shows the run until the user leaves, or the run ends.
fn view(
    terminal: &mut DefaultTerminal,
    arguments: &Top,
    first: Look,
    every: Duration,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("the terminal: {error}"));
    let (mut before, mut now) = (first.clone(), first);
    loop {
        let rates = Rates::between(&before.snapshot, &now.snapshot);
        terminal.draw(|frame| screen::draw(frame, &now, &rates)).map_err(failed)?;
        let next = Instant::now() + every;
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() || !event::poll(left).map_err(failed)? {
                break;
            }
            match event::read().map_err(failed)? {
                Event::Key(key) if leaves(key) => return Ok(()),
                Event::Resize(..) => break,
                _ => {}
            }
        }
        let after = Look::at(&arguments.control)?;
        before = std::mem::replace(&mut now, after);
    }
}

fn leaves(key: KeyEvent) -> bool {
    let is_interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
        || (is_interrupt && key.code == KeyCode::Char('c'))
}
