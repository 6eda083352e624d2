//! Makes captures byte by byte, in either order.

use crate::capture::input::Order;

/// A builder of a capture.
pub(super) struct Make {
    order: Order,
    pub(super) bytes: Vec<u8>,
}

impl Make {
    pub(super) fn new(order: Order) -> Self {
        Self { order, bytes: Vec::new() }
    }

    pub(super) fn u16(mut self, number: u16) -> Self {
        self.bytes.extend(match self.order {
            Order::Little => number.to_le_bytes(),
            Order::Big => number.to_be_bytes(),
        });
        self
    }

    pub(super) fn u32(mut self, number: u32) -> Self {
        self.bytes.extend(match self.order {
            Order::Little => number.to_le_bytes(),
            Order::Big => number.to_be_bytes(),
        });
        self
    }

    pub(super) fn u64(mut self, number: u64) -> Self {
        self.bytes.extend(match self.order {
            Order::Little => number.to_le_bytes(),
            Order::Big => number.to_be_bytes(),
        });
        self
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Fills up to a multiple of four.
    fn pad(mut self) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// Adds a pcap's file header.
    pub(super) fn pcap(order: Order, magic: u32, link: u32) -> Self {
        Self::new(order).u32(magic).u16(2).u16(4).u64(0).u32(65_535).u32(link)
    }

    /// Adds a pcap's record.
    pub(super) fn record(self, seconds: u32, fraction: u32, frame: &[u8], original: u32) -> Self {
        let len = frame.len() as u32;
        self.u32(seconds).u32(fraction).u32(len).u32(original).bytes(frame)
    }

    /// Adds a pcapng block around a body.
    pub(super) fn block(self, kind: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let body = body(Self::new(self.order)).pad().bytes;
        let len = body.len() as u32 + 12;
        self.u32(kind).u32(len).bytes(&body).u32(len)
    }

    /// Adds a section header, which may begin another order.
    pub(super) fn section(mut self, order: Order) -> Self {
        self.order = order;
        self.block(0x0a0d_0d0a, |body| body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX))
    }

    /// Adds an interface description.
    pub(super) fn interface(self, link: u16, snap: u32, options: &[(u16, &[u8])]) -> Self {
        self.block(1, |body| {
            let mut body = body.u16(link).u16(0).u32(snap);
            for (code, value) in options {
                body = body.u16(*code).u16(value.len() as u16).bytes(value).pad();
            }
            if options.is_empty() { body } else { body.u32(0) }
        })
    }

    /// Adds an enhanced packet, with a comment behind it.
    pub(super) fn enhanced(self, interface: u32, ticks: u64, frame: &[u8], original: u32) -> Self {
        self.block(6, |body| {
            let body = body.u32(interface).u32((ticks >> 32) as u32).u32(ticks as u32);
            let body = body.u32(frame.len() as u32).u32(original).bytes(frame).pad();
            body.u16(1).u16(5).bytes(b"hello").pad().u32(0)
        })
    }

    /// Adds a simple packet; `frame` has its captured bytes.
    pub(super) fn simple(self, frame: &[u8], original: u32) -> Self {
        self.block(3, |body| body.u32(original).bytes(frame))
    }

    /// Adds an obsolete packet.
    pub(super) fn obsolete(self, interface: u16, ticks: u64, frame: &[u8], original: u32) -> Self {
        self.block(2, |body| {
            let body = body.u16(interface).u16(0).u32((ticks >> 32) as u32).u32(ticks as u32);
            body.u32(frame.len() as u32).u32(original).bytes(frame)
        })
    }
}

/// Makes a small pcapng with every kind of block.
pub(super) fn everything(order: Order) -> Vec<u8> {
    let negative = match order {
        Order::Little => (-10_i64).to_le_bytes(),
        Order::Big => (-10_i64).to_be_bytes(),
    };
    let other = if order == Order::Little { Order::Big } else { Order::Little };
    Make::new(order)
        .section(order)
        .interface(1, 6, &[(2, b"eth0"), (9, &[9])])
        .interface(1, 0, &[(14, &negative), (9, &[0x8a])])
        .enhanced(0, 5_000_000_001, b"enhanced", 100)
        .block(0x0bad_0bad, |body| body.bytes(b"of no use here"))
        .simple(b"simple", 60)
        .obsolete(1, 12 * 1024, b"obsolete", 8)
        .section(other)
        .interface(1, 0, &[])
        .block(5, |body| body.u32(0).u32(0).u32(0))
        .enhanced(0, 1_600_000_000_123_456, b"again", 5)
        .bytes
}
