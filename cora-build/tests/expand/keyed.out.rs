#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// A connection that somebody inside opened.
#[derive(Debug)]
pub struct Connection {
    /// As a middlebox sees it.
    pub tcp: TcpState,
    packets: u64,
    r#type: [u8; 4],
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Connection {
    const SIZE: usize = 0 + <TcpState as ::cora::__private::core::plain::Plain>::SIZE
        + <u64 as ::cora::__private::core::plain::Plain>::SIZE
        + <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("tcp", <TcpState as ::cora::__private::core::plain::Plain>::SIZE),
        ("packets", <u64 as ::cora::__private::core::plain::Plain>::SIZE),
        ("type", <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <TcpState as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u64 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <[u8; 4] as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <TcpState as ::cora::__private::core::plain::Plain>::put_short(&self.tcp, to);
        <u64 as ::cora::__private::core::plain::Plain>::put_short(&self.packets, to);
        <[u8; 4] as ::cora::__private::core::plain::Plain>::put_short(&self.r#type, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            tcp: <TcpState as ::cora::__private::core::plain::Plain>::get_short(from)?,
            packets: <u64 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            r#type: <[u8; 4] as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <TcpState as ::cora::__private::core::plain::Plain>::put(
            &self.tcp,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <TcpState as ::cora::__private::core::plain::Plain>::SIZE;
        <u64 as ::cora::__private::core::plain::Plain>::put(
            &self.packets,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        <[u8; 4] as ::cora::__private::core::plain::Plain>::put(
            &self.r#type,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            tcp: {
                let field = <TcpState as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <TcpState as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            packets: {
                let field = <u64 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            r#type: {
                let field = <[u8; 4] as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<TcpState as ::cora::__private::core::plain::Plain>::read(
            &mut self.tcp,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <TcpState as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u64 as ::cora::__private::core::plain::Plain>::read(
            &mut self.packets,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<[u8; 4] as ::cora::__private::core::plain::Plain>::read(
            &mut self.r#type,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <[u8; 4] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("tcp");
        <TcpState as ::cora::__private::core::plain::Plain>::describe(&self.tcp, to);
        to.field("packets");
        <u64 as ::cora::__private::core::plain::Plain>::describe(&self.packets, to);
        to.field("type");
        <[u8; 4] as ::cora::__private::core::plain::Plain>::describe(&self.r#type, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Connection {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Connection";
    const CAPACITY: u32 = 1048576u32;
    const IDLE: u64 = 300000000000u64;
    const REPLY: bool = true;
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// Keys within a tenant, and a capacity that the program names.
struct Talk {
    packets: u64,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Talk {
    const SIZE: usize = 0 + <u64 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("packets", <u64 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <u64 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u64 as ::cora::__private::core::plain::Plain>::put_short(&self.packets, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            packets: <u64 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u64 as ::cora::__private::core::plain::Plain>::put(
            &self.packets,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            packets: {
                let field = <u64 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<u64 as ::cora::__private::core::plain::Plain>::read(
            &mut self.packets,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("packets");
        <u64 as ::cora::__private::core::plain::Plain>::describe(&self.packets, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Talk {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Each<Tenant>;
    type Held = Self;
    const NAME: &'static str = "Talk";
    const CAPACITY: u32 = ::cora::__private::core::state::table::capacity(
        (limits::FLOWS * 2) as u64,
    );
    const IDLE: u64 = 300000000000u64;
    const REPLY: bool = false;
}
#[repr(C)]
/// Nothing to remember but the key.
#[derive(Clone, Copy)]
struct Seen {}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Seen {
    const SIZE: usize = 0;
    const FIELDS: &'static [(&'static str, usize)] = &[];
    const SHORTENS: bool = false;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {})
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let at = 0usize;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let at = 0usize;
        let value = Self {};
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let at = 0usize;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Seen {
    type Key = cora::keys::SourceAddress;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Seen";
    const CAPACITY: u32 = 1000u32;
    const IDLE: u64 = 5400000000000u64;
    const REPLY: bool = false;
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// A copy outlives the side that owns it.
struct Session {
    packets: u64,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Session {
    const SIZE: usize = 0 + <u64 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("packets", <u64 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const DURABLE: bool = true;
    const SHORTENS: bool = false
        || <u64 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u64 as ::cora::__private::core::plain::Plain>::put_short(&self.packets, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            packets: <u64 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u64 as ::cora::__private::core::plain::Plain>::put(
            &self.packets,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            packets: {
                let field = <u64 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<u64 as ::cora::__private::core::plain::Plain>::read(
            &mut self.packets,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u64 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("packets");
        <u64 as ::cora::__private::core::plain::Plain>::describe(&self.packets, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Session {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Session";
    const CAPACITY: u32 = 10u32;
    const IDLE: u64 = 300000000000u64;
    const REPLY: bool = false;
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// Entries live as long as they say.
struct Exchange {
    is_over: bool,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Exchange {
    const SIZE: usize = 0 + <bool as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("is_over", <bool as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const IDLE_VARIES: bool = true;
    #[inline]
    fn idle_time(&self) -> ::core::time::Duration {
        Self::idle(self)
    }
    const EVICTS: bool = true;
    #[inline]
    fn is_assured(&self) -> bool {
        Self::is_over(self)
    }
    const SHORTENS: bool = false
        || <bool as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <bool as ::cora::__private::core::plain::Plain>::put_short(&self.is_over, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            is_over: <bool as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <bool as ::cora::__private::core::plain::Plain>::put(
            &self.is_over,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            is_over: {
                let field = <bool as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<bool as ::cora::__private::core::plain::Plain>::read(
            &mut self.is_over,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("is_over");
        <bool as ::cora::__private::core::plain::Plain>::describe(&self.is_over, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Exchange {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Exchange";
    const CAPACITY: u32 = 10u32;
    const IDLE: u64 = 7200000000000u64;
    const REPLY: bool = false;
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// An answer is of use for a while.
struct Answer {
    code: u8,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Answer {
    const SIZE: usize = 0 + <u8 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("code", <u8 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <u8 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u8 as ::cora::__private::core::plain::Plain>::put_short(&self.code, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            code: <u8 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u8 as ::cora::__private::core::plain::Plain>::put(
            &self.code,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            code: {
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
        if !<u8 as ::cora::__private::core::plain::Plain>::read(
            &mut self.code,
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
        to.field("code");
        <u8 as ::cora::__private::core::plain::Plain>::describe(&self.code, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Answer {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = ::cora::__private::core::state::table::Lived<Self>;
    const NAME: &'static str = "Answer";
    const CAPACITY: u32 = 10u32;
    const IDLE: u64 = ::cora::__private::core::state::table::NEVER;
    const LIFE: u64 = 30000000000u64;
    const REPLY: bool = false;
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
/// Handlers alone end what is leased.
struct Lease {
    port: u16,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Lease {
    const SIZE: usize = 0 + <u16 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("port", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const FOREVER: bool = true;
    const SHORTENS: bool = false
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.port, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            port: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.port,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            port: {
                let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
        };
        let _ = (at, bytes);
        ::core::option::Option::Some(value)
    }
    #[inline]
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0usize;
        if !<u16 as ::cora::__private::core::plain::Plain>::read(
            &mut self.port,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("port");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.port, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Keyed for Lease {
    type Key = FiveTuple;
    type Scope = ::cora::__private::core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Lease";
    const CAPACITY: u32 = 10u32;
    const IDLE: u64 = ::cora::__private::core::state::table::NEVER;
    const REPLY: bool = false;
}
