//! What handlers sent.

extern crate std;

use std::vec::Vec;

use cora_core::message::{Message, receive, sent_id};
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};

/// The message that a frame of [`sent`] is or carries, if it is of this type.
///
/// ```
/// use cora::prelude::*;
/// use cora::testing;
///
/// #[message(udp)]
/// #[derive(PartialEq, Debug)]
/// struct Answer {
///     value: u32,
/// }
///
/// let mut question = testing::udp(([10, 0, 0, 1], 5_000), ([192, 0, 2, 1], 7_000), b"");
/// let mut out = testing::outbox();
/// out.begin(&Envelope::of(&Packet::new(&mut question, Meta::default())));
/// // A handler gets it as `answers: &mut Outbox<Answer>`.
/// let mut answers = out.messages::<Answer>();
/// answers.reply(Answer { value: 7 })?;
/// let sent = testing::sent(&out);
/// assert_eq!(testing::message(&sent[0]), Some(Answer { value: 7 }));
/// # Ok::<(), Reason>(())
/// ```
#[must_use]
pub fn message<M: Message>((port, frame): &(Port, Vec<u8>)) -> Option<M> {
    let mut frame = frame.clone();
    let meta = Meta { port: *port, ..Meta::default() };
    let packet = Packet::new(&mut frame, meta);
    let is_other = sent_id(&packet).is_some_and(|id| id != M::ID);
    if is_other { None } else { receive(&packet).ok() }
}

/// The frames in an outbox in their order, each with its port.
#[must_use]
pub fn sent(outbox: &Outbox) -> Vec<(Port, Vec<u8>)> {
    let mut sent = Vec::new();
    outbox.each(|it| sent.push((it.port, it.frame.to_vec())));
    sent
}
