//! Frames in and out: the wire of a run.
//!
//! | module | contents |
//! | --- | --- |
//! | [`pcap`] | reading and writing of pcap and pcapng files |
//! | `capture` | a capture as the wire |
//! | `capture_clock` | the run time, from the stamps of a capture |
//! | `capture_notes` | irregularities of a capture |
//! | `clock` | the time of a live wire |
//! | `crossing` | messages for flows of other shards |
//! | [`door`] | marks of packets, and the shard of each |
//! | `elsewhere` | a wire that is at a card: what host and card tell each other of it |
//! | `entrance` | the half of a shard at which its packets come in |
//! | `feed` | the wire's end of a region |
//! | `inside` | the addresses of the inside |
//! | `intake` | frames from the cable to the shards that take them |
//! | `latency` | how long packets take from wire to wire |
//! | `news` | what a supervisor is told of a wire that is elsewhere, from that end |
//! | `offers` | frames that are offered to a shard |
//! | `ports` | a live wire between ports |
//! | `port_names` | the names of those ports |
//! | `port_report` | the report of a port |
//! | [`rows`] | files of configured states: TOML and CSV |
//! | `tally` | packets that left, by the side that handled them |
//! | `versions` | versions of read-mostly states, which change between two frames |

pub(crate) mod capture;
pub(crate) mod capture_clock;
pub(crate) mod capture_notes;
pub(crate) mod clock;
pub(crate) mod crossing;
pub mod door;
pub(crate) mod elsewhere;
pub(crate) mod entrance;
pub(crate) mod feed;
pub(crate) mod inside;
pub(crate) mod intake;
pub(crate) mod latency;
pub(crate) mod news;
pub(crate) mod offers;
pub mod pcap;
pub(crate) mod port_names;
pub(crate) mod port_report;
pub(crate) mod ports;
pub mod rows;
pub(crate) mod tally;
pub(crate) mod versions;
