#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a function by its signature; tests may call it"
)]
/// Gives the port back.
pub fn give_back(session: &Ended<Session>, ports: &mut PortPool, limits: &Limits) {
    ports.give(session.entry.port);
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    private_interfaces,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct __cora_give_back<__CoraStates = (PortPool, Limits, Session)>(
    ::core::marker::PhantomData<fn() -> __CoraStates>,
);
#[automatically_derived]
impl ::cora::__private::core::app::Hook for __cora_give_back {
    type State = Session;
    const NAME: &'static str = "give_back";
    type States = (PortPool, Limits);
    #[allow(unused_lifetimes, reason = "a function without states borrows none")]
    type Parameters<'a> = (&'a mut PortPool, &'a Limits);
    #[inline]
    fn run(
        about: &::cora::__private::core::state::table::Ended<Session>,
        (state_0, state_1): Self::Parameters<'_>,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) {
        give_back(about, state_0, state_1);
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a function by its signature; tests may call it"
)]
fn probe(tick: &Tick, health: &mut Health, out: &mut Outbox) {
    let _ = out.send_frame(&health.question(tick.at), Port::INSIDE);
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_probe;
#[automatically_derived]
impl ::cora::__private::core::app::Timer for __cora_probe {
    const PERIOD: u64 = 90000000000u64;
    const NAME: &'static str = "probe";
    type States = (Health,);
    #[allow(unused_lifetimes, reason = "a function without states borrows none")]
    type Parameters<'a> = (&'a mut Health,);
    #[inline]
    fn run(
        about: &::cora::__private::core::timer::Tick,
        (state_0,): Self::Parameters<'_>,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) {
        probe(about, state_0, out);
    }
}
