//! An operator's requests to a live run.
//!
//! | module | contents |
//! | --- | --- |
//! | `beside` | commands that run beside the wire, within limits |
//! | `builds` | the builds of programs in other files |
//! | `configuration` | versions of read-mostly states, and their replacement |
//! | `endpoint` | an address where a live run is scraped |
//! | `socket` | a socket for requests and orders |
//! | `stop` | the end of the run |
//! | `upgrade` | replacement by another build |

pub(crate) mod beside;
pub(crate) mod builds;
pub(crate) mod configuration;
pub(crate) mod endpoint;
pub(crate) mod socket;
pub(crate) mod stop;
pub(crate) mod upgrade;
