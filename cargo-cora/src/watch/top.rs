//! `top`: a live view of a run at a terminal, or one look at it for scripts.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;

use super::rates::Rates;
use super::{asked, screen};
use crate::arguments::Top;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

/// Size of the view that is printed once.
const ONCE: (u16, u16) = (120, 40);

pub(crate) fn run(arguments: &Top) -> Outcome {
    let every = Duration::from_millis(arguments.every);
    let first = asked(&arguments.control, "snapshot")?;
    if arguments.once || arguments.json {
        std::thread::sleep(every);
        let now = asked(&arguments.control, "snapshot")?;
        let rates = Rates::between(&first, &now);
        if arguments.json {
            tell_line(rates.json())?;
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
    first: Value,
    every: Duration,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("the terminal: {error}"));
    let (mut before, mut now) = (first.clone(), first);
    loop {
        let rates = Rates::between(&before, &now);
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
        let after = asked(&arguments.control, "snapshot")?;
        before = std::mem::replace(&mut now, after);
    }
}

fn leaves(key: KeyEvent) -> bool {
    let is_interrupt = key.modifiers.contains(KeyModifiers::CONTROL);
    matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
        || (is_interrupt && key.code == KeyCode::Char('c'))
}
