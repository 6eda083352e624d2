//! What handlers send besides the packet that they handle: packets, such as a reset to both ends or
//! a copy for an analyser, and [messages](crate::message).
//!
//! It is part of the run's transaction. If the run punts, nothing was sent, and its other side
//! sends it. Otherwise it leaves before the handled packet, in the order of the calls.

mod sends;

use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use sends::Sends;
pub use sends::Sent;

use crate::message::{self, Compose, Destination, Envelope, Message, SENT, Taken, Text, Wired};
use crate::packet::{MAX_FRAME, Packet, Port};
use crate::short::ShortWriter;
use crate::state::{Line, Memory, OutOfMemory};
use crate::trace::{self, Sending};
use crate::verdict::Reason;
use crate::verdict::reasons::{NoFlow, TooLong};

/// The handler has sent as many packets, or as many bytes, as it may for one packet.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(OutboxFull)`")]
pub const OutboxFull: Reason = Reason::new("outbox-full");

/// The handler has sent as many messages, or as many bytes, as it may for one message.
#[expect(non_upper_case_globals, reason = "reads as the reason it is: `Drop(TooManySends)`")]
pub const TooManySends: Reason = Reason::new("too-many-sends");

/// Shortest delay of a message (ns): a flow that sends itself one at each comes to an end of what
/// is due.
const LEAST_DELAY: u64 = 1000;

/// Maximum number of packets that are sent for one packet, by all handlers of the chain.
const MOST: usize = 8;
/// Bytes of memory for them: a copy of the longest frame, and some short ones.
const BYTES: usize = MAX_FRAME.next_multiple_of(64) + 16_384;
/// Maximum number of packets and messages that are sent for one of either, in programs with
/// messages.
const MOST_MESSAGES: usize = 256;
/// Bytes of memory for them.
const MESSAGE_BYTES: usize = BYTES + MOST_MESSAGES * 512;

/// An [`Outbox`] takes packets.
#[derive(Clone, Copy, Debug)]
pub enum Packets {}

/// What handlers send besides the packet that they handle: packets, or messages `M`.
///
/// A handler takes one for packets as `out: &mut Outbox`, and one for each type of message as
/// `questions: &mut Outbox<Question>`, at any place behind its packet or message.
///
/// ```
/// # use cora_core::outbox::Outbox;
/// # use cora_core::packet::{Packet, Port};
/// # use cora_core::verdict::{Transmit, Verdict};
/// /// An analyser at port 2 gets a copy of each packet.
/// fn mirror(packet: &mut Packet<'_>, out: &mut Outbox) -> Verdict {
///     out.send(packet, Port(2))?;
///     Transmit
/// }
/// ```
pub struct Outbox<M = Packets> {
    /// Shared by the outboxes of a run, so that the order of the calls is one.
    sends: Option<&'static RefCell<Sends>>,
    of: PhantomData<fn(M)>,
}

impl<M> Default for Outbox<M> {
    fn default() -> Self {
        Self { sends: None, of: PhantomData }
    }
}

impl<M> Outbox<M> {
    /// Adds what `write` makes, for the port that it tells.
    #[inline]
    fn add(
        &self,
        full: Reason,
        write: impl FnOnce(&Envelope, &mut [u8]) -> Result<(Port, usize), Reason>,
    ) -> Result<(), Reason> {
        // Nobody else borrows it amid a call.
        let mut sends = self.sends.and_then(|sends| sends.try_borrow_mut().ok()).ok_or(full)?;
        sends.add(full, write)
    }
}

impl<M: Message> Outbox<M> {
    /// Sends the message to the handler that takes it. It is handled once, behind what its flow got
    /// before.
    ///
    /// Refused with [`TooManySends`] beyond 256 messages or 208 KB for one message, and with
    /// [`TooManyHops`](crate::message::TooManyHops) if it would be the 65th of a row of which each
    /// was sent because of the one before.
    #[inline]
    pub fn send(&mut self, message: M) -> Result<(), Reason>
    where
        M: Taken,
    {
        self.put(message, 0, Sending::Send)
    }

