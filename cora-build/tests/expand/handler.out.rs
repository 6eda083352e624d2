/// Passes everything.
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn pass(packet: &mut Packet<'_>) -> Verdict {
    __cora_pass::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_pass;
impl __cora_pass {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        packet: &mut Packet<'_>,
    ) -> Verdict {
        Pass
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_pass {
    const NAME: &'static str = "pass";
    const READS_PACKET: bool = false;
    type States = ();
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = ();
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_pass::body::<__CoraReach>(touched, packet)
    }
}
/// Translates.
#[allow(clippy::too_many_lines, reason = "a NAT in one piece")]
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
pub fn nat(
    packet: &mut cora::Packet<'_>,
    sessions: &mut Table<Session>,
    ports: &mut nat::PortPool,
    rules: &Rules,
    _seen: &Table<Seen>,
) -> Verdict {
    <__cora_nat>::body::<
        ::cora::__private::core::state::EveryState,
    >(
        &::cora::__private::core::state::Touched::new(),
        packet,
        sessions,
        ports,
        rules,
        _seen,
    )
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    private_interfaces,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
pub struct __cora_nat<
    __CoraStates = (Table<Session>, nat::PortPool, Rules, Table<Seen>),
>(
    ::core::marker::PhantomData<fn() -> __CoraStates>,
);
impl __cora_nat {
    #[allow(clippy::too_many_lines, reason = "a NAT in one piece")]
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        mut packet: &mut cora::Packet<'_>,
        sessions: &mut Table<Session>,
        ports: &mut nat::PortPool,
        rules: &Rules,
        _seen: &Table<Seen>,
    ) -> Verdict {
        let flow = packet.five_tuple()?;
        if const {
            !::cora::__private::core::state::reaches::<__CoraReach, Table<Session>>()
        } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::shows::<__CoraReach>(0);
        if let Some(session) = sessions.get_mut(&flow) {
            return session.translate(packet);
        }
        if const { !::cora::__private::core::state::reaches::<__CoraReach, Rules>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(2);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::names::<__CoraReach>(2);
        if !rules.allow(&flow) {
            return Drop(NotAllowed);
        }
        if const {
            !::cora::__private::core::state::reaches::<__CoraReach, nat::PortPool>()
        } {
            ::cora::__private::core::trace::shows::<__CoraReach>(1);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<nat::PortPool>(1);
        ::cora::__private::core::trace::names::<__CoraReach>(1);
        let port = ports.take()?;
        ::cora::__private::core::trace::shows::<__CoraReach>(0);
        sessions.insert(flow, Session::new(port))?;
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_nat {
    const NAME: &'static str = "nat";
    type States = (Table<Session>, nat::PortPool, Rules, Table<Seen>);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (
        &'a mut Table<Session>,
        &'a mut nat::PortPool,
        &'a Rules,
        &'a Table<Seen>,
    );
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1, state_2, state_3): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        <__cora_nat>::body::<
            __CoraReach,
        >(touched, packet, state_0, state_1, state_2, state_3)
    }
}
const _: () = {
    ::cora::__private::core::state::table::told::<Table<Session>>();
    ::cora::__private::core::state::table::told::<Table<Seen>>();
};
/// What a macro makes may name the packet.
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn told(packet: &mut Packet<'_>) -> Verdict {
    __cora_told::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_told;
impl __cora_told {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        packet: &mut Packet<'_>,
    ) -> Verdict {
        if !false {
            note!();
        }
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_told {
    const NAME: &'static str = "told";
    type States = ();
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = ();
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_told::body::<__CoraReach>(touched, packet)
    }
}
/// No macro is called, and none of the words is the packet's name.
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn untold(packet: &mut Packet<'_>) -> Verdict {
    __cora_untold::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_untold;
impl __cora_untold {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        packet: &mut Packet<'_>,
    ) -> Verdict {
        if 1 != 2 { Drop(NotAllowed) } else { Transmit }
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_untold {
    const NAME: &'static str = "untold";
    const READS_PACKET: bool = false;
    type States = ();
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = ();
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_untold::body::<__CoraReach>(touched, packet)
    }
}
/// Asks for no more than headers.
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn count(packet: &mut Headers<'_>, seen: &mut Seen) -> Verdict {
    __cora_count::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, seen)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_count;
impl __cora_count {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        packet: &mut Headers<'_>,
        seen: &mut Seen,
    ) -> Verdict {
        if const { !::cora::__private::core::state::reaches::<__CoraReach, Seen>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<Seen>(0);
        ::cora::__private::core::trace::names::<__CoraReach>(0);
        seen.bytes += packet.len();
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_count {
    const NAME: &'static str = "count";
    const READS_PAYLOAD: bool = false;
    type States = (Seen,);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut Seen,);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0,): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        let packet: &mut ::cora::__private::core::packet::Headers<'_> = packet;
        __cora_count::body::<__CoraReach>(touched, packet, state_0)
    }
}
/// Sends a copy.
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn mirror(
    packet: &mut Packet<'_>,
    a: &mut Table<A>,
    out: &mut Outbox,
    b: &B,
) -> Verdict {
    __cora_mirror::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a, out, b)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_mirror;
impl __cora_mirror {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        packet: &mut Packet<'_>,
        a: &mut Table<A>,
        out: &mut Outbox,
        b: &B,
    ) -> Verdict {
        out.send(packet, Port::INSIDE)?;
        if const {
            !::cora::__private::core::state::reaches::<__CoraReach, Table<A>>()
        } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::shows::<__CoraReach>(0);
        a.get(&key);
        if const { !::cora::__private::core::state::reaches::<__CoraReach, B>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(1);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::names::<__CoraReach>(1);
        b.judge()
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_mirror {
    const NAME: &'static str = "mirror";
    const SENDS: bool = true;
    type States = (Table<A>, B);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut Table<A>, &'a B);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_mirror::body::<__CoraReach>(touched, packet, state_0, out, state_1)
    }
}
const _: () = {
    ::cora::__private::core::state::table::told::<Table<A>>();
};
