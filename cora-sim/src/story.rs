//! The events of a run, printed line by line for a replay.

use std::cell::Cell;
use std::io::Write as _;

use cora_core::packet::Packet;
use cora_runtime::link::message::{Frames, Message, Ownership, Telemetry};

use crate::frames::op_of;

thread_local! {
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Makes the runs of this thread print their events from now on.
pub fn tell_runs() {
    TOLD.set(true);
}

/// Prints a line, if this thread prints its runs.
pub(crate) fn tell(line: impl FnOnce() -> String) {
    if TOLD.get() {
        // A reader that closes the pipe (`| head`) is not a failure.
        let _unread = writeln!(std::io::stdout(), "{}", line());
    }
}

/// Prints that a side takes a message.
pub(crate) fn takes(side: &str, message: &Message<'_>) {
    tell(|| match message {
        Message::Frames(
            Frames::Punt { stamp, frame }
            | Frames::Send { stamp, frame }
            | Frames::Frame { stamp, frame },
        ) => {
            let mut frame = frame.to_vec();
            let packet = Packet::new(&mut frame, stamp.meta);
            let asks = op_of(&packet);
            format!(
                "  {side}: packet {} at {}, asks {asks}, {packet:?}",
                stamp.number, stamp.meta.now
            )
        }
        Message::Ownership(Ownership::Offer { ticket, punts, group, keys }) => {
            format!(
                "  {side}: Offer {ticket}, {punts} punts, {:02x?}, {} keys",
                group,
                keys.words().count()
            )
        }
        Message::Ownership(Ownership::Entry { state, piece }) => {
            format!("  {side}: Entry of state {state} {piece:02x?}")
        }
        Message::Telemetry(Telemetry::Load { .. }) => format!("  {side}: Load"),
        message => format!("  {side}: {message:02x?}"),
    });
}
