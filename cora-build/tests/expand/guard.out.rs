#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn innermost(packet: &mut Packet<'_>, a: &mut A, b: &mut B) -> Verdict {
    __cora_innermost::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a, b)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_innermost;
impl __cora_innermost {
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
        a: &mut A,
        b: &mut B,
    ) -> Verdict {
        let size = packet.len();
        if size > 100 {
            note();
            if const { !::cora::__private::core::state::reaches::<__CoraReach, A>() } {
                ::cora::__private::core::trace::shows::<__CoraReach>(0);
                return ::core::result::Result::Err(
                    ::cora::__private::core::verdict::Stop::punt(),
                );
            }
            __cora_touched.note::<A>(0);
            ::cora::__private::core::trace::names::<__CoraReach>(0);
            a.long += 1;
            ::cora::__private::core::trace::names::<__CoraReach>(0);
            a.all += 1;
            if size > 1000 {
                ::cora::__private::core::trace::names::<__CoraReach>(0);
                a.jumbo += 1;
                if const {
                    !::cora::__private::core::state::reaches::<__CoraReach, B>()
                } {
                    ::cora::__private::core::trace::shows::<__CoraReach>(1);
                    return ::core::result::Result::Err(
                        ::cora::__private::core::verdict::Stop::punt(),
                    );
                }
                __cora_touched.note::<B>(1);
                ::cora::__private::core::trace::names::<__CoraReach>(1);
                b.touch();
            }
        } else {
            if const { !::cora::__private::core::state::reaches::<__CoraReach, A>() } {
                ::cora::__private::core::trace::shows::<__CoraReach>(0);
                return ::core::result::Result::Err(
                    ::cora::__private::core::verdict::Stop::punt(),
                );
            }
            __cora_touched.note::<A>(0);
            ::cora::__private::core::trace::names::<__CoraReach>(0);
            if a.is_on() {
                if const {
                    !::cora::__private::core::state::reaches::<__CoraReach, B>()
                } {
                    ::cora::__private::core::trace::shows::<__CoraReach>(1);
                    return ::core::result::Result::Err(
                        ::cora::__private::core::verdict::Stop::punt(),
                    );
                }
                __cora_touched.note::<B>(1);
                ::cora::__private::core::trace::names::<__CoraReach>(1);
                b.touch();
            } else {
                return Pass;
            }
        }
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_innermost {
    const NAME: &'static str = "innermost";
    type States = (A, B);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut A, &'a mut B);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_innermost::body::<__CoraReach>(touched, packet, state_0, state_1)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn arms(packet: &mut Packet<'_>, a: &mut A, b: &mut B) -> Verdict {
    __cora_arms::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a, b)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_arms;
impl __cora_arms {
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
        a: &mut A,
        b: &mut B,
    ) -> Verdict {
        if const { !::cora::__private::core::state::reaches::<__CoraReach, B>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(1);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<B>(1);
        match packet.protocol()? {
            6 => {
                if const {
                    !::cora::__private::core::state::reaches::<__CoraReach, A>()
                } {
                    ::cora::__private::core::trace::shows::<__CoraReach>(0);
                    return ::core::result::Result::Err(
                        ::cora::__private::core::verdict::Stop::punt(),
                    );
                }
                __cora_touched.note::<A>(0);
                ::cora::__private::core::trace::names::<__CoraReach>(0);
                a.tcp += 1;
            }
            17 if {
                ::cora::__private::core::trace::names::<__CoraReach>(1);
                b.is_on()
            } => {
                if const {
                    !::cora::__private::core::state::reaches::<__CoraReach, A>()
                } {
                    ::cora::__private::core::trace::shows::<__CoraReach>(0);
                    return ::core::result::Result::Err(
                        ::cora::__private::core::verdict::Stop::punt(),
                    );
                }
                __cora_touched.note::<A>(0);
                ::cora::__private::core::trace::names::<__CoraReach>(0);
                a.udp += 1;
            }
            58 => {
                let kind = kind(packet);
                match kind {
                    1 => {
                        if const {
                            !::cora::__private::core::state::reaches::<__CoraReach, A>()
                        } {
                            ::cora::__private::core::trace::shows::<__CoraReach>(0);
                            return ::core::result::Result::Err(
                                ::cora::__private::core::verdict::Stop::punt(),
                            );
                        }
                        __cora_touched.note::<A>(0);
                        ::cora::__private::core::trace::names::<__CoraReach>(0);
                        a.echo()
                    }
                    _ => Transmit?,
                }
            }
            _ => return Pass,
        }
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_arms {
    const NAME: &'static str = "arms";
    type States = (A, B);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut A, &'a mut B);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_arms::body::<__CoraReach>(touched, packet, state_0, state_1)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn scrutinee(packet: &mut Packet<'_>, a: &mut A) -> Verdict {
    __cora_scrutinee::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_scrutinee;
impl __cora_scrutinee {
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
        a: &mut A,
    ) -> Verdict {
        if const { !::cora::__private::core::state::reaches::<__CoraReach, A>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<A>(0);
        ::cora::__private::core::trace::names::<__CoraReach>(0);
        match a.find(packet) {
            Some(entry) => entry.apply(packet),
            None => a.insert(packet),
        }
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_scrutinee {
    const NAME: &'static str = "scrutinee";
    type States = (A,);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut A,);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0,): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_scrutinee::body::<__CoraReach>(touched, packet, state_0)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn hidden(packet: &mut Packet<'_>, a: &mut A, b: &mut B, c: &C) -> Verdict {
    __cora_hidden::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a, b, c)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_hidden;
impl __cora_hidden {
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
        a: &mut A,
        b: &mut B,
        c: &C,
    ) -> Verdict {
        if const { !::cora::__private::core::state::reaches::<__CoraReach, A>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<A>(0);
        ::cora::__private::core::trace::names::<__CoraReach>(0);
        let each = |n: u64| {
            if n > 1 {
                a.add(n);
            }
        };
        (0..3).for_each(each);
        if const { !::cora::__private::core::state::reaches::<__CoraReach, B>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(1);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<B>(1);
        if const { !::cora::__private::core::state::reaches::<__CoraReach, C>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(2);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::names::<__CoraReach>(1);
        ::cora::__private::core::trace::names::<__CoraReach>(2);
        assert!(matches!(c, C { .. }), "{b:?}");
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_hidden {
    const NAME: &'static str = "hidden";
    type States = (A, B, C);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut A, &'a mut B, &'a C);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1, state_2): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_hidden::body::<__CoraReach>(touched, packet, state_0, state_1, state_2)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn loops(packet: &mut Packet<'_>, a: &mut A, b: &mut B) -> Verdict {
    __cora_loops::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, a, b)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_loops;
impl __cora_loops {
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
        a: &mut A,
        b: &mut B,
    ) -> Verdict {
        for n in 0..8 {
            while n < limit() {
                if const {
                    !::cora::__private::core::state::reaches::<__CoraReach, A>()
                } {
                    ::cora::__private::core::trace::shows::<__CoraReach>(0);
                    return ::core::result::Result::Err(
                        ::cora::__private::core::verdict::Stop::punt(),
                    );
                }
                __cora_touched.note::<A>(0);
                ::cora::__private::core::trace::names::<__CoraReach>(0);
                a.add(n);
            }
        }
        let found = 'search: loop {
            if let Some(n) = next() {
                break 'search n;
            }
            if const { !::cora::__private::core::state::reaches::<__CoraReach, B>() } {
                ::cora::__private::core::trace::shows::<__CoraReach>(1);
                return ::core::result::Result::Err(
                    ::cora::__private::core::verdict::Stop::punt(),
                );
            }
            __cora_touched.note::<B>(1);
            ::cora::__private::core::trace::names::<__CoraReach>(1);
            b.touch();
        };
        let Some(n) = found else {
            if const { !::cora::__private::core::state::reaches::<__CoraReach, B>() } {
                ::cora::__private::core::trace::shows::<__CoraReach>(1);
                return ::core::result::Result::Err(
                    ::cora::__private::core::verdict::Stop::punt(),
                );
            }
            __cora_touched.note::<B>(1);
            ::cora::__private::core::trace::names::<__CoraReach>(1);
            b.miss();
            return Pass;
        };
        if const { !::cora::__private::core::state::reaches::<__CoraReach, A>() } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        __cora_touched.note::<A>(0);
        ::cora::__private::core::trace::names::<__CoraReach>(0);
        while a.more() {
            ::cora::__private::core::trace::names::<__CoraReach>(0);
            a.add(n);
        }
        fn helper(a: u64) -> u64 {
            a + 1
        }
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_loops {
    const NAME: &'static str = "loops";
    const READS_PACKET: bool = false;
    type States = (A, B);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut A, &'a mut B);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0, state_1): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_loops::body::<__CoraReach>(touched, packet, state_0, state_1)
    }
}
