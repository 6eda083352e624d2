//! Memory from the kernel.
//!
//! | module | contents |
//! | --- | --- |
//! | `cache_padded` | cache padding for data of different shards |
//! | `futex` | waiting for the NIC, asleep |
//! | `lent_outbox` | outboxes for tests |
//! | `given_back` | a state whose memory ends with it, for tests |
//! | `map` | memory from the kernel, private or shared |
//! | `pages` | the page sizes of that memory |
//! | `room` | the memory available to a run |
//! | `supply` | memory for the states |

pub(crate) mod cache_padded;
pub(crate) mod futex;
pub(crate) mod given_back;
pub(crate) mod lent_outbox;
pub(crate) mod map;
pub(crate) mod pages;
pub(crate) mod room;
pub(crate) mod supply;
