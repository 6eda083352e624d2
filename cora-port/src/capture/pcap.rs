//! The classic format: one header, then records.
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>

use std::io::Read;

use super::error::{CaptureError, Fault};
use super::input::{Input, Order};
use super::link::{Link, LinkTypes};
use super::{Located, MAX_FRAME, Next};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The link type's bits. The bits above tell whether frames end in a check sequence.
const LINK_BITS: u32 = 0x03ff_ffff;
/// The bit that says that the highest four bits hold the length of the check sequence.
const HAS_CHECK_LENGTH: u32 = 0x0400_0000;
const CHECK_LENGTH_BITS: u32 = 0xf000_0000;

/// The content of a file header.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Nanoseconds per unit of a stamp's fraction.
    unit: u64,
    number: u32,
    link: Link,
    /// Frames end in a check sequence.
    checked: bool,
}

impl Pcap {
    /// Reads a file header; its magic number is known.
    pub(super) fn new<R: Read>(
        input: &mut Input<R>,
        order: Order,
        unit: u64,
        allowed: LinkTypes,
    ) -> Result<Self, CaptureError> {
        input.whole("the file header", FILE_HEADER)?;
        let header = input.peek();
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        if (major, minor) != (2, 4) {
            return Err(input.fault(Fault::Version { major, minor }));
        }
        let field = order.u32(header, 20);
        let number = field & LINK_BITS;
        let Some(link) = Link::of(number, allowed) else {
            return Err(input.fault(Fault::LinkType { link: number }));
        };
        let checked = field & HAS_CHECK_LENGTH != 0 && field & CHECK_LENGTH_BITS != 0;
        input.pass(FILE_HEADER);
        Ok(Self { order, unit, number, link, checked })
    }

    /// Reads the next record.
    pub(super) fn next<R: Read>(&mut self, input: &mut Input<R>) -> Result<Next, CaptureError> {
        if input.ensure(RECORD_HEADER)? == 0 {
            return Ok(Next::End);
        }
        input.whole("a record's header", RECORD_HEADER)?;
        let field = |at| self.order.u32(input.peek(), at);
        let (seconds, fraction, captured, original_len) = (field(0), field(4), field(8), field(12));
        let len = captured as usize;
        if len > MAX_FRAME {
            let claims = RECORD_HEADER as u64 + u64::from(captured);
            return Err(input.damage(Fault::FrameTooLong { len: captured }, claims));
        }
        input.whole("a packet", RECORD_HEADER + len)?;
        let at = input.offset() + RECORD_HEADER as u64;
        input.pass(RECORD_HEADER + len);
        // Both are 32 bits wide, so the sum has room in 64.
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        let (interface, interfaces) = (0, 1);
        let frame = Located {
            time,
            interface,
            interfaces,
            number: self.number,
            link: self.link,
            at,
            len,
            original_len,
            checked: false,
        };
        Ok(Next::Frame(if self.checked { frame.without_check_sequence() } else { frame }))
    }
}
