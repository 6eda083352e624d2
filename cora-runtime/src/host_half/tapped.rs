//! Packets while an operator taps them.

use cora_core::app::App;

use super::{HostHalf, HostOutbox};
use crate::channel::ProtocolError;
use crate::exec::burst::Burst;
use crate::tap::TapOrder;

impl<A: App> HostHalf<A> {
    /// Taps packets from now on as this says.
    pub const fn tap(&mut self, order: TapOrder) {
        self.tap.begin(order);
    }

    /// Runs packets in order, as [`Self::burst`] does, and tells an operator of those that are
    /// tapped.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        burst: &mut Burst<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        if self.tap.is_on() { self.burst_tapped(burst, out) } else { self.burst(burst, out) }
    }

    #[cold]
    #[inline(never)]
    fn burst_tapped(
        &mut self,
        burst: &mut Burst<'_>,
        out: &mut impl HostOutbox,
    ) -> Result<(), ProtocolError> {
        if burst.is_empty() || !self.tap.looks_at(burst, out) {
            return self.burst(burst, out);
        }
        burst.each_alone(|alone| {
            let Self { tap, engine, clock, .. } = self;
            let followed =
                alone.first_mut().and_then(|arrival| tap.begins(arrival, &engine.outcomes, out));
            if let Some(followed) = &followed {
                tap.entries(followed, false, (engine.app(), clock.horizon), out);
            }
            let mark = out.mark();
            self.burst(alone, out)?;
            if let Some(followed) = followed {
                let Self { tap, engine, receives, clock, .. } = self;
                let sent = out.sent_since(mark);
                tap.ends(&followed, (engine, clock.horizon), *receives, sent, out);
            }
            Ok(())
        })
    }
}
