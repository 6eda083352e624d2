//! The classic format: a file header, then records of 16 bytes and a frame each.
//! <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-04.html>

use std::io::Read;

use super::error::{CaptureError, Fault};
use super::input::{Input, Order};
use super::{ETHERNET, Located, MAX_FRAME};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The link type's bits; above them stands whether frames end in a check sequence.
const LINK_BITS: u32 = 0x03ff_ffff;

/// What a file header says.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Nanoseconds per unit of a stamp's fraction.
    unit: u64,
}

impl Pcap {
    /// Reads the rest of a header whose magic is known.
    pub(super) fn new<R: Read>(
        input: &mut Input<R>,
        order: Order,
        unit: u64,
    ) -> Result<Self, CaptureError> {
        input.whole("the file header", FILE_HEADER)?;
        let header = input.peek();
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        if (major, minor) != (2, 4) {
            return Err(input.fault(Fault::Version { major, minor }));
        }
        let link = order.u32(header, 20) & LINK_BITS;
        if link != ETHERNET {
            return Err(input.fault(Fault::LinkType { link }));
        }
        input.pass(FILE_HEADER);
        Ok(Self { order, unit })
    }

    /// The next record.
    pub(super) fn next<R: Read>(
        &mut self,
        input: &mut Input<R>,
    ) -> Result<Option<Located>, CaptureError> {
        if input.ensure(RECORD_HEADER)? == 0 {
            return Ok(None);
        }
        input.whole("a record's header", RECORD_HEADER)?;
        let field = |at| self.order.u32(input.peek(), at);
        let (seconds, fraction, captured, original_len) = (field(0), field(4), field(8), field(12));
        let len = captured as usize;
        if len > MAX_FRAME {
            return Err(input.fault(Fault::FrameTooLong { len: captured }));
        }
        input.whole("a packet", RECORD_HEADER + len)?;
        input.pass(RECORD_HEADER + len);
        // Both are 32 bits wide, so the sum has room in 64.
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit;
        Ok(Some(Located { time, interface: 0, back: len, len, original_len }))
    }
}
