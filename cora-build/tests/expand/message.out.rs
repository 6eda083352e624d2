#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
struct Count {
    word: Word,
    by: u32,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Count {
    const SIZE: usize = 0 + <Word as ::cora::__private::core::plain::Plain>::SIZE
        + <u32 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("word", <Word as ::cora::__private::core::plain::Plain>::SIZE),
        ("by", <u32 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <Word as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u32 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <Word as ::cora::__private::core::plain::Plain>::put_short(&self.word, to);
        <u32 as ::cora::__private::core::plain::Plain>::put_short(&self.by, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            word: <Word as ::cora::__private::core::plain::Plain>::get_short(from)?,
            by: <u32 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <Word as ::cora::__private::core::plain::Plain>::put(
            &self.word,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <Word as ::cora::__private::core::plain::Plain>::SIZE;
        <u32 as ::cora::__private::core::plain::Plain>::put(
            &self.by,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            word: {
                let field = <Word as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <Word as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            by: {
                let field = <u32 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<Word as ::cora::__private::core::plain::Plain>::read(
            &mut self.word,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <Word as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u32 as ::cora::__private::core::plain::Plain>::read(
            &mut self.by,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("word");
        <Word as ::cora::__private::core::plain::Plain>::describe(&self.word, to);
        to.field("by");
        <u32 as ::cora::__private::core::plain::Plain>::describe(&self.by, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Message for Count {
    const NAME: &'static str = "Count";
    type Key = Word;
    const KEYED: bool = true;
    #[inline]
    fn key(&self) -> Word {
        self.word
    }
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
enum Ask {
    Read { row: u64 },
    Write(u64, [u8; 4]),
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Ask {
    const SIZE: usize = {
        let (sizes, mut most, mut at) = (
            [
                0 + <u64 as ::cora::__private::core::plain::Plain>::SIZE,
                0 + <u64 as ::cora::__private::core::plain::Plain>::SIZE
                    + <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE,
            ],
            0usize,
            0usize,
        );
        while at < sizes.len() {
            if sizes[at] > most {
                most = sizes[at];
            }
            at += 1;
        }
        1 + most
    };
    const SHORTENS: bool = true;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 1usize;
        match self {
            Self::Read { row: field_0 } => {
                ::cora::__private::core::plain::Plain::put(&0u8, out);
                <u64 as ::cora::__private::core::plain::Plain>::put(
                    field_0,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
            }
            Self::Write { 0: field_0, 1: field_1 } => {
                ::cora::__private::core::plain::Plain::put(&1u8, out);
                <u64 as ::cora::__private::core::plain::Plain>::put(
                    field_0,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                <[u8; 4] as ::cora::__private::core::plain::Plain>::put(
                    field_1,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
            }
        }
        if let ::core::option::Option::Some(behind) = out.get_mut(at..Self::SIZE) {
            behind.fill(0);
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let bytes = bytes.get(..Self::SIZE)?;
        let mut at = 1usize;
        let value = match *bytes.first()? {
            0u8 => {
                Self::Read {
                    row: {
                        let field = <u64 as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                }
            }
            1u8 => {
                Self::Write {
                    0: {
                        let field = <u64 as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                    1: {
                        let field = <[u8; 4] as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                }
            }
            _ => return ::core::option::Option::None,
        };
        if bytes.get(at..)?.iter().any(|byte| *byte != 0) {
            return ::core::option::Option::None;
        }
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        match self {
            Self::Read { row: field_0 } => {
                ::cora::__private::core::plain::Plain::put_short(&0u8, to);
                <u64 as ::cora::__private::core::plain::Plain>::put_short(field_0, to);
            }
            Self::Write { 0: field_0, 1: field_1 } => {
                ::cora::__private::core::plain::Plain::put_short(&1u8, to);
                <u64 as ::cora::__private::core::plain::Plain>::put_short(field_0, to);
                <[u8; 4] as ::cora::__private::core::plain::Plain>::put_short(
                    field_1,
                    to,
                );
            }
        }
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        ::core::option::Option::Some(
            match <u8 as ::cora::__private::core::plain::Plain>::get_short(from)? {
                0u8 => {
                    Self::Read {
                        row: <u64 as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                    }
                }
                1u8 => {
                    Self::Write {
                        0: <u64 as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                        1: <[u8; 4] as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                    }
                }
                _ => return ::core::option::Option::None,
            },
        )
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        match self {
            Self::Read { row: field_0 } => {
                to.open();
                to.field("Read");
                to.open();
                to.field("row");
                <u64 as ::cora::__private::core::plain::Plain>::describe(field_0, to);
                to.close();
                to.close();
            }
            Self::Write { 0: field_0, 1: field_1 } => {
                to.open();
                to.field("Write");
                to.open_list();
                <u64 as ::cora::__private::core::plain::Plain>::describe(field_0, to);
                <[u8; 4] as ::cora::__private::core::plain::Plain>::describe(
                    field_1,
                    to,
                );
                to.close_list();
                to.close();
            }
        }
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Message for Ask {
    const NAME: &'static str = "Ask";
    type Key = u64;
    const KEYED: bool = true;
    #[inline]
    fn key(&self) -> u64 {
        match self {
            Self::Read { row: key, .. } => *key,
            Self::Write { 0: key, .. } => *key,
        }
    }
    #[inline]
    fn of_datagram(
        datagram: &[u8],
    ) -> ::core::result::Result<Self, ::cora::__private::core::verdict::Reason> {
        ::cora::__private::core::message::read_short(datagram)
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Wired for Ask {
    #[inline]
    fn write(&self, out: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        ::cora::__private::core::plain::Plain::put_short(self, out)
    }
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
struct Line {
    text: Bytes<80>,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Line {
    const SIZE: usize = 0 + <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("text", <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <Bytes<80> as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <Bytes<80> as ::cora::__private::core::plain::Plain>::put_short(&self.text, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            text: <Bytes<80> as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <Bytes<
            80,
        > as ::cora::__private::core::plain::Plain>::put(
            &self.text,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            text: {
                let field = <Bytes<
                    80,
                > as ::cora::__private::core::plain::Plain>::get(bytes.get(at..)?)?;
                at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<Bytes<
            80,
        > as ::cora::__private::core::plain::Plain>::read(
            &mut self.text,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("text");
        <Bytes<80> as ::cora::__private::core::plain::Plain>::describe(&self.text, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Message for Line {
    const NAME: &'static str = "Line";
    type Key = ::cora::__private::core::key::One;
    const KEYED: bool = true;
    #[inline]
    fn key(&self) -> ::cora::__private::core::key::One {
        ::cora::__private::core::key::One
    }
    const UNREAD: ::cora::__private::core::verdict::Verdict = ::cora::__private::core::verdict::Pass;
    #[inline]
    fn of_datagram(
        datagram: &[u8],
    ) -> ::core::result::Result<Self, ::cora::__private::core::verdict::Reason> {
        <Self as ::cora::__private::core::message::Parse>::parse(datagram)
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Wired for Line {
    #[inline]
    fn write(&self, out: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        ::cora::__private::core::message::Compose::compose(
            self,
            &mut ::cora::__private::core::message::Text::new(out),
        )
    }
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
struct Tuple {
    text: Bytes<80>,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Tuple {
    const SIZE: usize = 0 + <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("text", <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <Bytes<80> as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <Bytes<80> as ::cora::__private::core::plain::Plain>::put_short(&self.text, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            text: <Bytes<80> as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <Bytes<
            80,
        > as ::cora::__private::core::plain::Plain>::put(
            &self.text,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            text: {
                let field = <Bytes<
                    80,
                > as ::cora::__private::core::plain::Plain>::get(bytes.get(at..)?)?;
                at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<Bytes<
            80,
        > as ::cora::__private::core::plain::Plain>::read(
            &mut self.text,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <Bytes<80> as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("text");
        <Bytes<80> as ::cora::__private::core::plain::Plain>::describe(&self.text, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Message for Tuple {
    const NAME: &'static str = "Tuple";
    type Key = ::cora::__private::core::key::One;
    const KEYED: bool = false;
    #[inline]
    fn key(&self) -> ::cora::__private::core::key::One {
        ::cora::__private::core::key::One
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn ask(
    ask: Ask,
    rows: &mut Table<Row>,
    counts: &mut Outbox<Count>,
    envelope: &Envelope,
    lines: &mut Outbox<Line>,
    out: &mut Outbox,
) -> Verdict {
    __cora_ask::body::<
        ::cora::__private::core::state::EveryState,
    >(
        &::cora::__private::core::state::Touched::new(),
        ask,
        rows,
        counts,
        envelope,
        lines,
        out,
    )
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_ask;
impl __cora_ask {
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
        rows: &mut Table<Row>,
        counts: &mut Outbox<Count>,
        envelope: &Envelope,
        lines: &mut Outbox<Line>,
        out: &mut Outbox,
    ) -> Verdict {
        Done
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_ask {
    const NAME: &'static str = "ask";
    const SENDS: bool = true;
    type States = (Table<Row>,);
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = (&'a mut Table<Row>,);
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
impl ::cora::__private::core::app::Takes for __cora_ask {
    type Message = Ask;
    #[inline(always)]
    #[allow(unused_variables, reason = "not each handler looks beyond its message")]
    fn take<__CoraReach: ::cora::__private::core::state::Reach>(
        message: &Ask,
        packet: &::cora::__private::core::packet::Packet<'_>,
        (state_0,): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        let envelope = ::cora::__private::core::message::Envelope::of(packet);
        out.begin(&envelope);
        let mut outbox_1 = out.messages::<Count>();
        let mut outbox_3 = out.messages::<Line>();
        __cora_ask::body::<
            __CoraReach,
        >(touched, *message, state_0, &mut outbox_1, &envelope, &mut outbox_3, out)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn line(line: &Line, lines: &mut Outbox<Line>) -> Verdict {
    __cora_line::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), line, lines)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_line;
impl __cora_line {
    #[inline(always)]
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        clippy::needless_pass_by_ref_mut,
        clippy::too_many_arguments,
        reason = "the runtime calls a handler by its signature"
    )]
    fn body<__CoraReach: ::cora::__private::core::state::Reach>(
        __cora_touched: &::cora::__private::core::state::Touched,
        line: &Line,
        lines: &mut Outbox<Line>,
    ) -> Verdict {
        Done
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_line {
    const NAME: &'static str = "line";
    const SENDS: bool = true;
    type States = ();
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = ();
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        match &::cora::__private::core::message::receive::<Line>(packet) {
            ::core::result::Result::Ok(message) => {
                let states = ();
                <Self as ::cora::__private::core::app::Takes>::take::<
                    __CoraReach,
                >(message, packet, states, touched, out)
            }
            ::core::result::Result::Err(_) => {
                <Line as ::cora::__private::core::message::Message>::UNREAD
            }
        }
    }
}
#[automatically_derived]
impl ::cora::__private::core::message::Taken for Line {}
#[automatically_derived]
impl ::cora::__private::core::app::Takes for __cora_line {
    type Message = Line;
    #[inline(always)]
    #[allow(unused_variables, reason = "not each handler looks beyond its message")]
    fn take<__CoraReach: ::cora::__private::core::state::Reach>(
        message: &Line,
        packet: &::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        let envelope = ::cora::__private::core::message::Envelope::of(packet);
        out.begin(&envelope);
        let mut outbox_0 = out.messages::<Line>();
        __cora_line::body::<__CoraReach>(touched, message, &mut outbox_0)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a handler by its signature; tests may call it"
)]
fn watch(packet: &mut Packet<'_>, counts: &mut Outbox<Count>) -> Verdict {
    __cora_watch::body::<
        ::cora::__private::core::state::EveryState,
    >(&::cora::__private::core::state::Touched::new(), packet, counts)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_watch;
impl __cora_watch {
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
        counts: &mut Outbox<Count>,
    ) -> Verdict {
        Transmit
    }
}
#[automatically_derived]
impl ::cora::__private::core::app::Handler for __cora_watch {
    const NAME: &'static str = "watch";
    const READS_PACKET: bool = false;
    const SENDS: bool = true;
    type States = ();
    #[allow(unused_lifetimes, reason = "a handler without states borrows none")]
    type Parameters<'a> = ();
    #[inline(always)]
    fn run<__CoraReach: ::cora::__private::core::state::Reach>(
        packet: &mut ::cora::__private::core::packet::Packet<'_>,
        (): Self::Parameters<'_>,
        touched: &::cora::__private::core::state::Touched,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) -> ::cora::__private::core::verdict::Verdict {
        let envelope = ::cora::__private::core::message::Envelope::of(packet);
        out.begin(&envelope);
        let mut outbox_0 = out.messages::<Count>();
        __cora_watch::body::<__CoraReach>(touched, packet, &mut outbox_0)
    }
}
#[allow(
    dead_code,
    clippy::trivially_copy_pass_by_ref,
    clippy::needless_pass_by_ref_mut,
    reason = "the runtime calls a function by its signature; tests may call it"
)]
fn tell(tick: &Tick, lines: &mut Outbox<Line>) {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "named after the handler, for Cora's use"
)]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
struct __cora_tell;
#[automatically_derived]
impl ::cora::__private::core::app::Timer for __cora_tell {
    const PERIOD: u64 = 1000000000u64;
    const NAME: &'static str = "tell";
    type States = ();
    #[allow(unused_lifetimes, reason = "a function without states borrows none")]
    type Parameters<'a> = ();
    #[inline]
    fn run(
        about: &::cora::__private::core::timer::Tick,
        (): Self::Parameters<'_>,
        out: &mut ::cora::__private::core::outbox::Outbox,
    ) {
        let envelope = ::cora::__private::core::message::Envelope::of_nobody();
        out.begin(&envelope);
        let mut outbox_0 = out.messages::<Line>();
        tell(about, &mut outbox_0);
    }
}
