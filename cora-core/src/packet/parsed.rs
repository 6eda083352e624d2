//! What is known of a frame once it is parsed: of most, what differs between them; of others, where
//! everything stands.

use core::ops::Range;

use super::Headers;
use super::carried::Carried;
use super::layers::{Fault, Layers, Version};
use super::plain::PlainFrame;
use crate::verdict::Reason;

/// The result of the parse.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parsed {
    /// Nobody looked yet: as good as no IP.
    Unparsed,
    /// A frame as most are.
    Plain(PlainFrame),
    /// Any other, and its flow, read once, since all ask for it. The setters keep it right; it
    /// means nothing beside a fault of the layers.
    Other(Layers, Carried),
}

impl Parsed {
    /// What is found in a frame of any bytes, the short way of IPv6 if it goes. Of a head, `length`
    /// is the whole frame's.
    #[inline]
    pub(super) fn of_any(frame: &[u8], length: usize) -> Self {
        let (layers, flow) = Layers::plain_v6(frame, length).unwrap_or_else(|| {
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

    /// Why the flow can't be told.
    #[inline(always)]
    pub(super) const fn flow_fault(&self) -> Fault {
        match self {
            Self::Plain(_) => Fault::None,
            Self::Other(layers, _) => layers.flow_fault,
            Self::Unparsed => Fault::NotIp,
        }
    }

    /// Why addresses and protocol can't be told.
    #[inline(always)]
    pub(super) const fn network_fault(&self) -> Fault {
        match self {
            Self::Plain(_) => Fault::None,
            Self::Other(layers, _) => layers.network_fault,
            Self::Unparsed => Fault::NotIp,
        }
    }

    /// Where the IP packet ends.
    #[inline(always)]
    pub(super) const fn end(&self) -> usize {
        match self {
            Self::Plain(plain) => plain.end as usize,
            Self::Other(layers, _) => layers.end as usize,
            Self::Unparsed => 0,
        }
    }

    /// Which IP the frame says it carries.
    #[inline(always)]
    pub(super) const fn version(&self) -> Version {
        match self {
            Self::Plain(_) => Version::V4,
            Self::Other(layers, _) => layers.version,
            Self::Unparsed => Version::NotIp,
        }
    }
}

impl Headers<'_> {
    /// The payload of the transport. By itself: few handlers ask, and some often.
    #[inline(never)]
    pub(super) fn payload_range(&self) -> Range<usize> {
        match &self.parsed {
            Parsed::Plain(plain) => plain.payload(self.frame),
            Parsed::Other(layers, _) => layers.payload(),
            Parsed::Unparsed => 0..0,
        }
    }

    /// Where everything stands but the payload. A copy: put together anew for a frame as most are,
    /// whose usual ways don't ask.
    #[inline(never)]
    pub(super) fn layers(&self) -> Layers {
        match &self.parsed {
            Parsed::Plain(plain) => plain.layers(),
            Parsed::Other(layers, _) => *layers,
            Parsed::Unparsed => Layers::none(0, Version::NotIp, Fault::NotIp),
        }
    }
}
