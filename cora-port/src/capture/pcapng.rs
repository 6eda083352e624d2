//! The newer format: blocks, each with its type and its length at both ends.
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html>
//!
//! Section headers begin anew, with their own byte order and interfaces; packets come in three
//! kinds of blocks; every other block is passed.

use std::io::Read;

use super::clock::Clock;
use super::error::{CaptureError, Fault};
use super::input::{Input, Order};
use super::{ETHERNET, Located, MAX_BLOCK, MAX_FRAME};

/// The type of a section header: the same in either byte order, on purpose.
const SECTION: u32 = 0x0a0d_0d0a;
/// The same as bytes, which begin every pcapng.
pub(super) const SECTION_HEADER_BYTES: [u8; 4] = SECTION.to_be_bytes();
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MARK: u32 = 0x1a2b_3c4d;

/// Type and length before a block's body, length behind it.
const BEFORE: usize = 8;
const BEHIND: usize = 4;

/// Interfaces kept per section.
const MAX_INTERFACES: usize = 65_536;

/// What the section said so far.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    /// Time of the last frame: simple packets carry none.
    last: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    /// Most bytes that a simple packet has of its frame; 0 for no bound.
    snap: u32,
    clock: Clock,
}

/// A block's type and whole length.
#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    len: u32,
}

/// A packet in a block's body: what it says of itself, and where its bytes begin.
struct Packet {
    interface: u32,
    ticks: Option<u64>,
    captured: u32,
    original: u32,
    at: usize,
}

impl Pcapng {
    /// Before the first section header, which is known to be there.
    pub(super) fn new() -> Self {
        Self { order: Order::Little, interfaces: Vec::new(), last: 0 }
    }

    /// Interfaces described so far, in this section.
    pub(super) fn interfaces(&self) -> u32 {
        self.interfaces.len() as u32
    }

    /// The next packet.
    pub(super) fn next<R: Read>(
        &mut self,
        input: &mut Input<R>,
    ) -> Result<Option<Located>, CaptureError> {
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
                return Err(input.fault(Fault::BlockLength { kind: block.kind, len: block.len }));
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
                    let located = located.map_err(|fault| input.fault(fault))?;
                    input.pass(block.len as usize);
                    return Ok(Some(located));
                }
                _ => self.skip(input, block)?,
            }
        }
        Ok(None)
    }

    /// Type and length of the block at the place. A section header's byte order holds from its own
    /// length on.
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
            return Err(input.fault(Fault::BlockTooLong { kind: block.kind, len: block.len }));
        }
        input.whole("a block", len)?;
        let last = self.order.u32(input.peek(), len - BEHIND);
        same_length(block.len, last).map_err(|fault| input.fault(fault))
    }

    /// Passes a block of no use here, however long.
    fn skip<R: Read>(&self, input: &mut Input<R>, block: Block) -> Result<(), CaptureError> {
        let offset = input.offset();
        let corrupt = |fault| CaptureError::Corrupt { offset, fault };
        let missing = input.skip(u64::from(block.len) - BEHIND as u64)?;
        let has = input.ensure(BEHIND)?;
        if missing > 0 || has < BEHIND {
            let (has, needs) = ((input.offset() - offset) as usize + has, block.len as usize);
            return Err(corrupt(Fault::Truncated { what: "a block", has, needs }));
        }
        let last = self.order.u32(input.peek(), 0);
        same_length(block.len, last).map_err(corrupt)?;
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
            return Ok(());
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(Fault::TooManyInterfaces { max: MAX_INTERFACES });
        }
        let link = u32::from(self.order.u16(body, 0));
        let snap = self.order.u32(body, 4);
        let clock = self.clock(&body[8..])?;
        self.interfaces.push(Interface { link, snap, clock });
        Ok(())
    }

    /// The clock that an interface's options describe.
    fn clock(&self, mut options: &[u8]) -> Result<Clock, Fault> {
        const END: u16 = 0;
        const RESOLUTION: u16 = 9;
        const OFFSET: u16 = 14;
        let mut clock = Clock::default();
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
                _ => {}
            }
            options = &options[4 + padded..];
        }
        Ok(clock)
    }

    /// The packet in a block of one of the three kinds.
    fn packet(&mut self, bytes: &[u8], block: Block) -> Result<Located, Fault> {
        let end = block.len as usize - BEHIND;
        let packet = self.fields(bytes, block.kind);
        let (len, room) = (packet.captured as usize, end - packet.at);
        let interface =
            self.interfaces.get(packet.interface as usize).ok_or(Fault::NoSuchInterface {
                interface: packet.interface,
                described: self.interfaces.len(),
            })?;
        if interface.link != ETHERNET {
            return Err(Fault::LinkType { link: interface.link });
        }
        if len > room {
            return Err(Fault::BeyondBlock { what: "a packet", len, room });
        }
        if len > MAX_FRAME {
            return Err(Fault::FrameTooLong { len: packet.captured });
        }
        if let Some(ticks) = packet.ticks {
            self.last = interface.clock.nanoseconds(ticks).ok_or(Fault::Time)?;
        }
        Ok(Located {
            time: self.last,
            interface: packet.interface,
            back: block.len as usize - packet.at,
            len,
            original_len: packet.original,
        })
    }

    /// The fields of a packet block, whose fixed part is there.
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

/// A block's length stands at both ends.
fn same_length(first: u32, last: u32) -> Result<(), Fault> {
    if first == last { Ok(()) } else { Err(Fault::LengthsDiffer { first, last }) }
}
