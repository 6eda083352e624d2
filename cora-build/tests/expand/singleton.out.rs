#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
#[derive(Default)]
struct PortPool {
    next: u16,
    free: [u16; 64],
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for PortPool {
    const SIZE: usize = 0 + <u16 as ::cora::__private::core::plain::Plain>::SIZE
        + <[u16; 64] as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("next", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
        ("free", <[u16; 64] as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <[u16; 64] as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.next, to);
        <[u16; 64] as ::cora::__private::core::plain::Plain>::put_short(&self.free, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            next: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            free: <[u16; 64] as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.next,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        <[u16; 64] as ::cora::__private::core::plain::Plain>::put(
            &self.free,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <[u16; 64] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            next: {
                let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            free: {
                let field = <[u16; 64] as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <[u16; 64] as ::cora::__private::core::plain::Plain>::SIZE;
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
            &mut self.next,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<[u16; 64] as ::cora::__private::core::plain::Plain>::read(
            &mut self.free,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <[u16; 64] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("next");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.next, to);
        to.field("free");
        <[u16; 64] as ::cora::__private::core::plain::Plain>::describe(&self.free, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Singleton for PortPool {
    const NAME: &'static str = "PortPool";
}
const _: () = ::cora::__private::core::state::within_limit::<PortPool>();
#[automatically_derived]
impl ::cora::__private::core::state::Stored for PortPool {
    const NAME: &'static str = "PortPool";
    const KIND: ::cora::__private::core::state::Kind = ::cora::__private::core::state::Kind::Singleton;
    const BYTES: usize = ::cora::__private::core::state::Pinned::<Self>::BYTES;
    const VALUE: usize = ::core::mem::size_of::<Self>();
    type Home = ::cora::__private::core::state::Pinned<Self>;
    fn create(
        memory: &mut ::cora::__private::core::state::Memory,
    ) -> ::core::result::Result<
        Self::Home,
        ::cora::__private::core::state::OutOfMemory,
    > {
        ::cora::__private::core::state::Pinned::create(memory)
    }
    #[inline]
    fn borrow(home: &mut Self::Home) -> &mut Self {
        home.value()
    }
}
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
struct Blocks {
    next: u16,
    leased: [u32; 4096],
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Blocks {
    const SIZE: usize = 0 + <u16 as ::cora::__private::core::plain::Plain>::SIZE
        + <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("next", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
        ("leased", <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const DURABLE: bool = true;
    fn put_changed(
        &mut self,
        kept: &mut [u8],
        at: usize,
        changed: &mut ::cora::__private::core::state::Changed<'_>,
    ) {
        let mut from = 0usize;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.next,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.leased,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    const SHORTENS: bool = false
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <[u32; 4096] as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.next, to);
        <[u32; 4096] as ::cora::__private::core::plain::Plain>::put_short(
            &self.leased,
            to,
        );
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            next: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            leased: <[u32; 4096] as ::cora::__private::core::plain::Plain>::get_short(
                from,
            )?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.next,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        <[u32; 4096] as ::cora::__private::core::plain::Plain>::put(
            &self.leased,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            next: {
                let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            leased: {
                let field = <[u32; 4096] as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE;
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
            &mut self.next,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<[u32; 4096] as ::cora::__private::core::plain::Plain>::read(
            &mut self.leased,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <[u32; 4096] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("next");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.next, to);
        to.field("leased");
        <[u32; 4096] as ::cora::__private::core::plain::Plain>::describe(
            &self.leased,
            to,
        );
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Singleton for Blocks {
    const NAME: &'static str = "Blocks";
}
const _: () = ::cora::__private::core::state::within_limit::<Blocks>();
#[automatically_derived]
impl ::cora::__private::core::state::Stored for Blocks {
    const NAME: &'static str = "Blocks";
    const KIND: ::cora::__private::core::state::Kind = ::cora::__private::core::state::Kind::Singleton;
    const BYTES: usize = ::cora::__private::core::state::Pinned::<Self>::BYTES;
    const VALUE: usize = ::core::mem::size_of::<Self>();
    const KEPT: bool = true;
    type Home = ::cora::__private::core::state::Pinned<Self>;
    fn create(
        memory: &mut ::cora::__private::core::state::Memory,
    ) -> ::core::result::Result<
        Self::Home,
        ::cora::__private::core::state::OutOfMemory,
    > {
        ::cora::__private::core::state::Pinned::create(memory)
    }
    #[inline]
    fn borrow(home: &mut Self::Home) -> &mut Self {
        home.lend()
    }
}
