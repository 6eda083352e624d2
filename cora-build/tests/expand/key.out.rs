#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(undirected)]
struct Tenant {
    number: u32,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Tenant {
    const SIZE: usize = 0 + <u32 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("number", <u32 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    fn put_changed(
        &mut self,
        kept: &mut [u8],
        at: usize,
        changed: &mut ::cora::__private::core::state::Changed<'_>,
    ) {
        let mut from = 0usize;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.number,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    const SHORTENS: bool = false
        || <u32 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u32 as ::cora::__private::core::plain::Plain>::put_short(&self.number, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            number: <u32 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u32 as ::cora::__private::core::plain::Plain>::put(
            &self.number,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            number: {
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
        if !<u32 as ::cora::__private::core::plain::Plain>::read(
            &mut self.number,
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
        to.field("number");
        <u32 as ::cora::__private::core::plain::Plain>::describe(&self.number, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::key::Key for Tenant {
    type Packed = Self;
    const ENCODED: bool = true;
    #[inline]
    fn pack(&self) -> Self {
        *self
    }
    #[inline]
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    #[inline]
    fn reply(&self) -> ::core::option::Option<Self> {
        ::core::option::Option::Some(*self)
    }
}
const _: () = ::cora::__private::core::key::fits::<Tenant>();
#[automatically_derived]
impl ::cora::__private::core::config::FromColumns for Tenant {
    const COLUMNS: &'static [&'static str] = &["number"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let value_0 = ::cora::__private::core::config::read::<u32>(file, "number");
        ::core::option::Option::Some(Self { number: value_0? })
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
#[key(reply = Self::reversed)]
struct Pair {
    from: u16,
    to: u16,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Pair {
    const SIZE: usize = 0 + <u16 as ::cora::__private::core::plain::Plain>::SIZE
        + <u16 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("from", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
        ("to", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    fn put_changed(
        &mut self,
        kept: &mut [u8],
        at: usize,
        changed: &mut ::cora::__private::core::state::Changed<'_>,
    ) {
        let mut from = 0usize;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.from,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.to,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    const SHORTENS: bool = false
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.from, to);
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.to, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            from: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            to: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.from,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.to,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            from: {
                let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            to: {
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
            &mut self.from,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u16 as ::cora::__private::core::plain::Plain>::read(
            &mut self.to,
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
        to.field("from");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.from, to);
        to.field("to");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.to, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::key::Key for Pair {
    type Packed = Self;
    const ENCODED: bool = true;
    #[inline]
    fn pack(&self) -> Self {
        *self
    }
    #[inline]
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    #[inline]
    fn reply(&self) -> ::core::option::Option<Self> {
        ::core::option::Option::Some(Self::reversed(self))
    }
}
const _: () = ::cora::__private::core::key::fits::<Pair>();
#[automatically_derived]
impl ::cora::__private::core::config::FromColumns for Pair {
    const COLUMNS: &'static [&'static str] = &["from", "to"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let value_0 = ::cora::__private::core::config::read::<u16>(file, "from");
        let value_1 = ::cora::__private::core::config::read::<u16>(file, "to");
        ::core::option::Option::Some(Self {
            from: value_0?,
            to: value_1?,
        })
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]
struct Tunnel(Address, u32);
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Tunnel {
    const SIZE: usize = 0 + <Address as ::cora::__private::core::plain::Plain>::SIZE
        + <u32 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("0", <Address as ::cora::__private::core::plain::Plain>::SIZE),
        ("1", <u32 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    fn put_changed(
        &mut self,
        kept: &mut [u8],
        at: usize,
        changed: &mut ::cora::__private::core::state::Changed<'_>,
    ) {
        let mut from = 0usize;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.0,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <Address as ::cora::__private::core::plain::Plain>::SIZE;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.1,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    const SHORTENS: bool = false
        || <Address as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u32 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <Address as ::cora::__private::core::plain::Plain>::put_short(&self.0, to);
        <u32 as ::cora::__private::core::plain::Plain>::put_short(&self.1, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            0: <Address as ::cora::__private::core::plain::Plain>::get_short(from)?,
            1: <u32 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <Address as ::cora::__private::core::plain::Plain>::put(
            &self.0,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <Address as ::cora::__private::core::plain::Plain>::SIZE;
        <u32 as ::cora::__private::core::plain::Plain>::put(
            &self.1,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            0: {
                let field = <Address as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <Address as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            1: {
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
        if !<Address as ::cora::__private::core::plain::Plain>::read(
            &mut self.0,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <Address as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u32 as ::cora::__private::core::plain::Plain>::read(
            &mut self.1,
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
        to.field("0");
        <Address as ::cora::__private::core::plain::Plain>::describe(&self.0, to);
        to.field("1");
        <u32 as ::cora::__private::core::plain::Plain>::describe(&self.1, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::key::Key for Tunnel {
    type Packed = Self;
    const ENCODED: bool = true;
    #[inline]
    fn pack(&self) -> Self {
        *self
    }
    #[inline]
    fn unpack(packed: &Self) -> Self {
        *packed
    }
    #[inline]
    fn reply(&self) -> ::core::option::Option<Self> {
        ::core::option::Option::None
    }
}
const _: () = ::cora::__private::core::key::fits::<Tunnel>();
#[automatically_derived]
impl ::cora::__private::core::config::FromColumns for Tunnel {
    const COLUMNS: &'static [&'static str] = &["0", "1"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let value_0 = ::cora::__private::core::config::read::<Address>(file, "0");
        let value_1 = ::cora::__private::core::config::read::<u32>(file, "1");
        ::core::option::Option::Some(Self { 0: value_0?, 1: value_1? })
    }
}
