//! VLAN tags. They are read on demand, since few packets have any and few programs ask.

use super::layers::{self, ETHERTYPE};
use super::{Headers, Packet};
use crate::verdict::Reason;

/// One VLAN tag (IEEE 802.1Q).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Kind of tag: [`Self::CUSTOMER`], [`Self::SERVICE`] or [`Self::OLD_SERVICE`].
    pub kind: u16,
    /// The network's number: 0 (no network, the tag only gives a priority) to 4095.
    pub id: u16,
    /// Priority: 0 to 7.
    pub priority: u8,
    /// Whether it may be dropped before others under congestion.
    pub drop_eligible: bool,
}

/// No network and no priority.
impl Default for Vlan {
    fn default() -> Self {
        Self { kind: Self::CUSTOMER, id: 0, priority: 0, drop_eligible: false }
    }
}

impl Vlan {
    /// The kind of a customer's tag (IEEE 802.1Q).
    pub const CUSTOMER: u16 = 0x8100;
    /// The kind of a service provider's tag (IEEE 802.1ad).
    pub const SERVICE: u16 = 0x88a8;
    /// The kind of a provider's tag that predates the standard.
    pub const OLD_SERVICE: u16 = 0x9100;

    /// Whether this Ethernet type marks a VLAN tag.
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

    /// The VLAN tags, the outermost first. The parse reads up to four.
    ///
    /// They are not part of [`FiveTuple`](crate::key::FiveTuple): the same addresses and ports in
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

impl Packet<'_> {
    /// Puts a tag in front of all others. Of its number and priority, 12 and 3 bits are written.
    ///
    /// Refused as [`splice`](Self::splice) is, and the packet is then unchanged.
    pub fn push_vlan(&mut self, tag: Vlan) -> Result<(), Reason> {
        let [kind, of] = tag.kind.to_be_bytes();
        let eligible = u16::from(tag.drop_eligible) << 12;
        let control = u16::from(tag.priority & 7) << 13 | eligible | tag.id & 0x0fff;
        let [high, low] = control.to_be_bytes();
        self.splice(ETHERTYPE, 0, &[kind, of, high, low])
    }

    /// Removes the outermost tag and returns it; `None` if there is none.
    pub fn pop_vlan(&mut self) -> Option<Vlan> {
        let tag = self.vlan()?;
        self.splice(ETHERTYPE, 4, &[]).ok()?;
        Some(tag)
    }
}