    /// Sends the message to the handler that takes it when this much of the run's time has passed,
    /// for instance to ask again if no answer has come. It waits at the side that sends it, and
    /// comes to its flow wherever that is by then. It can't be taken back: what makes it needless
    /// stands in a state.
    ///
    /// A delay under a microsecond counts as one, and one over two years as two years. A message
    /// that is not due before the run ends is counted as `not-yet-due`, and one that finds no room
    /// to wait as `too-many-messages`.
    ///
    /// Refused as [`Self::send`], but for the row: a delayed message begins another one.
    #[inline]
    pub fn after(&mut self, delay: Duration, message: M) -> Result<(), Reason>
    where
        M: Taken,
    {
        let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        let delay = delay.clamp(LEAST_DELAY, message::MOST_DELAY);
        self.put(message, delay, Sending::After)
    }

    /// Sends the message in a datagram to whoever asks: the sender of the datagram that the handled
    /// message came in, or that it was sent because of.
    ///
    /// Refused as [`Self::send_to`].
    #[inline]
    pub fn reply(&mut self, message: M) -> Result<(), Reason>
    where
        M: Wired,
    {
        self.answer(|out| message.write(out))
    }

    /// Sends the datagram that `write` writes to whoever asks, as [`Self::reply`] does with a
    /// message. The contents are written where they leave: an answer that stands in a state for the
    /// most part is not copied into a message before.
    ///
    /// ```
    /// # use cora_core::outbox::Outbox;
    /// # use cora_core::message::{Compose, Message};
    /// # use cora_core::verdict::Reason;
    /// # type Sent = Result<(), Reason>;
    /// fn answer<M: Message + Compose>(value: &[u8], answers: &mut Outbox<M>) -> Sent {
    ///     answers.reply_with(|out| _ = out.put(b"VALUE ").put(value).put(b"\r\n"))
    /// }
    /// ```
    ///
    /// Refused as [`Self::send_to`].
    #[inline]
    pub fn reply_with(&mut self, write: impl FnOnce(&mut Text<'_, '_>)) -> Result<(), Reason>
    where
        M: Compose,
    {
        self.answer(|out| write(&mut Text::new(out)))
    }

    /// Adds a datagram to whoever asks.
    #[inline]
    fn answer(&self, write: impl FnOnce(&mut ShortWriter<'_>)) -> Result<(), Reason> {
        let added = self.add(TooManySends, |envelope, out| {
            let peer = envelope.asker();
            Ok((peer.behind(), message::datagram(&peer, write, out)?))
        });
        trace::sent(M::ID, Sending::Reply, added)
    }

    /// Sends the message in a datagram: to a [`Peer`](crate::message::Peer), such as one that asked
    /// earlier, or to an [`Endpoint`](crate::key::Endpoint), on the way of an answer to whoever
    /// asks.
    ///
    /// Refused with [`TooManySends`] beyond 256 datagrams or 208 KB for one message, with
    /// `too-long` beyond the longest datagram, and with
    /// [`NobodyAsked`](crate::message::NobodyAsked) if there is nobody to send it to.
    #[inline]
    pub fn send_to(&mut self, to: impl Destination, message: M) -> Result<(), Reason>
    where
        M: Wired,
    {
        let added = self.add(TooManySends, |envelope, out| {
            let peer = to.peer(&envelope.asker());
            let length = message::datagram(&peer, |out| message.write(out), out)?;
            Ok((peer.behind(), length))
        });
        trace::sent(M::ID, Sending::SendTo, added)
    }

    /// Adds the message, which is due after a delay (ns).
    #[inline]
    fn put(&self, message: M, delay: u64, sending: Sending) -> Result<(), Reason>
    where
        M: Taken,
    {
        let added = self.add(TooManySends, |envelope, out| {
            Ok((SENT, message::frame(&message, envelope, delay, out)?))
        });
        trace::sent(M::ID, sending, added)
    }
}

impl Outbox {
    /// Bytes of [`Memory`] that one with room takes.
    pub const BYTES: usize = Sends::bytes(MOST, BYTES) + Self::CELL;
    /// The same with room for messages.
    pub const BYTES_WITH_MESSAGES: usize = Sends::bytes(MOST_MESSAGES, MESSAGE_BYTES) + Self::CELL;
    const CELL: usize = size_of::<RefCell<Sends>>().next_multiple_of(Line::BYTES);

