//! The newer format: blocks, each with its type and its length at both ends.
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>
//!
//! Each section header begins anew, with its own byte order and interfaces. Packets come in three
//! kinds of blocks; other blocks are skipped.

use std::io::Read;

use super::clock::Clock;
use super::error::{CaptureError, Fault};
use super::input::{Input, Order};
use super::link::{Link, LinkTypes};
use super::{Located, MAX_BLOCK, MAX_FRAME, MAX_HELD, Next};

/// The type of a section header: the same in either byte order, by design.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
/// This type as bytes, which begin every pcapng.
pub(super) const SECTION_HEADER_BYTES: [u8; 4] = SECTION.to_be_bytes();
pub(super) const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(super) const ENHANCED_PACKET: u32 = 6;

pub(super) const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;

/// Bytes of type and length before a block's body, and of the length behind it.
pub(super) const BEFORE: usize = 8;
pub(super) const BEHIND: usize = 4;

/// Interfaces kept per section.
const MAX_INTERFACES: usize = 65_536;

/// The section's state so far.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    allowed: LinkTypes,
    interfaces: Vec<Interface>,
    /// Interfaces described before the section's first packet, once there was one.
    at_first: Option<u32>,
    /// Time of the last frame: simple packets carry none.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    /// Most bytes of a frame in a simple packet; 0 for no bound.
    snap: u32,
    said: Said,
}

/// The options of an interface.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    clock: Clock,
    /// Frames end in a check sequence.
    checked: bool,
}

/// A block's type and whole length.
#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    len: u32,
}

/// A packet in a block's body: its fields, and the place of its bytes.
struct Packet {
    interface: u32,
    ticks: Option<u64>,
    captured: u32,
    original: u32,
    at: usize,
}

impl Pcapng {
    /// Creates the state before the first section header, which is known to be there.
    pub(super) fn new(allowed: LinkTypes) -> Self {
        let interfaces = Vec::new();
        Self { order: Order::Little, allowed, interfaces, at_first: None, last: 0 }
    }

    /// Returns the next packet. Held bytes may grow by a block beyond [`MAX_HELD`].
    pub(super) fn next<R: Read>(&mut self, input: &mut Input<R>) -> Result<Next, CaptureError> {
        while input.ensure(BEFORE)? > 0 {
            let block = self.begin_block(input)?;
            let shortest = match block.kind {
                SECTION => 28,
                INTERFACE => 20,
                SIMPLE_PACKET => 16,
                OBSOLETE_PACKET | ENHANCED_PACKET => 32,
                _ => BEFORE + BEHIND,
            };
            if block.len < shortest as u32 || !block.len.is_multiple_of(4) {
                let fault = Fault::BlockLength { kind: block.kind, len: block.len };
                return Err(input.damage(fault, u64::from(block.len).max(32)));
            }
            if input.holds() > 0 && input.holds() as u64 + u64::from(block.len) > MAX_HELD as u64 {
                return Ok(Next::Later);
            }
            match block.kind {
                SECTION | INTERFACE => {
                    self.load(input, block)?;
                    let described = self.describe(input.peek(), block);
                    described.map_err(|fault| input.fault(fault))?;
                    input.pass(block.len as usize);
                }
                SIMPLE_PACKET | OBSOLETE_PACKET | ENHANCED_PACKET => {
                    self.load(input, block)?;
                    let located = self.packet(input.peek(), block);
                    let mut located =
                        located.map_err(|fault| Self::of_packet(input, block, fault))?;
                    located.at += input.offset();
                    input.pass(block.len as usize);
                    return Ok(Next::Frame(located));
                }
                _ => self.skip(input, block)?,
            }
        }
        Ok(Next::End)
    }

    /// Returns the error of a packet's block. A wrong link type is no damage, wherever it is.
    fn of_packet<R: Read>(input: &mut Input<R>, block: Block, fault: Fault) -> CaptureError {
        let is_damage = !matches!(fault, Fault::LinkType { .. });
        input.damage(fault, if is_damage { block.len.into() } else { 0 })
    }

    /// Reads type and length of the block at the place. A section header's byte order applies from
    /// its own length on.
    fn begin_block<R: Read>(&mut self, input: &mut Input<R>) -> Result<Block, CaptureError> {
        input.whole("a block's header", BEFORE)?;
        let kind = self.order.u32(input.peek(), 0);
        if kind == SECTION {
            input.whole("a section header", BEFORE + 4)?;
            let mark = Order::Little.u32(input.peek(), BEFORE);
            self.order = match mark {
                BYTE_ORDER_MARK => Order::Little,
                _ if mark.swap_bytes() == BYTE_ORDER_MARK => Order::Big,
                _ => return Err(input.fault(Fault::ByteOrder { mark })),
            };
        }
        Ok(Block { kind, len: self.order.u32(input.peek(), 4) })
    }

    /// Brings a whole block into memory, and compares its two lengths.
    fn load<R: Read>(&self, input: &mut Input<R>, block: Block) -> Result<(), CaptureError> {
        let len = block.len as usize;
        if len > MAX_BLOCK {
            let fault = Fault::BlockTooLong { kind: block.kind, len: block.len };
            return Err(input.damage(fault, block.len.into()));
        }
        input.whole("a block", len)?;
        let last = self.order.u32(input.peek(), len - BEHIND);
        same_length(block.len, last).map_err(|fault| input.damage(fault, block.len.into()))
    }

