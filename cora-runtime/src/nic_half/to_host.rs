//! Packets that go to the host: by themselves, or with their flow.

use cora_core::app::App;

use super::NicHalf;
use super::cascade::Here;
use crate::channel::PeerOutbox;
use crate::exec::egress::Wire;
use crate::exec::header_split;
use crate::link::message::Stamp;
use crate::ownership::nic::NicSide;

impl<A: App> NicHalf<A> {
    pub(super) fn pass_on(
        &mut self,
        stamp: &Stamp,
        frame: &[u8],
        io: &mut (impl PeerOutbox + Wire),
    ) {
        self.report.passed_on += 1;
        self.forward(stamp, frame, io);
    }

    /// A packet of no flow that is here goes to the host, unless it ran here.
    #[inline(always)]
    pub(super) fn goes_to_host(
        &mut self,
        here: Here,
        stamp: &Stamp,
        frame: &[u8],
        io: &mut (impl PeerOutbox + Wire),
    ) {
        match here {
            Here::Ran => {}
            Here::Void | Here::No if self.host_must_queue(stamp.meta.now) => {
                self.queue(None, stamp, frame, io);
            }
            Here::Void => {
                self.report.punts += 1;
                self.forward(stamp, frame, io);
            }
            Here::No => self.pass_on(stamp, frame, io),
        }
    }

    /// Sends a packet that is counted to the host.
    #[inline(always)]
    fn forward(&mut self, stamp: &Stamp, frame: &[u8], io: &mut (impl PeerOutbox + Wire)) {
        self.tell_ends(stamp.meta.now, io);
        let punt = header_split::punt::<A>(stamp, frame, io);
        io.send(&punt);
    }

    /// Sends the flow to the host: its entries, then the packet.
    #[inline(never)]
    pub(super) fn release(
        &mut self,
        flow: u32,
        stamp: &Stamp,
        frame: &[u8],
        io: &mut (impl PeerOutbox + Wire),
    ) {
        // Built before anything is sent: afterwards, reading the frame would wait until the ring
        // has the entries.
        let punt = header_split::punt::<A>(stamp, frame, io);
        self.tell_ends(stamp.meta.now, io);
        self.leaves_amid(io);
        self.ownership.release(flow, stamp.meta.now, side!(self), io);
        io.send(&punt);
        // Meanwhile the host can go on.
        io.show();
        self.ownership.forget(flow, self.engine.app(), &mut self.hold);
    }
}
