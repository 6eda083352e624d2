//! Planted mistakes of the wire, which passes records on: a sound test detects them.

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A shard learns only behind its last packets that buckets leave it, so it frees entries by
    /// the time of packets that are younger than those that wait elsewhere.
    LeavingLate,
    /// A NIC shard that gets buckets takes its time for the end of all time. So its low watermark
    /// is not held then, and not when it gives some later.
    FloorNotHeld,
    /// All entries are said to be there before the last one is.
    ArrivedEarly,
    /// Waiting packets run as soon as the buckets are to come.
    HeldRunEarly,
    /// An entry is given twice, the second time behind all others.
    EntryTwice,
    /// The first entry of a move is lost.
    EntryLost,
    /// The values of buckets that move are lost.
    ValuesLost,
    /// Entries that ended are not sent along, so their hooks never run.
    EndsLost,
    /// The first entry of a move that ended is sent along twice, so its hook runs twice.
    EndTwice,
    /// More packet time passes amid a move than from an end to its hook.
    MoveTooLong,
    /// The wire lets the tick of a timer pass amid a move.
    TickAmidMove,
    /// A packet that came to the wrong shard is dropped.
    StrayDropped,
    /// What a shard says of its buckets overtakes its packets on their way out.
    SaidFirst,
    /// Another half gets packets that the one before left unread, although their buckets are no
    /// longer its own.
    UnreadFedAgain,
    /// The marker of a move is in front of packets that another half gets again.
    MarkerFirst,
    /// What a half said before it died is taken for words of the one in its place.
    SaidByTheDead,
}

impl Mistake {
    /// All mistakes.
    pub const ALL: [Self; 16] = [
        Self::LeavingLate,
        Self::FloorNotHeld,
        Self::ArrivedEarly,
        Self::HeldRunEarly,
        Self::EntryTwice,
        Self::EntryLost,
        Self::ValuesLost,
        Self::EndsLost,
        Self::EndTwice,
        Self::MoveTooLong,
        Self::TickAmidMove,
        Self::StrayDropped,
        Self::SaidFirst,
        Self::UnreadFedAgain,
        Self::MarkerFirst,
        Self::SaidByTheDead,
    ];

    /// Whether only a program with hooks shows it.
    #[must_use]
    pub const fn needs_hooks(self) -> bool {
        matches!(self, Self::EndsLost | Self::EndTwice | Self::MoveTooLong) || self.needs_timers()
    }

    /// Whether only a program with timers shows it.
    #[must_use]
    pub const fn needs_timers(self) -> bool {
        matches!(self, Self::TickAmidMove)
    }

    /// Whether only a run with kills shows it.
    #[must_use]
    pub const fn needs_kills(self) -> bool {
        matches!(self, Self::UnreadFedAgain | Self::MarkerFirst | Self::SaidByTheDead)
    }
}
