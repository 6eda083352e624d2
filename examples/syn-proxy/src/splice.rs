//! A connection's way from the first acknowledgement to its end, and its two sequences made one.

use cora::prelude::*;

use crate::Connection;
use crate::cookie::{Offer, scale_of};
use crate::handshake::open;

/// In the place of a window scale: none.
pub(crate) const UNSCALED: u8 = 15;
/// The scale that clients are promised for the server's windows, before it has said its own.
pub(crate) const OUR_SCALE: u8 = 7;

/// A window in another scale.
pub(crate) fn scaled(window: u16, from: u8, to: u8) -> u16 {
    u16::try_from(u32::from(window) << (from & 15) >> (to & 15)).unwrap_or(u16::MAX)
}

impl Connection {
    /// One that a packet from inside opens.
    pub(crate) fn untouched(packet: &Packet) -> Result<Self, Reason> {
        let tcp = TcpState::open(packet)?;
        Ok(Self { tcp, spliced: false, cookie: 0, client_seq: 0, shift: 0, server_scale: UNSCALED })
    }

    /// One with a client that acknowledges its cookie.
    pub(crate) fn opening(client_seq: u32, segment: &TcpHeader) -> Self {
        Self {
            tcp: TcpState::SynSent,
            spliced: true,
            cookie: segment.ack.wrapping_sub(1),
            client_seq,
            shift: 0,
            server_scale: UNSCALED,
        }
    }

    /// Whether a client's segment is of another connection than this one, which it then takes the
    /// place of; `is_cookie` says whether it acknowledges a cookie.
    pub(crate) fn is_left(&self, segment: &TcpHeader, is_cookie: impl Fn() -> bool) -> bool {
        let flags = segment.flags;
        if self.is_opening() {
            return !flags.rst() && segment.ack != self.cookie.wrapping_add(1);
        }
        self.tcp.is_closed() && (flags.syn() && !flags.ack() || flags.ack() && is_cookie())
    }

    /// The client asks for its window, or goes on all the same: the server gets the SYN once more.
    /// A reset goes as it is, but for the number that the server never said.
    pub(crate) fn ask_again(
        &mut self,
        packet: &mut Packet,
        segment: &TcpHeader,
    ) -> Result<(), Reason> {
        if segment.flags.rst() {
            self.tcp = TcpState::Closed;
            return packet.set_tcp(&segment.reset_onward());
        }
        open(packet, self.client_seq, &Offer::of_cookie(packet, self.cookie)?)
    }

    /// Whether it is the server's answer to the SYN, or that answer again.
    pub(crate) fn is_answer(&self, segment: &TcpHeader) -> bool {
        let flags = segment.flags;
        let is_first = self.is_opening() || self.shift == self.cookie.wrapping_sub(segment.seq);
        flags.syn()
            && flags.ack()
            && !flags.rst()
            && is_first
            && segment.ack == self.client_seq.wrapping_add(1)
    }

    pub(crate) fn answered(&mut self, packet: &Packet, segment: &TcpHeader) -> Result<(), Reason> {
        self.tcp.advance(packet, Direction::Reply)?;
        self.shift = self.cookie.wrapping_sub(segment.seq);
        self.server_scale = packet.tcp_options().window_scale.unwrap_or(UNSCALED);
        Ok(())
    }

    /// The server's reset, if it is one that answers the SYN: the client, who thinks that the
    /// connection is open, gets it where it waits for data.
    pub(crate) fn refused(
        &mut self,
        packet: &mut Packet,
        segment: &TcpHeader,
    ) -> Result<bool, Reason> {
        let flags = segment.flags;
        if !flags.rst() {
            return Ok(false);
        }
        if !flags.ack() || segment.ack != self.client_seq.wrapping_add(1) {
            return Err(BadTcpState);
        }
        self.tcp = TcpState::Closed;
        packet.set_tcp_seq(self.cookie.wrapping_add(1))?;
        Ok(true)
    }

    pub(crate) fn towards_server(
        &mut self,
        packet: &mut Packet,
        segment: &TcpHeader,
    ) -> Result<(), Reason> {
        self.tcp.advance(packet, Direction::Original)?;
        if segment.flags.ack() {
            packet.set_tcp_ack(segment.ack.wrapping_sub(self.shift))?;
        }
        if segment.header_len > 20 {
            packet.shift_sack(self.shift.wrapping_neg())?;
        }
        let client = scale_of(self.cookie);
        if client != UNSCALED && self.server_scale == UNSCALED {
            packet.set_tcp_window(scaled(segment.window, client, 0))?;
        }
        Ok(())
    }

    pub(crate) fn towards_client(
        &mut self,
        packet: &mut Packet,
        segment: &TcpHeader,
    ) -> Result<(), Reason> {
        self.tcp.advance(packet, Direction::Reply)?;
        packet.set_tcp_seq(segment.seq.wrapping_add(self.shift))?;
        if scale_of(self.cookie) != UNSCALED && self.server_scale != OUR_SCALE {
            let from = if self.server_scale == UNSCALED { 0 } else { self.server_scale };
            packet.set_tcp_window(scaled(segment.window, from, OUR_SCALE))?;
        }
        Ok(())
    }

    /// An ICMP error for the server is about a segment of its own, with its own numbers.
    pub(crate) fn complain(&self, packet: &mut Packet, direction: Direction) {
        if self.spliced && direction == Direction::Original {
            packet.shift_quoted_seq(self.shift.wrapping_neg());
        }
    }
}
