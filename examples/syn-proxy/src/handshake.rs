//! The segments that are made here, each in the place of the one that asks for it.

use cora::prelude::*;

use crate::cookie::{Offer, scale_of};
use crate::splice::{OUR_SCALE, UNSCALED, scaled};
use crate::{Connection, Settings};

/// Options of a SYN, as many as an [`Offer`] has.
struct Options {
    bytes: [u8; 12],
    length: usize,
}

impl Options {
    fn of(mss: u16, sack: bool, scale: Option<u8>) -> Self {
        let [high, low] = mss.to_be_bytes();
        let mut bytes = [2, 4, high, low, 1, 1, 1, 1, 1, 1, 1, 1];
        let mut length = 4;
        if let Some(scale) = scale {
            bytes[length..length + 4].copy_from_slice(&[1, 3, 3, scale]);
            length += 4;
        }
        if sack {
            bytes[length..length + 4].copy_from_slice(&[1, 1, 4, 2]);
            length += 4;
        }
        Self { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Answers a SYN by a cookie. The window is 0: the client sends nothing before there is somebody to
/// get it.
pub(crate) fn answer(
    packet: &mut Packet,
    flow: &FiveTuple,
    settings: &Settings,
) -> Result<(), Reason> {
    let client_seq = packet.tcp().ok_or(BadTcpState)?.seq;
    let (cookie, offer) = settings.cookie(flow, client_seq, &packet.tcp_options(), packet.now());
    let most = if flow.source.is_v4() { settings.mss } else { settings.mss - 20 };
    let scale = (offer.scale != UNSCALED).then_some(OUR_SCALE);
    let options = Options::of(offer.mss.min(most), offer.sack, scale);
    packet.turn_back()?;
    packet.set_tcp(&TcpSegment {
        seq: cookie,
        ack: client_seq.wrapping_add(1),
        flags: TcpFlags::SYN | TcpFlags::ACK,
        options: options.bytes(),
        ..TcpSegment::default()
    })
}

/// Makes a client's acknowledgement the SYN that the server sees, with the client's offer.
pub(crate) fn open(packet: &mut Packet, client_seq: u32, offer: &Offer) -> Result<(), Reason> {
    let window = packet.tcp().ok_or(BadTcpState)?.window;
    let scale = (offer.scale != UNSCALED).then_some(offer.scale);
    let options = Options::of(offer.mss, offer.sack, scale);
    packet.set_tcp(&TcpSegment {
        seq: client_seq,
        flags: TcpFlags::SYN,
        // A SYN's is never scaled.
        window: scaled(window, scale.unwrap_or(0), 0),
        options: options.bytes(),
        ..TcpSegment::default()
    })
}

/// Makes the server's answer a segment that opens the client's window. It carries the octet before
/// the first one, as a keep-alive may (RFC 1122, 4.2.3.6), so that the client acknowledges it: the
/// server waits for that.
pub(crate) fn wake(
    packet: &mut Packet,
    connection: &Connection,
    answer: &TcpHeader,
) -> Result<(), Reason> {
    let ours = if scale_of(connection.cookie) == UNSCALED { 0 } else { OUR_SCALE };
    packet.set_tcp(&TcpSegment {
        seq: connection.cookie,
        ack: answer.ack,
        flags: TcpFlags::ACK,
        window: scaled(answer.window, 0, ours),
        data: &[0],
        ..TcpSegment::default()
    })
}

/// Makes a segment that belongs to nothing the reset that its sender gets (RFC 9293, 3.10.7.1).
pub(crate) fn reset(packet: &mut Packet) -> Result<(), Reason> {
    let tcp = packet.tcp().filter(|it| it.flags.ack() && !it.flags.rst()).ok_or(BadTcpState)?;
    packet.turn_back()?;
    packet.set_tcp(&tcp.reset_back())
}
