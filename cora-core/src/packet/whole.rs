//! Declares methods that only a whole packet has for `Headers` too, so that the compiler explains
//! why a call fails.

use super::Headers;
use crate::verdict::Reason;

/// A packet with its payload. Nothing implements it: [`Packet`](super::Packet) has these methods
/// itself.
#[diagnostic::on_unimplemented(
    message = "`Headers` has no payload: a method of `Packet` is called on it",
    label = "`Packet` has this method, and `{Self}` has not",
    note = "take `packet: &mut Packet` in the handler, and `&Packet` in functions that it calls: the whole packet then \
            crosses to the host, not its head alone"
)]
pub trait Whole {}

macro_rules! only_of_packets {
    ($($method:ident($($argument:ident)*) -> $result:ty { $value:expr })*) => {
        impl Headers<'_> {
            $(
                #[doc(hidden)]
                #[inline]
                pub fn $method<$($argument),*>(&self, $(_: $argument),*) -> $result
                where
                    Self: Whole,
                {
                    $value
                }
            )*
        }
    };
}

only_of_packets! {
    payload() -> &[u8] { &[] }
    frame() -> &[u8] { &[] }
    splice(A B C) -> Result<(), Reason> { Ok(()) }
    translate(A B C) -> Result<(), Reason> { Ok(()) }
    set_tcp(A) -> Result<(), Reason> { Ok(()) }
    set_udp(A) -> Result<(), Reason> { Ok(()) }
    write_payload(A B) -> Result<(), Reason> { Ok(()) }
    push_vlan(A) -> Result<(), Reason> { Ok(()) }
    pop_vlan() -> () { () }
    encapsulate(A B) -> Result<(), Reason> { Ok(()) }
    decapsulate() -> Result<(), Reason> { Ok(()) }
    tunnel() -> Result<(), Reason> { Ok(()) }
    inner_flow() -> Result<(), Reason> { Ok(()) }
    turn_to_error(A B) -> Result<(), Reason> { Ok(()) }
    truncate(A) -> () { () }
}
