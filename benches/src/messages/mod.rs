//! Messages: one through a mailbox against the mailboxes of actor crates, what bookkeeping costs,
//! and what light messages wait for beside heavy ones.
//!
//! Every contestant has 64 actors, of which each adds what comes to a number of its own, on one
//! thread. A driver sends each of them eight messages, then they run. A message of Cora is a frame
//! that could as well go to the other side; those of the crates are values in memory.

mod light;
mod many;
mod peers;

use crate::figure::Figure;
use crate::turns::take;

/// Actors, and messages that each gets before they run.
pub(crate) const ACTORS: usize = 64;
pub(crate) const AT_ONCE: usize = 8;
/// How often that happens in a turn.
const TURN: usize = 200;

/// What bookkeeping may cost a message (ns).
const BOOKS: f64 = 5.0;

/// Measures mailboxes, bookkeeping and the tail of light messages.
pub(crate) fn run(quick: bool, tell: &mut dyn FnMut(Figure)) {
    let turns = if quick { 15 } else { 101 };
    mailboxes(turns, tell);
    light::run(quick, tell);
}

fn mailboxes(turns: usize, tell: &mut dyn FnMut(Figure)) {
    let mut waiting = many::Pair::new(many::How::Waiting);
    let mut at_once = many::Pair::new(many::How::AtOnce);
    let mut untimed = many::Pair::new(many::How::Untimed);
    let mut tokio = peers::tokio();
    let mut actix = peers::actix();
    let mut ractor = peers::ractor();
    let [waiting, at_once, untimed, tokio, actix, ractor] = take(
        turns,
        [
            &mut || waiting.run(TURN),
            &mut || at_once.run(TURN),
            &mut || untimed.run(TURN),
            &mut || tokio.run(TURN),
            &mut || actix.run(TURN),
            &mut || ractor.run(TURN),
        ],
    );
    let peers = [("tokio", &tokio, 8.0), ("actix", &actix, 8.0), ("ractor", &ractor, 20.0)];
    for (name, peer, goal) in peers {
        let figure = format!("messages/mailbox, against {name}");
        tell(Figure::of_times(figure, &waiting, peer, name, goal));
    }
    let figure = "messages/mailbox, against no mailbox".to_owned();
    tell(Figure::of_times(figure, &waiting, &at_once, "first come, first served", 0.0));
    let books = at_once.median() - untimed.median();
    tell(Figure {
        spread: at_once.spread(),
        ..Figure::of_limit("messages/bookkeeping".to_owned(), books, BOOKS, "ns")
    });
}
