//! Replicas of durable entries at the host: of the NIC's entries, and of its own.

use cora_core::app::App;
use cora_core::plain::Plain;
use cora_core::state::table::Change;
use cora_core::state::{Kept, MAX_PIECE};

use crate::channel::{Outbox, ProtocolError};
use crate::durability::store::{Copied, Holder, Standby};
use crate::host_half::{HostHalf, Incoming};
use crate::link::message::{Durability, Kind, Message, Ownership};
use crate::ownership::encode::{encoded, room};
use crate::ownership::records::Flows;

impl<A: App> HostHalf<A> {
    /// Handles the NIC's messages about replicas.
    pub(crate) fn durability_message(
        &mut self,
        message: Durability<'_>,
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        match message {
            Durability::Copy { state, group, piece } => {
                let copy = self.copy_for_nic(state, group.0, piece)?;
                if out.standby().is_some_and(|standby| is_hosts_own(standby, &copy)) {
                    self.uncopied += 1;
                } else {
                    self.keep(&copy, out.standby());
                }
                Ok(())
            }
            Durability::Erase { state, key } => {
                if let Some(standby) = out.standby() {
                    standby.forget(Holder::Nic, state, key);
                }
                Ok(())
            }
            Durability::Same { state, used, key } => self.same(state, used, key, out),
        }
    }

    /// Handles a message that the NIC sent to the previous host, and that host did not release from
    /// the ring. All such messages come here before [`Self::take_over`]. Durable entries in transit
    /// are kept as replicas of the NIC's; packets are lost. The previous host published nothing
    /// that depends on these messages, so older replicas may be valid again.
    #[cold]
    pub fn catch_up(&mut self, message: &Message<'_>, standby: &mut dyn Standby) {
        match *message {
            Message::Ownership(Ownership::Release { entries, group, .. }) => {
                let group = A::Group::get(group).filter(|_| entries > 0);
                let flow = cora_core::state::NO_FLOW;
                let incoming = |group| Incoming { flow, left: entries, group, used: 0 };
                self.incoming = group.map(incoming);
            }
            Message::Ownership(Ownership::Entry { state, piece }) => match self.came() {
                Some(Incoming { group, .. }) => {
                    self.keep_if_whole(state, encoded(&group, &mut room()), piece, standby);
                }
                // The previous host consumed the release; an older replica of the entry tells its
                // flow.
                None => self.keep_again(state, piece, standby),
            },
            Message::Ownership(Ownership::Vanished {})
            | Message::Durability(Durability::Same { .. }) => drop(self.came()),
            Message::Durability(Durability::Copy { state, group, piece }) => {
                self.keep_if_whole(state, group.0, piece, standby);
            }
            Message::Durability(Durability::Erase { state, key }) => {
                standby.forget(Holder::Nic, state, key);
            }
            _ => {}
        }
    }

    /// Counts an entry of the released flow.
    fn came(&mut self) -> Option<Incoming<A::Group>> {
        let incoming = self.incoming?;
        let left = incoming.left - 1;
        self.incoming = (left > 0).then_some(Incoming { left, ..incoming });
        Some(incoming)
    }

    /// Keeps an entry in place of its replica, with the same flow.
    fn keep_again(&mut self, state: u16, piece: &[u8], standby: &mut dyn Standby) {
        let Some((key, _)) = Flows::durable_bytes(self.engine.app(), state) else { return };
        let mut bytes = [0; 64];
        let mut length = 0;
        standby.find(state, piece.get(..key).unwrap_or_default(), &mut |copy| {
            if let Some(place) = bytes.get_mut(..copy.group.len()) {
                place.copy_from_slice(copy.group);
                length = copy.group.len();
            }
        });
        let group = bytes.get(..length).unwrap_or_default();
        self.keep_if_whole(state, group, piece, standby);
    }

    /// Keeps a replica, unless the dead host left bytes that don't decode: nothing depends on
    /// those.
    fn keep_if_whole(&mut self, state: u16, group: &[u8], piece: &[u8], standby: &mut dyn Standby) {
        if let Ok(copy) = self.copy_for_nic(state, group, piece) {
            self.keep(&copy, Some(standby));
        }
    }