    /// Without room, for programs that send nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self { sends: None, of: PhantomData }
    }

    /// With room, in `memory`.
    pub fn create(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Self::of(Sends::create(memory, MOST, BYTES)?, memory)
    }

    /// With room for messages, too.
    pub fn create_with_messages(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Self::of(Sends::create(memory, MOST_MESSAGES, MESSAGE_BYTES)?, memory)
    }

    fn of(sends: Sends, memory: &mut Memory) -> Result<Self, OutOfMemory> {
        let places = memory.take(1)?;
        let sends = places.first_mut().map(|place| &*place.write(RefCell::new(sends)));
        Ok(Self { sends, of: PhantomData })
    }

    /// The outbox for messages `M` of the same run, for generated code and for tests.
    #[inline]
    #[must_use]
    pub const fn messages<M: Message>(&self) -> Outbox<M> {
        Outbox { sends: self.sends, of: PhantomData }
    }

    /// A message with this envelope is handled now, for generated code and for tests.
    #[inline]
    pub fn begin(&mut self, envelope: &Envelope) {
        if let Some(mut sends) = self.sends.and_then(|sends| sends.try_borrow_mut().ok()) {
            sends.envelope = *envelope;
        }
    }

    /// Sends a copy of the packet, as it is now, at this port. The packet itself goes on as the
    /// verdict says.
    ///
    /// Refused with [`OutboxFull`] beyond eight packets or 80 KB for one packet.
    pub fn send(&mut self, packet: &Packet<'_>, port: Port) -> Result<(), Reason> {
        self.send_frame(packet.frame(), port)
    }

    /// Sends these bytes as a frame at this port; refused as [`Self::send`], or with `too-long`
    /// beyond [`MAX_FRAME`] bytes.
    pub fn send_frame(&mut self, frame: &[u8], port: Port) -> Result<(), Reason> {
        if frame.len() > MAX_FRAME {
            return Err(TooLong);
        }
        // Nobody outside makes a message of a frame.
        let port = if message::is_of_messages(port) { Port(0x7f) } else { port };
        self.add(OutboxFull, |_, out| {
            out.get_mut(..frame.len()).ok_or(OutboxFull)?.copy_from_slice(frame);
            Ok((port, frame.len()))
        })
    }

    /// Sends a reset to both ends of the packet's TCP connection: one that goes on in the packet's
    /// place, and one that goes back to its sender. For a packet that nobody answers, a reset for
    /// instance, or one to a group, the second or both are left out. The packet is changed
    /// meanwhile: drop it.
    ///
    /// Refused with `no-flow` if the packet is not of TCP, and as [`Self::send`].
    pub fn reset_both(&mut self, packet: &mut Packet<'_>) -> Result<(), Reason> {
        let tcp = packet.tcp().ok_or(NoFlow)?;
        if tcp.flags.rst() {
            return Ok(());
        }
        let port = packet.port();
        packet.set_tcp(&tcp.reset_onward())?;
        self.send(packet, port.opposite())?;
        if packet.turn_back().is_err() {
            return Ok(());
        }
        packet.set_tcp(&tcp.reset_back())?;
        self.send(packet, port)
    }

    /// Number of packets and messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sends.and_then(|sends| sends.try_borrow().ok()).map_or(0, |sends| sends.len())
    }

    /// Whether nothing was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits what was sent, in order.
    #[inline]
    pub fn each(&self, visit: impl FnMut(Sent<'_>)) {
        if let Some(sends) = self.sends.and_then(|sends| sends.try_borrow().ok()) {
            sends.each(visit);
        }
    }

    /// Forgets all that was sent.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(mut sends) = self.sends.and_then(|sends| sends.try_borrow_mut().ok()) {
            sends.clear();
        }
    }
}

