//! The NIC's half at its end of the region. Where packets come from is its owner's.

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::Supply;
use cora_runtime::channel::ProtocolError;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Kind, MAX_MESSAGE, Message};
use cora_runtime::link::region::{Region, Rings};
use cora_runtime::link::ring::{Consumer, SharedMemory};
use cora_runtime::nic_half::NicHalf;
use cora_runtime::ownership::AT_ONCE;

use super::Out;

/// The half, what it sends to, and what the host sent.
pub(crate) struct NicEnd<A: App, O> {
    pub(crate) half: NicHalf<A>,
    pub(crate) out: O,
    back: Consumer<SharedMemory>,
    message: Vec<u8>,
}

impl<A: App, O: Wire> NicEnd<A, O> {
    /// A half that owns no flow; `out` is given the rings.
    pub(crate) fn new(
        region: &Region,
        supply: Supply,
        out: impl FnOnce(&Rings) -> O,
    ) -> Result<Self, RunError> {
        let mut app = supply.app::<A>(NicHalf::bytes)?;
        let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
        let rings = region.rings();
        Ok(Self {
            half: NicHalf::create(app, &mut memory).map_err(RunError::Memory)?,
            out: out(&rings),
            back: Consumer::new(rings.back),
            message: vec![0; MAX_MESSAGE],
        })
    }

    /// Does what packets say that the host sent, and hands its other messages to `handle`: of the
    /// next ones `most` at most, and so many entries. Whether there were any.
    ///
    /// # Errors
    /// When the ring or a message is broken, and those of `handle`.
    pub(crate) fn read_back(
        &mut self,
        most: usize,
        mut entries: u32,
        mut handle: impl FnMut(&mut NicHalf<A>, &mut O, &Message<'_>) -> Result<(), RunError>,
    ) -> Result<bool, RunError> {
        if self.back.is_empty()? {
            return Ok(false);
        }
        for _ in 0..most {
            let Some(popped) = self.back.pop(&mut self.message)? else { break };
            let bytes = self.message.get(..popped.len).unwrap_or_default();
            if let Some((stamp, frame)) = Message::decode_sent(popped.kind, bytes) {
                self.half.sent(&stamp, frame, &mut self.out)?;
                continue;
            }
            let undecodable = ProtocolError::undecodable(popped.kind);
            let message = Message::decode_at_nic(popped.kind, bytes).ok_or(undecodable)?;
            handle(&mut self.half, &mut self.out, &message)?;
            entries -= u32::from(popped.kind == Kind::Entry);
            if entries == 0 {
                break;
            }
        }
        self.back.release();
        if let Some(lots) = self.out.lots() {
            lots.recycle();
        }
        Ok(true)
    }

    /// Whether the host sent nothing that was not read.
    pub(crate) fn is_empty(&mut self) -> Result<bool, RunError> {
        Ok(self.back.is_empty()?)
    }
}

impl<A: App> NicEnd<A, Out<'_, u64>> {
    /// Does what the host's next messages say, `most` at most, and shows it the answers; whether
    /// there were any.
    ///
    /// # Errors
    /// When a ring or a message is broken, or the host ended.
    pub(crate) fn answer(&mut self, most: usize) -> Result<bool, RunError> {
        let any = self.read_back(most, AT_ONCE, |half, out, message| {
            half.message(message, out)?;
            Ok(())
        })?;
        if any {
            self.out.publish()?;
        } else {
            self.out.rest();
        }
        Ok(any)
    }
}
