//! The NIC's messages to the host's worker that are neither packets nor about flows: versions, its
//! load, and its results at the end.

use std::collections::BTreeMap;

use cora_control::Seen;
use cora_core::app::App;
use cora_core::plain::Plain as _;
use cora_core::state;
use cora_runtime::channel::ProtocolError;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{
    Control, Kind, Message, Ownership, Questions, Report, Telemetry,
};
use cora_runtime::telemetry::{TALKERS, Talker};

use crate::RunError;
use crate::ingress::versions::{Arriving, most_told};
use crate::node::back::{Back, taken};
use crate::node::questions::NicAnswers;
use crate::observe::account::Piece;
use crate::observe::state::import;

/// Limit of outcome names that a NIC may send, and of the bytes of each: no program has more.
const MOST_NAMES: usize = 256;

/// The NIC's results at the end of the run.
#[derive(Debug, Default)]
pub(crate) struct NicAccount {
    pub(crate) report: Report,
    pub(crate) outcomes: BTreeMap<String, u64>,
}

/// Which entries of the NIC's final state are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// All: the final state is written.
    pub(crate) all: bool,
    /// Those of recorded states: they are exported.
    pub(crate) recorded: bool,
}

/// Everything received from the NIC so far, except packets and flows.
#[derive(Debug)]
pub(crate) struct Received<A: App> {
    /// Set when the NIC has no packet left: its time at the end.
    pub(crate) drained: Option<u64>,
    /// The NIC was told that the host is drained, too.
    pub(crate) answered: bool,
    /// The wire's question whether all is quiet, which is to be answered.
    pub(crate) wave: Option<u64>,
    /// Encoded entries that stayed at the NIC, if somebody wants them.
    pub(crate) left: Vec<Piece>,
    /// How many stayed there, by state.
    pub(crate) entries: BTreeMap<u16, u64>,
    /// Who wants the entries.
    pub(crate) wanted: Wanted,
    /// The change of read-mostly states that is arriving.
    pub(crate) arriving: Arriving,
    /// The last load report of the NIC.
    pub(crate) seen: Seen<A::Group>,
    /// What the NIC answered to an operator's question.
    pub(crate) nic_answers: NicAnswers,
    /// Set when the NIC's last message came.
    pub(crate) account: Option<NicAccount>,
    outcomes: BTreeMap<String, u64>,
    /// Bytes of the NIC's states that it sent at the end.
    bytes: usize,
}

impl<A: App> Default for Received<A> {
    fn default() -> Self {
        Self {
            drained: None,
            answered: false,
            wave: None,
            left: Vec::new(),
            entries: BTreeMap::new(),
            wanted: Wanted::default(),
            arriving: Arriving::default(),
            seen: Seen::default(),
            nic_answers: NicAnswers::default(),
            account: None,
            outcomes: BTreeMap::new(),
            bytes: 0,
        }
    }
}

impl<A: App> Received<A> {
    /// Discards everything from a NIC that did not reach its end, except the version in force.
    pub(crate) fn forget(&mut self) {
        let mut arriving = std::mem::take(&mut self.arriving);
        arriving.forget();
        let (account, wanted) = (self.account.take(), self.wanted);
        let mut nic_answers = std::mem::take(&mut self.nic_answers);
        nic_answers.lose();
        *self = Self { wanted, arriving, nic_answers, account, ..Self::default() };
    }

    /// Handles a message that is no packet.
    pub(crate) fn message(
        &mut self,
        half: &mut HostHalf<A>,
        back: &mut Back,
        message: &Message<'_>,
    ) -> Result<(), RunError> {
        match *message {
            Message::Control(Control::Drained { now }) => self.drained = Some(now),
            Message::Control(Control::Quiet { wave }) if A::MESSAGES => self.wave = Some(wave),
            Message::Control(Control::Piece { state, piece }) if self.answered => {
                let now = half.now().max(self.drained.unwrap_or(0));
                self.bytes += taken(piece);
                if self.bytes > most_told::<A>() {
                    return Err(ProtocolError::TooMuch(Kind::Piece).into());
                }
                self.piece(half.engine().app(), state, piece, now)?;
            }
            // At its position between packets on the wire.
            Message::Control(Control::Piece { state, piece }) if A::READ_MOSTLY => {
                self.arriving.take::<A>(state, piece)?;
            }
            Message::Control(Control::Change { .. }) if A::READ_MOSTLY => self.arriving.forget(),
            Message::Control(Control::Changed { version, pieces }) if A::READ_MOSTLY => {
                self.arriving.end(half.engine().app(), version, pieces)?;
            }
            Message::Telemetry(Telemetry::Outcome { count, name }) if self.answered => {
                let several = self.outcomes.len() >= MOST_NAMES || name.0.len() > MOST_NAMES;
                if several {
                    return Err(ProtocolError::TooMuch(Kind::Outcome).into());
                }
                let name = String::from_utf8_lossy(name.0).into_owned();
                *self.outcomes.entry(name).or_default() += count;
            }
            Message::Telemetry(Telemetry::Report { report }) if self.answered => {
                let outcomes = std::mem::take(&mut self.outcomes);
                self.account = Some(NicAccount { report, outcomes });
            }
            Message::Telemetry(Telemetry::Load { load }) => {
                self.seen = Seen { load: Some(load), talkers: Vec::new() };
                // Updates the count: flows that ended there are gone.
                half.count_at_nic(load.counts.flows as u32);
            }
            Message::Telemetry(Telemetry::Talker { count, error, group }) => {
                let key = A::Group::get(group).ok_or(ProtocolError::Undecodable(Kind::Talker))?;
                // Keeps at most as many as a side counts, however many arrive.
                if self.seen.talkers.len() < TALKERS {
                    self.seen.talkers.push(Talker { key, count, error });
                }
            }
            Message::Questions(Questions::Tapped { .. } | Questions::TapEntry { .. }) => {
                back.tapped.push(message);
            }
            Message::Questions(answer) => self.nic_answers.take(answer)?,
            // Only a host with replicas needs to know its flows.
            Message::Ownership(Ownership::Owned { .. } | Ownership::AllOwned { .. })
                if !A::DURABLE => {}
            _ => {
                if let Some(ledger) = &mut back.ledger {
                    ledger.received(message);
                }
                half.message(message, back)?;
            }
        }
        Ok(())
    }

    /// Takes a piece of the NIC's final state. Replicas and whole values are merged into this
    /// side's.
    fn piece(
        &mut self,
        app: &mut A,
        state: u16,
        piece: &[u8],
        now: u64,
    ) -> Result<(), ProtocolError> {
        let mut entries = 0;
        let kind = import(app, state, piece, now, &mut |_, _| entries += 1)?;
        if kind != state::Kind::Keyed {
            return Ok(());
        }
        *self.entries.entry(state).or_default() += entries;
        let Wanted { all, recorded } = self.wanted;
        if all || recorded && A::RECORDED.contains(&state.into()) {
            self.left.push((state, piece.to_vec()));
        }
        Ok(())
    }
}