impl<M> fmt::Debug for Outbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Meta, TcpFlags, checksum};
    use crate::state::memory_for_tests;

    fn frames(out: &Outbox) -> Vec<(u8, Vec<u8>)> {
        let mut all = Vec::new();
        out.each(|Sent { port, frame, .. }| all.push((port.0, frame.to_vec())));
        all
    }

    #[test]
    fn packets_are_kept_in_order_and_within_bounds() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        for number in 0..MOST as u8 {
            out.send_frame(&[number; 61], Port(number)).unwrap();
        }
        assert_eq!(out.send_frame(&[0], Port(0)), Err(OutboxFull));
        assert_eq!(frames(&out)[7], (7, vec![7; 61]));
        assert_eq!(out.len(), MOST);
        out.clear();
        out.send_frame(&vec![1; MAX_FRAME], Port(1)).unwrap();
        assert_eq!(out.send_frame(&vec![2; MAX_FRAME], Port(1)), Err(OutboxFull));
        out.send_frame(&[3; 1500], Port(0)).unwrap();
        assert_eq!(out.send_frame(&vec![4; MAX_FRAME + 1], Port(0)), Err(TooLong));
        assert_eq!(frames(&out), [(1, vec![1; MAX_FRAME]), (0, vec![3; 1500])]);
    }

    #[test]
    fn a_port_beyond_seven_bits_is_none_that_a_run_has() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        for port in [0x7f, 0x80, 0xff] {
            out.send_frame(&[0; 61], Port(port)).unwrap();
        }
        assert!(frames(&out).iter().all(|(port, _)| *port == 0x7f));
    }

    #[derive(Clone, Copy)]
    struct Word(u64);
    impl crate::plain::Plain for Word {
        const SIZE: usize = 8;
        fn put(&self, out: &mut [u8]) {
            self.0.put(out);
        }
        fn get(bytes: &[u8]) -> Option<Self> {
            u64::get(bytes).map(Self)
        }
        fn describe(&self, to: &mut dyn crate::plain::Describe) {
            self.0.describe(to);
        }
    }
    impl Message for Word {
        const NAME: &'static str = "Word";
        type Key = u64;
        const KEYED: bool = true;
        fn key(&self) -> u64 {
            self.0
        }
        fn of_datagram(datagram: &[u8]) -> Result<Self, Reason> {
            message::read_short(datagram)
        }
    }
    impl Taken for Word {}

    #[test]
    fn a_delayed_message_begins_a_row() {
        let bytes = Outbox::BYTES_WITH_MESSAGES;
        let mut out = Outbox::create_with_messages(&mut memory_for_tests(bytes)).unwrap();
        let mut hops = 0;
        // Each is sent because of the one before, until there are too many.
        let end = loop {
            if let Err(reason) = out.messages::<Word>().send(Word(7)) {
                break reason;
            }
            let mut sent = frames(&out).pop().unwrap().1;
            out.clear();
            let meta = Meta { port: SENT, ..Meta::default() };
            out.begin(&Envelope::of(&Packet::new(&mut sent, meta)));
            hops += 1;
        };
        assert_eq!((end, hops), (message::TooManyHops, message::MOST_HOPS));
        for delay in [Duration::ZERO, Duration::from_millis(3), Duration::MAX] {
            out.messages::<Word>().after(delay, Word(7)).unwrap();
        }
        let delays: Vec<u64> =
            frames(&out).iter().map(|(_, frame)| message::delay_of(frame)).collect();
        assert_eq!(delays, [LEAST_DELAY, 3_000_000, message::MOST_DELAY]);
        let mut sent = frames(&out).pop().unwrap().1;
        let meta = Meta { port: SENT, ..Meta::default() };
        out.begin(&Envelope::of(&Packet::new(&mut sent, meta)));
        assert_eq!(out.messages::<Word>().send(Word(7)), Ok(()));
        let now = frames(&out).pop().unwrap().1;
        assert_eq!(message::delay_of(&now), 0);
    }

    impl Compose for Word {
        fn compose(&self, out: &mut Text<'_, '_>) {
            out.put(b"it is ").number(self.0);
        }
    }
    impl Wired for Word {
        fn write(&self, out: &mut ShortWriter<'_>) {
            self.compose(&mut Text::new(out));
        }
    }

    #[test]
    fn an_answer_written_in_place_is_that_of_the_message() {
        let bytes = Outbox::BYTES_WITH_MESSAGES;
        let mut out = Outbox::create_with_messages(&mut memory_for_tests(bytes)).unwrap();
        let write = |out: &mut Text<'_, '_>| _ = out.put(b"it is ").number(42);
        out.begin(&Envelope::NOBODY);
        assert_eq!(out.messages::<Word>().reply_with(write), Err(message::NobodyAsked));
        let mut question = message::question(true, false);
        let meta = Meta { port: Port(3), ..Meta::default() };
        out.begin(&Envelope::of(&Packet::new(&mut question, meta)));
        out.messages::<Word>().reply(Word(42)).unwrap();
        out.messages::<Word>().reply_with(write).unwrap();
        let long = |out: &mut Text<'_, '_>| _ = out.put(&vec![0; MAX_FRAME]);
        assert_eq!(out.messages::<Word>().reply_with(long), Err(TooLong));
        let sent = frames(&out);
        assert_eq!((sent.len(), sent[0].0), (2, 3));
        assert_eq!(sent[0], sent[1]);
    }

    #[test]
    fn no_frame_becomes_a_message() {
        for port in [SENT, message::ELSEWHERE] {
            let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
            out.send_frame(&[1; 61], port).unwrap();
            assert_eq!(frames(&out), [(0x7f, vec![1; 61])]);
        }
    }

    #[test]
    fn without_room_nothing_is_sent() {
        let mut out = Outbox::none();
        assert_eq!(out.send_frame(&[1], Port(0)), Err(OutboxFull));
        assert!(out.is_empty());
    }

    /// A TCP segment from 10.0.0.1:5000 to 192.0.2.1:80, or to a group.
    fn segment(flags: TcpFlags, last: u8, data: &[u8]) -> Vec<u8> {
        let total = (40 + data.len()) as u16;
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, last, 0, 2, 1]);
        let sum = checksum::internet(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(&[0x13, 0x88, 0, 80, 0, 0, 0, 100, 0, 0, 0, 200, 0x50, flags.0]);
        frame.extend_from_slice(&[0x10, 0, 0, 0, 0, 0]);
        frame.extend_from_slice(data);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// What [`Outbox::reset_both`] sends for a segment: ports, and fields of the segment.
    fn resets(flags: TcpFlags, last: u8, data: &[u8]) -> Vec<(u8, u16, u32, u32, TcpFlags)> {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        let mut frame = segment(flags, last, data);
        let meta = Meta { port: Port::INSIDE, ..Meta::default() };
        out.reset_both(&mut Packet::new(&mut frame, meta)).unwrap();
        let read = |(port, mut frame): (u8, Vec<u8>)| {
            let packet = Packet::new(&mut frame, Meta::default());
            let tcp = packet.tcp().unwrap();
            assert_eq!((tcp.payload_len, tcp.window), (0, 0));
            (port, tcp.destination_port, tcp.seq, tcp.ack, tcp.flags)
        };
        frames(&out).into_iter().map(read).collect()
    }

    #[test]
    fn both_ends_accept_their_resets() {
        let (rst, ack) = (TcpFlags::RST, TcpFlags::ACK);
        assert_eq!(resets(ack, 192, b"data"), [(1, 80, 100, 0, rst), (0, 5000, 200, 0, rst)]);
        let syn = TcpFlags::SYN;
        assert_eq!(resets(syn, 192, b""), [(1, 80, 100, 0, rst), (0, 5000, 0, 101, rst | ack)]);
        let fin = TcpFlags::FIN;
        assert_eq!(resets(fin, 192, b"ab"), [(1, 80, 100, 0, rst), (0, 5000, 0, 103, rst | ack)]);
        assert_eq!(resets(rst, 192, b""), [], "nobody answers a reset");
        assert_eq!(resets(ack, 224, b""), [(1, 80, 100, 0, rst)], "nobody answers a group");
    }

    #[test]
    fn only_connections_are_reset() {
        let mut out = Outbox::create(&mut memory_for_tests(Outbox::BYTES)).unwrap();
        let mut frame = vec![0; 60];
        assert_eq!(out.reset_both(&mut Packet::new(&mut frame, Meta::default())), Err(NoFlow));
        assert!(out.is_empty());
    }
}
