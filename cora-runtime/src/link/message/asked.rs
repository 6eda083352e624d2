//! The last lines of the table of messages: an operator's questions and orders, and the answers.

/// Passes the table on, with these lines behind it.
macro_rules! with_questions {
    ($then:ident { $($table:tt)* }) => {
        $then! {
            $($table)*

            /// An operator's questions: the supervisor asks the host, on rings of their own, and
            /// the host the NIC.
            Questions {
                /// Tell the entries in these places of a state's table.
                65 List {
                    /// Whether it is the NIC's table, 1, or the host's, 0.
                    at_nic: u16,
                    /// The state's number.
                    state: u16,
                    /// The first place.
                    from: u32,
                    /// How many places.
                    places: u32,
                } read by both,
                /// One of them.
                66 Listed {
                    /// The state's number.
                    state: u16,
                    /// Its place.
                    place: u32,
                    /// The number of its flow at this side, or
                    /// [`NO_FLOW`](cora_core::state::NO_FLOW).
                    flow: u32,
                    /// Why the flow is at this side.
                    stay: Stay,
                    /// The flow's group key, encoded; nothing if it is of none.
                    group: GroupKey<'a> as sized,
                    /// The whole entry.
                    piece: &'a [u8] as rest,
                } read by host,
                /// Those were all.
                67 ListEnd {
                    /// The next place; its maximum behind the last one.
                    next: u32,
                } read by host,
                /// Remove an entry, as a handler does.
                68 Remove {
                    /// Whether it is the NIC's, 1, or the host's, 0.
                    at_nic: u16,
                    /// The state's number.
                    state: u16,
                    /// The bytes at the beginning of the entry that name it.
                    name: &'a [u8] as rest,
                } read by both,
                /// The result of an order about an entry or a flow.
                69 Answered {
                    /// The answer.
                    answer: Answer,
                } read by host,
                /// Move a flow to the NIC or to the host.
                70 Move {
                    /// Whether to the NIC, 1, or to the host, 0.
                    to_nic: u16,
                    /// Its group key, encoded.
                    group: &'a [u8] as rest,
                } read by host,
                /// Tap packets.
                71 Tap {
                    /// Its number, which its packets say.
                    tap: u16,
                    /// Where, a bit for each [point](crate::tap); nowhere ends the tap.
                    points: u16,
                    /// One of so many packets.
                    every: u32,
                    /// Bytes of each frame.
                    snap: u16,
                    /// Records until the tap ends by itself; packets, where runs are told.
                    left: u32,
                    /// Which packets: an encoded [`PacketFilter`](crate::tap::PacketFilter).
                    filter: &'a [u8] as rest,
                } read by both,
                /// A packet at a point.
                72 Tapped {
                    /// The number of the tap.
                    tap: u16,
                    /// The stamp that it came with.
                    stamp: Stamp,
                    /// Bytes of its frame.
                    length: u32,
                    /// Packets of this tap that found no room at that side so far.
                    missed: u32,
                    /// Packets that the side was too busy to look at so far.
                    passed: u32,
                    /// Whether it ran at the NIC, 1, or at the host, 0.
                    at_nic: u16,
                    /// The point; 0 of none, with the numbers above alone.
                    point: u16,
                    /// Where it came in, or leaves.
                    port: u16,
                    /// Its outcome; nothing if it has none yet.
                    outcome: Label<'a> as sized,
                    /// The beginning of its frame.
                    frame: &'a [u8] as rest,
                } read by host,
                /// An entry that a tapped packet finds, or one of its flow.
                74 TapEntry {
                    /// The number of the tap.
                    tap: u16,
                    /// The packet's number.
                    number: u64,
                    /// Whether it is the NIC's, 1, or the host's, 0.
                    at_nic: u16,
                    /// Whether the packet has run, 1, or is about to, 0.
                    is_after: u16,
                    /// The state's number.
                    state: u16,
                    /// The whole entry.
                    piece: &'a [u8] as rest,
                } read by host,
                /// Tell the entries that this packet would find, and those of its flow.
                75 Find {
                    /// Whether the NIC's, 1, or the host's, 0.
                    at_nic: u16,
                    /// Its stamp.
                    stamp: Stamp,
                    /// Its frame.
                    frame: &'a [u8] as rest,
                } read by both,
                /// Tell the value of a state that has no keys.
                76 Export {
                    /// Whether the NIC's, 1, or the host's, 0.
                    at_nic: u16,
                    /// The state's number.
                    state: u16,
                } read by both,
                /// A piece of it.
                77 Exported {
                    /// The state's number.
                    state: u16,
                    /// The bytes, as the state exports them.
                    piece: &'a [u8] as rest,
                } read by host,
                /// So many packets of a tap found no room on the way from the halves.
                73 Missed {
                    /// In all.
                    packets: u64,
                } read by host,
            }
        }
    };
}
