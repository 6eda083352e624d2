//! What handlers sent.

extern crate std;

use std::vec::Vec;

use core::time::Duration;

use cora_core::message::{Message, SENT, Wired, delay_of, receive, sent_id};
use cora_core::outbox::Outbox;
use cora_core::packet::{MAX_FRAME, Meta, Packet, Port};
use cora_core::short::ShortWriter;

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

/// How long after its run the message is due that a frame of [`sent`] is; zero if at once, and for
/// a datagram or a packet.
///
/// ```
/// use core::time::Duration;
///
/// use cora::prelude::*;
/// use cora::testing;
///
/// #[message]
/// struct Ring {
///     #[key]
///     alarm: u32,
/// }
///
/// #[flow_handler]
/// fn ring(ring: Ring, rings: &mut Outbox<Ring>) -> Verdict {
///     rings.after(Duration::from_secs(1), ring)?;
///     Done
/// }
///
/// let out = testing::outbox();
/// assert_eq!(ring(Ring { alarm: 7 }, &mut out.messages()), Done);
/// assert_eq!(testing::delay(&testing::sent(&out)[0]), Duration::from_secs(1));
/// ```
#[must_use]
pub fn delay((port, frame): &(Port, Vec<u8>)) -> Duration {
    if *port == SENT { Duration::from_nanos(delay_of(frame)) } else { Duration::ZERO }
}

/// The contents of a datagram with this message, as a client sends it.
///
/// # Panics
/// When it is longer than a datagram may be.
#[must_use]
pub fn written<M: Wired>(message: &M) -> Vec<u8> {
    let mut contents = std::vec![0; MAX_FRAME];
    let mut writer = ShortWriter::new(&mut contents);
    message.write(&mut writer);
    let length = writer.finish().expect("a datagram is shorter than this");
    contents.truncate(length);
    contents
}
