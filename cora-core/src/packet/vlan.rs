//! VLAN tags: read where they stand, since few packets have any and few programs ask.

use super::Headers;
use super::layers;

/// One VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// What kind of tag: [`Self::CUSTOMER`], [`Self::SERVICE`] or [`Self::OLD_SERVICE`].
    pub kind: u16,
    /// The network's number: 0 (none, the tag is there for its priority) to 4095.
    pub id: u16,
    /// Priority: 0 to 7.
    pub priority: u8,
    /// Whether it may be dropped before others when the way is full.
    pub drop_eligible: bool,
}

impl Vlan {
    /// The kind of a customer's tag (IEEE 802.1Q).
    pub const CUSTOMER: u16 = 0x8100;
    /// The kind of a service provider's tag (IEEE 802.1ad).
    pub const SERVICE: u16 = 0x88a8;
    /// The kind of a provider's tag from before the standard.
    pub const OLD_SERVICE: u16 = 0x9100;

    /// Whether a VLAN tag stands where the Ethernet type is this one.
    #[inline]
    pub const fn is_tag(ethertype: u16) -> bool {
        matches!(ethertype, Self::CUSTOMER | Self::SERVICE | Self::OLD_SERVICE)
    }
}

impl Headers<'_> {
    /// The outermost VLAN tag, if the frame has one.
    #[inline]
    pub fn vlan(&self) -> Option<Vlan> {
        self.vlans().next()
    }

    /// The VLAN tags, the outermost first; as many as the parse reads, which is up to four.
    ///
    /// They are no part of [`FiveTuple`](crate::key::FiveTuple): the same addresses and ports in
    /// two networks are one flow. A program for networks with overlapping addresses needs a key of
    /// its own.
    pub fn vlans(&self) -> impl Iterator<Item = Vlan> {
        layers::tags(self.here()).map(|(kind, control)| Vlan {
            kind,
            id: control & 0x0fff,
            priority: (control >> 13) as u8,
            drop_eligible: control & 0x1000 != 0,
        })
    }
}