    /// The copy of an entry that the NIC owns, if the bytes are one.
    fn copy_for_nic<'a>(
        &mut self,
        state: u16,
        group: &'a [u8],
        piece: &'a [u8],
    ) -> Result<Copied<'a>, ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        let sizes = Flows::durable_bytes(self.engine.app(), state);
        let (key, _) = sizes.filter(|(_, bytes)| *bytes == piece.len()).ok_or(bad)?;
        let key = piece.get(..key).ok_or(bad)?;
        Ok(Copied { state, holder: Holder::Nic, group, key, piece })
    }

    /// Keeps a copy. One that there is no room for is counted.
    fn keep(&mut self, copy: &Copied<'_>, standby: Option<&mut dyn Standby>) {
        let kept = standby.is_none_or(|standby| standby.keep(copy));
        self.uncopied += u64::from(!kept);
    }

    /// An entry comes back unchanged: restores it from its replica.
    fn same(
        &mut self,
        state: u16,
        used: u64,
        key: &[u8],
        out: &mut impl Outbox,
    ) -> Result<(), ProtocolError> {
        let unexpected = ProtocolError::Unexpected(Kind::Same);
        let incoming = self.incoming.as_mut().ok_or(unexpected)?;
        let mut bytes = [0; MAX_PIECE];
        let mut length = None;
        if let Some(standby) = out.standby() {
            standby.find(state, key, &mut |copy| {
                if let Some(place) = bytes.get_mut(..copy.piece.len()) {
                    place.copy_from_slice(copy.piece);
                    length = Some(copy.piece.len());
                }
            });
        }
        let piece = length.and_then(|length| bytes.get(..length));
        let piece = piece.ok_or(ProtocolError::NoCopy(state))?;
        let restored = self.flows.restore(self.engine.app(), state, piece, incoming.flow, used)?;
        self.report.refused += u64::from(!restored);
        incoming.left -= 1;
        incoming.used = incoming.used.max(used);
        self.end_of_release(out);
        Ok(())
    }

    /// Assigns the replicas of the flow's durable entries to the NIC, before the entries go there.
    pub(crate) fn copies_go_along(&mut self, flow: u32, now: u64, out: &mut impl Outbox) {
        self.tell_changes(out);
        if let (Some(group), Some(standby)) = (self.flows.group(flow), out.standby()) {
            standby.assign(Holder::Host, Holder::Nic, Some(encoded(&group, &mut room())));
        }
        Flows::disown(self.engine.app(), flow, now);
    }

    /// Replicates the changes made here, if anything is durable, and reports ended entries, if
    /// anything is recorded.
    #[inline]
    pub fn tell_changes(&mut self, out: &mut impl Outbox) {
        if const { !A::RECORDED.is_empty() } {
            self.engine.app().ended(&mut |state, ending| out.ended(state, ending));
        }
        if const { A::DURABLE || !A::KEPT.is_empty() }
            && let Some(standby) = out.standby()
        {
            self.tell_to(standby);
        }
    }

    pub(crate) fn tell_to(&mut self, standby: &mut dyn Standby) {
        let together = const { !A::KEPT.is_empty() } && self.singletons_are_touched();
        if together {
            standby.begin();
            self.tell_singletons(standby);
        }
        self.tell_entries(standby);
        if together {
            standby.commit();
        }
    }

    fn singletons_are_touched(&mut self) -> bool {
        let app = self.engine.app();
        A::KEPT.iter().any(|state| kept(app, *state).is_some_and(|it| it.is_touched()))
    }

    #[inline(never)]
    fn tell_singletons(&mut self, standby: &mut dyn Standby) {
        for state in A::KEPT {
            if let Some(kept) = kept(self.engine.app(), *state) {
                kept.tell(&mut |at, part| standby.keep_part(*state as u16, at, part));
            }
        }
    }

    fn tell_entries(&mut self, standby: &mut dyn Standby) {
        let uncopied = &mut self.uncopied;
        self.flows.tell(self.engine.app(), &mut |state, group, change| match change {
            Change::Gone(key) => standby.forget(Holder::Host, state, key),
            Change::Is { key, piece, .. } => {
                let mut bytes = room();
                let group = group.map_or(&[][..], |group| encoded(&group, &mut bytes));
                let copy = Copied { state, holder: Holder::Host, group, key, piece };
                *uncopied += u64::from(!standby.keep(&copy));
            }
        });
    }
}

/// Whether the entry's replica is the host's own. The NIC may not replace it: that could undo
/// changes behind packets that the host has sent. Only a half that lies makes two owners of one
/// entry.
fn is_hosts_own(standby: &dyn Standby, copy: &Copied<'_>) -> bool {
    let mut is_own = false;
    standby.find(copy.state, copy.key, &mut |kept| is_own = kept.holder == Holder::Host);
    is_own
}

/// The durable singleton with this number. Only the host keeps replicas, so the NIC half is built
/// without.
#[cfg(not(target_os = "none"))]
pub(crate) fn kept<A: App>(app: &mut A, state: usize) -> Option<&mut dyn Kept> {
    app.described(state).kept()
}

#[cfg(target_os = "none")]
pub(crate) fn kept<A: App>(_: &mut A, _: usize) -> Option<&mut dyn Kept> {
    None
}
