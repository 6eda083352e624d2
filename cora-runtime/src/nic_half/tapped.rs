//! Packets from the wire while an operator taps them.

use core::convert::Infallible;

use cora_core::app::App;

use super::NicHalf;
use crate::channel::PeerOutbox;
use crate::exec::burst::Burst;
use crate::exec::egress::Wire;

impl<A: App> NicHalf<A> {
    /// Handles packets from the wire, as [`Self::burst`] does, and tells an operator of those that
    /// are tapped.
    #[inline(always)]
    pub(crate) fn take(&mut self, burst: &mut Burst<'_>, io: &mut (impl PeerOutbox + Wire)) {
        if self.tap.is_on() { self.burst_tapped(burst, io) } else { self.burst(burst, io) }
    }

    #[cold]
    #[inline(never)]
    fn burst_tapped(&mut self, burst: &mut Burst<'_>, io: &mut (impl PeerOutbox + Wire)) {
        if burst.is_empty() || !self.tap.looks_at(burst, io) {
            return self.burst(burst, io);
        }
        let _: Result<(), Infallible> = burst.each_alone(|alone| {
            let Self { tap, engine, .. } = self;
            let followed =
                alone.first_mut().and_then(|arrival| tap.begins(arrival, &engine.outcomes, io));
            let horizon = self.waits_since(self.now);
            let Self { tap, engine, .. } = self;
            if let Some(followed) = &followed {
                tap.entries(followed, false, (engine.app(), horizon), io);
            }
            let mark = io.mark();
            self.burst(alone, io);
            if let Some(followed) = followed {
                let Self { tap, engine, .. } = self;
                let sent = io.sent_since(mark);
                tap.ends(&followed, (engine, horizon), true, sent, io);
            }
            Ok(())
        });
    }
}
