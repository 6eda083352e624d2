#[derive(Clone, Copy, Plain)]
struct Range {
    first: u16,
    last: u16,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Range {
    const SIZE: usize = 0 + <u16 as ::cora::__private::core::plain::Plain>::SIZE
        + <u16 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("first", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
        ("last", <u16 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    fn put_changed(
        &mut self,
        kept: &mut [u8],
        at: usize,
        changed: &mut ::cora::__private::core::state::Changed<'_>,
    ) {
        let mut from = 0usize;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.first,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.last,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.first,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        <u16 as ::cora::__private::core::plain::Plain>::put(
            &self.last,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            first: {
                let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            last: {
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
            &mut self.first,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<u16 as ::cora::__private::core::plain::Plain>::read(
            &mut self.last,
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
        to.field("first");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.first, to);
        to.field("last");
        <u16 as ::cora::__private::core::plain::Plain>::describe(&self.last, to);
        to.close();
    }
}
#[derive(Clone, Copy, Plain)]
struct Mark(u32, bool);
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Mark {
    const SIZE: usize = 0 + <u32 as ::cora::__private::core::plain::Plain>::SIZE
        + <bool as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("0", <u32 as ::cora::__private::core::plain::Plain>::SIZE),
        ("1", <bool as ::cora::__private::core::plain::Plain>::SIZE),
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
        from += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        ::cora::__private::core::plain::Plain::put_changed(
            &mut self.1,
            kept.get_mut(from..).unwrap_or_default(),
            at + from,
            changed,
        );
        from += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (from, kept, at, changed);
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u32 as ::cora::__private::core::plain::Plain>::put(
            &self.0,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        <bool as ::cora::__private::core::plain::Plain>::put(
            &self.1,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            0: {
                let field = <u32 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            1: {
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
        if !<u32 as ::cora::__private::core::plain::Plain>::read(
            &mut self.0,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<bool as ::cora::__private::core::plain::Plain>::read(
            &mut self.1,
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
        to.field("0");
        <u32 as ::cora::__private::core::plain::Plain>::describe(&self.0, to);
        to.field("1");
        <bool as ::cora::__private::core::plain::Plain>::describe(&self.1, to);
        to.close();
    }
}
#[derive(Clone, Copy, Plain)]
enum Mode {
    Off,
    Slow = 1 << 4,
    Fast,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Mode {
    const SIZE: usize = 1;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        if let ::core::option::Option::Some(place) = out.first_mut() {
            *place = match self {
                Self::Off => 0u8,
                Self::Slow => 16u8,
                Self::Fast => 17u8,
            };
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        match *bytes.first()? {
            0u8 => ::core::option::Option::Some(Self::Off),
            16u8 => ::core::option::Option::Some(Self::Slow),
            17u8 => ::core::option::Option::Some(Self::Fast),
            _ => ::core::option::Option::None,
        }
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        match self {
            Self::Off => to.text(&"Off"),
            Self::Slow => to.text(&"Slow"),
            Self::Fast => to.text(&"Fast"),
        }
    }
}