    /// Skips a block of no use here, of any length.
    fn skip<R: Read>(&self, input: &mut Input<R>, block: Block) -> Result<(), CaptureError> {
        let offset = input.offset();
        let missing = input.skip(u64::from(block.len) - BEHIND as u64)?;
        let has = input.ensure(BEHIND)?;
        if missing > 0 || has < BEHIND {
            let (has, needs) = ((input.offset() - offset) as usize + has, block.len as usize);
            let fault = Fault::Truncated { what: "a block", has, needs };
            return Err(CaptureError::AtEnd { offset, fault });
        }
        let last = self.order.u32(input.peek(), 0);
        same_length(block.len, last)
            .map_err(|fault| input.damage_at(offset, fault, block.len.into()))?;
        input.pass(BEHIND);
        Ok(())
    }

    /// Takes in a section header or an interface description.
    fn describe(&mut self, bytes: &[u8], block: Block) -> Result<(), Fault> {
        let body = &bytes[BEFORE..block.len as usize - BEHIND];
        if block.kind == SECTION {
            let (major, minor) = (self.order.u16(body, 4), self.order.u16(body, 6));
            // Version 1.2 is 1.0 by another name, as the draft says.
            if (major, minor) != (1, 0) && (major, minor) != (1, 2) {
                return Err(Fault::Version { major, minor });
            }
            self.interfaces.clear();
            self.at_first = None;
            return Ok(());
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(Fault::TooManyInterfaces { max: MAX_INTERFACES });
        }
        let link = u32::from(self.order.u16(body, 0));
        let snap = self.order.u32(body, 4);
        let said = self.said(&body[8..])?;
        self.interfaces.push(Interface { link, snap, said });
        Ok(())
    }

    /// Reads the options of an interface that matter here.
    fn said(&self, mut options: &[u8]) -> Result<Said, Fault> {
        const END: u16 = 0;
        const RESOLUTION: u16 = 9;
        const CHECK_LENGTH: u16 = 13;
        const OFFSET: u16 = 14;
        let Said { mut clock, mut checked } = Said::default();
        while options.len() >= 4 {
            let (code, len) = (self.order.u16(options, 0), self.order.u16(options, 2) as usize);
            let (room, padded) = (options.len() - 4, len.next_multiple_of(4));
            if padded > room {
                return Err(Fault::BeyondBlock { what: "an option", len, room });
            }
            let value = &options[4..4 + len];
            match (code, value) {
                (END, _) => break,
                (RESOLUTION, [resolution]) => clock = clock.with_resolution(*resolution),
                (OFFSET, [_, _, _, _, _, _, _, _]) => {
                    clock = clock.with_offset(self.order.i64(value, 0));
                }
                (CHECK_LENGTH, [length]) => checked = *length > 0,
                _ => {}
            }
            options = &options[4 + padded..];
        }
        Ok(Said { clock, checked })
    }

    /// Returns the packet of one of the three kinds; `at` counts from the block's beginning.
    fn packet(&mut self, bytes: &[u8], block: Block) -> Result<Located, Fault> {
        let end = block.len as usize - BEHIND;
        let packet = self.fields(bytes, block.kind);
        let (len, room) = (packet.captured as usize, end - packet.at);
        let interface =
            self.interfaces.get(packet.interface as usize).ok_or(Fault::NoSuchInterface {
                interface: packet.interface,
                described: self.interfaces.len(),
            })?;
        let Some(link) = Link::of(interface.link, self.allowed) else {
            return Err(Fault::LinkType { link: interface.link });
        };
        if len > room {
            return Err(Fault::BeyondBlock { what: "a packet", len, room });
        }
        if len > MAX_FRAME {
            return Err(Fault::FrameTooLong { len: packet.captured });
        }
        if let Some(ticks) = packet.ticks {
            self.last = interface.said.clock.nanoseconds(ticks).ok_or(Fault::Time)?;
        }
        let described = self.interfaces.len() as u32;
        let located = Located {
            time: self.last,
            interface: packet.interface,
            interfaces: *self.at_first.get_or_insert(described),
            number: interface.link,
            link,
            at: packet.at as u64,
            len,
            original_len: packet.original,
            checked: false,
        };
        let checked = interface.said.checked && link == Link::Ethernet;
        Ok(if checked { located.without_check_sequence() } else { located })
    }

    /// Returns the fields of a packet block; its fixed part is there.
    fn fields(&self, bytes: &[u8], kind: u32) -> Packet {
        let field = |at: usize| self.order.u32(bytes, BEFORE + at);
        let ticks = || Some(u64::from(field(4)) << 32 | u64::from(field(8)));
        match kind {
            SIMPLE_PACKET => {
                let original = field(0);
                let snap = self.interfaces.first().map_or(0, |interface| interface.snap);
                let captured = if snap == 0 { original } else { original.min(snap) };
                Packet { interface: 0, ticks: None, captured, original, at: BEFORE + 4 }
            }
            _ => Packet {
                interface: match kind {
                    OBSOLETE_PACKET => u32::from(self.order.u16(bytes, BEFORE)),
                    _ => field(0),
                },
                ticks: ticks(),
                captured: field(12),
                original: field(16),
                at: BEFORE + 20,
            },
        }
    }
}

/// Checks that a block's length is the same at both ends.
fn same_length(first: u32, last: u32) -> Result<(), Fault> {
    if first == last { Ok(()) } else { Err(Fault::LengthsDiffer { first, last }) }
}
