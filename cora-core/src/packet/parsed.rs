//! The result of parsing a frame: few distinctive fields on the fast path, all offsets for other
//! frames.

use core::ops::Range;

use super::Headers;
use super::carried::Carried;
use super::fast_path::FastFrame;
use super::layers::{Fault, Layers, Version};
use crate::verdict::Reason;

/// The result of the parse.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parsed {
    /// Not parsed yet: treated as a frame without IP.
    Unparsed,
    /// A frame on the fast path.
    Fast(FastFrame),
    /// Any other frame with its flow, which is read once, since every handler needs it. The setters
    /// keep the flow up to date. It is meaningless if the layers have a fault.
    Other(Layers, Carried),
}

impl Parsed {
    /// Parses a frame of any bytes, on the fast path of IPv6 if possible. For a head, `length` is
    /// that of the whole frame.
    #[inline]
    pub(super) fn of_any(frame: &[u8], length: usize) -> Self {
        let (layers, flow) = Layers::fast_v6(frame, length).unwrap_or_else(|| {
            let layers = Layers::parse(frame);
            (layers, layers.flow(frame))
        });
        Self::Other(layers, flow.into())
    }

    /// Why there is no flow.
    #[cold]
    #[inline(never)]
    pub(super) const fn no_flow(&self) -> Reason {
        self.flow_fault().reason()
    }

    /// Why the flow can't be read.
    #[inline(always)]
    pub(super) const fn flow_fault(&self) -> Fault {
        match self {
            Self::Fast(_) => Fault::None,
            Self::Other(layers, _) => layers.flow_fault,
            Self::Unparsed => Fault::NotIp,
        }
    }

    /// Why addresses and protocol can't be read.
    #[inline(always)]
    pub(super) const fn network_fault(&self) -> Fault {
        match self {
            Self::Fast(_) => Fault::None,
            Self::Other(layers, _) => layers.network_fault,
            Self::Unparsed => Fault::NotIp,
        }
    }

    /// End of the IP packet.
    #[inline(always)]
    pub(super) const fn end(&self) -> usize {
        match self {
            Self::Fast(fast) => fast.end as usize,
            Self::Other(layers, _) => layers.end as usize,
            Self::Unparsed => 0,
        }
    }

    /// The IP version that the frame claims.
    #[inline(always)]
    pub(super) const fn version(&self) -> Version {
        match self {
            Self::Fast(_) => Version::V4,
            Self::Other(layers, _) => layers.version,
            Self::Unparsed => Version::NotIp,
        }
    }
}

impl Headers<'_> {
    /// The payload of the transport. Not inlined: few handlers read it, and some of them often.
    #[inline(never)]
    pub(super) fn payload_range(&self) -> Range<usize> {
        match &self.parsed {
            Parsed::Fast(fast) => fast.payload(self.frame),
            Parsed::Other(layers, _) => layers.payload(),
            Parsed::Unparsed => 0..0,
        }
    }

    /// The offsets of everything but the payload, as a copy. It is constructed on each call for a
    /// fast-path frame, which rarely needs it.
    #[inline(never)]
    pub(super) fn layers(&self) -> Layers {
        match &self.parsed {
            Parsed::Fast(fast) => fast.layers(),
            Parsed::Other(layers, _) => *layers,
            Parsed::Unparsed => Layers::none(0, Version::NotIp, Fault::NotIp),
        }
    }
}
