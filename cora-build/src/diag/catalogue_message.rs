//! Faults of a message, its type, its arguments, its key; and of a region.

use super::catalogue::catalogue;

catalogue! {
    MESSAGE_ITEM = 95 {
        title: "`#[message]` stands on something that is no message",
        cause: "A message is plain data: a struct, or an enum with a variant for each kind. It has one encoding, so it has no \
                generic parameters.",
        cure: "Put the attribute on a struct or an enum, once.",
        example: "#[message]\nfn ask() {}",
    }
    MESSAGE_ARGUMENT = 96 {
        title: "an argument that `#[message]` does not have",
        cause: "A message has a wire form (`udp`, with `parse` if the program reads and writes it itself, and with `port = 7000` \
                if datagrams for one port are meant), and `key = One` if all messages of the type are one flow.",
        cure: "Write `#[message]`, `#[message(udp)]`, `#[message(udp, port = 7000)]`, `#[message(udp, parse)]` or \
               `#[message(key = One)]`.",
        example: "#[message(tcp)]\nstruct Ask { #[key] row: u64 }",
    }
    MESSAGE_KEY = 97 {
        title: "a message whose key can't be told",
        cause: "Messages with one key are a flow: they are handled in order, one at a time, where the flow's entries are. So a \
                message has one key or none, and all variants of an enum have keys of one type.",
        cure: "Put `#[key]` on one field, in an enum on one of each variant; make a struct with `#[derive(Plain, Key)]` of several \
               fields; or write `key = One`.",
        example: "#[message]\nenum Ask { Read { #[key] row: u64 }, Sync { since: u64 } }",
    }
    ENVELOPE_PARAMETER = 98 {
        title: "the envelope is taken in another way than `envelope: &Envelope`",
        cause: "The envelope tells a message's handler the time, and who asks. It is read, not changed, and hooks and timers run \
                without a message.",
        cure: "Write `envelope: &Envelope`, once, in a handler.",
        example: "#[flow_handler]\nfn count(ask: Ask, envelope: &mut Envelope) -> Verdict { Done }",
    }
    REGION_ARGUMENT = 99 {
        title: "a state with `region` whose arguments don't fit",
        cause: "A region is a number of items that stay at one side for good, and are found by their numbers. The memory for all \
                of them is reserved before the first packet.",
        cure: "Write `#[state(region, length = 65_536)]`: 1 to 2^30 items, of at most 2,040 bytes each and 4 GiB in all.",
        example: "#[state(region, key = u64, length = 65_536)]\nstruct Node { keys: [u64; 15], next: [u32; 16] }",
    }
}
