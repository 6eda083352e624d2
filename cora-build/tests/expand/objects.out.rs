#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
struct Node {
    next: Id<Node>,
    level: u8,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Node {
    const SIZE: usize = 0 + <Id<Node> as ::cora::__private::core::plain::Plain>::SIZE
        + <u8 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("next", <Id<Node> as ::cora::__private::core::plain::Plain>::SIZE),
        ("level", <u8 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <Id<Node> as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u8 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <Id<Node> as ::cora::__private::core::plain::Plain>::put_short(&self.next, to);
        <u8 as ::cora::__private::core::plain::Plain>::put_short(&self.level, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            next: <Id<Node> as ::cora::__private::core::plain::Plain>::get_short(from)?,
            level: <u8 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <Id<
            Node,
        > as ::cora::__private::core::plain::Plain>::put(
            &self.next,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <Id<Node> as ::cora::__private::core::plain::Plain>::SIZE;
        <u8 as ::cora::__private::core::plain::Plain>::put(
            &self.level,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            next: {
                let field = <Id<
                    Node,
                > as ::cora::__private::core::plain::Plain>::get(bytes.get(at..)?)?;
                at += <Id<Node> as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            level: {
                let field = <u8 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<Id<
            Node,
        > as ::cora::__private::core::plain::Plain>::read(
            &mut self.next,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <Id<Node> as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u8 as ::cora::__private::core::plain::Plain>::read(
            &mut self.level,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("next");
        <Id<Node> as ::cora::__private::core::plain::Plain>::describe(&self.next, to);
        to.field("level");
        <u8 as ::cora::__private::core::plain::Plain>::describe(&self.level, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::ObjectState for Node {
    const NAME: &'static str = "Node";
    const BYTES: usize = 33554432u64 as usize;
    const FLOWS: u32 = 1024u32;
    const IDLE: u64 = 3600000000000u64;
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn read(ask: Ask, nodes: &Objects<Node>) -> Verdict {
    __cora_read::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), ask, nodes)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_read;
impl __cora_read {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        ask: Ask,
        nodes: &Objects<Node>,
    ) -> Verdict {
        if const {
            !::cora::__private::core::state::reaches::<__CoraReach, Objects<Node>>()
        } {
            ::cora::__private::core::trace::shows::<__CoraReach>(0);
            return ::core::result::Result::Err(
                ::cora::__private::core::verdict::Stop::punt(),
            );
        }
        ::cora::__private::core::trace::shows::<__CoraReach>(0);
        nodes.get(ask.id);
        Done
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_read {
    const NAME: &'static str = "read";
    type States = (Objects<Node>,);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a Objects<Node>,);
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (state_0,): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        match &::cora::__private::core::message::receive::<Ask>(packet) {
            ::core::result::Result::Ok(message) => {
                let states = (state_0,);
                <Self as ::cora::__private::core::app::Takes>::take::<
                    __CoraReach,
                >(message, packet, states, touched, out)
            }
            ::core::result::Result::Err(_) => {
                <Ask as ::cora::__private::core::message::Message>::UNREAD
            }
        }
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Taken for Ask {}
#[automatically_derived]
impl ::cora::__private::core::app::Takes for __cora_read {
    type Message = Ask;
    #[inline(always)]
    #[allow(unused_variables, reason = "not each handler looks beyond its message")]
    fn take<__CoraReach: ::cora::__private::core::state::Reach>(
        message: &Ask,
        packet: &::cora::__private::core::packet::Packet<'_>,
        (state_0,): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        _: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        __cora_read::body::<__CoraReach>(touched, *message, state_0)
    }
}
