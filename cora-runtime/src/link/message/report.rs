//! What a side counted.

/// Calls a macro with what each side counts, name by name with what it is: so that whoever tells of
/// it further needs no list of its own.
#[macro_export]
macro_rules! side_counts {
    ($with:ident) => {
        $with! {
            /// Packets whose handlers ran to their end here.
            packets,
            /// Packets that handlers sent here besides those that they handled.
            made,
            /// Messages that handlers sent here.
            messages,
            /// Packets taken back here after a handler began, and sent to the other side.
            punts,
            /// Packets passed on to the other side, which owns their flow.
            passed_on,
            /// Flows owned here at the end.
            flows,
            /// Flows handed to the NIC (at the host) or taken over from the host (at the NIC).
            offloads,
            /// Offers that came to nothing: no room, or the flow changed meanwhile.
            declined,
            /// Packets held while their flow moved.
            held,
            /// Flows that went back to the host.
            released,
            /// Flows that ended because the host died with what they rest on.
            ended_with_host,
            /// Entries that made room for others, in a full table.
            evicted,
            /// Entries that came back, or with their bucket, and were dropped: there was no room,
            /// or their keys were another's by then.
            refused,
            /// Bytes of entries sent to the other side.
            moved_bytes,
            /// Nanoseconds spent with packets, not waiting.
            busy_ns,
            /// Records on the rings between the sides, both ways.
            ring_records,
        }
    };
}

macro_rules! report {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// What one side counted, told at the end.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Report {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Report {
            pub(crate) const WORDS: usize = [$(stringify!($field)),*].len();

            pub(crate) const fn words(&self) -> [u64; Self::WORDS] {
                [$(self.$field),*]
            }

            pub(crate) const fn from_words(words: [u64; Self::WORDS]) -> Self {
                let [$($field),*] = words;
                Self { $($field),* }
            }
        }
    };
}

side_counts!(report);
