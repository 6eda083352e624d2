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
    const SHORTENS: bool = false
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <u16 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.first, to);
        <u16 as ::cora::__private::core::plain::Plain>::put_short(&self.last, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            first: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            last: <u16 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
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
    const SHORTENS: bool = false
        || <u32 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <bool as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u32 as ::cora::__private::core::plain::Plain>::put_short(&self.0, to);
        <bool as ::cora::__private::core::plain::Plain>::put_short(&self.1, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            0: <u32 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            1: <bool as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
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
#[derive(Clone, Copy, Plain)]
enum Event {
    Ended,
    Grant { to: u32, count: u16 } = 4,
    Note(Bytes<16>),
    Pair(u8, bool),
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Event {
    const SIZE: usize = {
        let (sizes, mut most, mut at) = (
            [
                0,
                0 + <u32 as ::cora::__private::core::plain::Plain>::SIZE
                    + <u16 as ::cora::__private::core::plain::Plain>::SIZE,
                0 + <Bytes<16> as ::cora::__private::core::plain::Plain>::SIZE,
                0 + <u8 as ::cora::__private::core::plain::Plain>::SIZE
                    + <bool as ::cora::__private::core::plain::Plain>::SIZE,
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
            Self::Ended {} => {
                ::cora::__private::core::plain::Plain::put(&0u8, out);
            }
            Self::Grant { to: field_0, count: field_1 } => {
                ::cora::__private::core::plain::Plain::put(&4u8, out);
                <u32 as ::cora::__private::core::plain::Plain>::put(
                    field_0,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
                <u16 as ::cora::__private::core::plain::Plain>::put(
                    field_1,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
            }
            Self::Note { 0: field_0 } => {
                ::cora::__private::core::plain::Plain::put(&5u8, out);
                <Bytes<
                    16,
                > as ::cora::__private::core::plain::Plain>::put(
                    field_0,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <Bytes<16> as ::cora::__private::core::plain::Plain>::SIZE;
            }
            Self::Pair { 0: field_0, 1: field_1 } => {
                ::cora::__private::core::plain::Plain::put(&6u8, out);
                <u8 as ::cora::__private::core::plain::Plain>::put(
                    field_0,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
                <bool as ::cora::__private::core::plain::Plain>::put(
                    field_1,
                    out.get_mut(at..).unwrap_or_default(),
                );
                at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
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
            0u8 => Self::Ended {},
            4u8 => {
                Self::Grant {
                    to: {
                        let field = <u32 as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                    count: {
                        let field = <u16 as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <u16 as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                }
            }
            5u8 => {
                Self::Note {
                    0: {
                        let field = <Bytes<
                            16,
                        > as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <Bytes<16> as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                }
            }
            6u8 => {
                Self::Pair {
                    0: {
                        let field = <u8 as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
                        field
                    },
                    1: {
                        let field = <bool as ::cora::__private::core::plain::Plain>::get(
                            bytes.get(at..)?,
                        )?;
                        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
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
            Self::Ended {} => {
                ::cora::__private::core::plain::Plain::put_short(&0u8, to);
            }
            Self::Grant { to: field_0, count: field_1 } => {
                ::cora::__private::core::plain::Plain::put_short(&4u8, to);
                <u32 as ::cora::__private::core::plain::Plain>::put_short(field_0, to);
                <u16 as ::cora::__private::core::plain::Plain>::put_short(field_1, to);
            }
            Self::Note { 0: field_0 } => {
                ::cora::__private::core::plain::Plain::put_short(&5u8, to);
                <Bytes<
                    16,
                > as ::cora::__private::core::plain::Plain>::put_short(field_0, to);
            }
            Self::Pair { 0: field_0, 1: field_1 } => {
                ::cora::__private::core::plain::Plain::put_short(&6u8, to);
                <u8 as ::cora::__private::core::plain::Plain>::put_short(field_0, to);
                <bool as ::cora::__private::core::plain::Plain>::put_short(field_1, to);
            }
        }
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        ::core::option::Option::Some(
            match <u8 as ::cora::__private::core::plain::Plain>::get_short(from)? {
                0u8 => Self::Ended {},
                4u8 => {
                    Self::Grant {
                        to: <u32 as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                        count: <u16 as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                    }
                }
                5u8 => {
                    Self::Note {
                        0: <Bytes<
                            16,
                        > as ::cora::__private::core::plain::Plain>::get_short(from)?,
                    }
                }
                6u8 => {
                    Self::Pair {
                        0: <u8 as ::cora::__private::core::plain::Plain>::get_short(
                            from,
                        )?,
                        1: <bool as ::cora::__private::core::plain::Plain>::get_short(
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
            Self::Ended {} => to.text(&"Ended"),
            Self::Grant { to: field_0, count: field_1 } => {
                to.open();
                to.field("Grant");
                to.open();
                to.field("to");
                <u32 as ::cora::__private::core::plain::Plain>::describe(field_0, to);
                to.field("count");
                <u16 as ::cora::__private::core::plain::Plain>::describe(field_1, to);
                to.close();
                to.close();
            }
            Self::Note { 0: field_0 } => {
                to.open();
                to.field("Note");
                <Bytes<
                    16,
                > as ::cora::__private::core::plain::Plain>::describe(field_0, to);
                to.close();
            }
            Self::Pair { 0: field_0, 1: field_1 } => {
                to.open();
                to.field("Pair");
                to.open_list();
                <u8 as ::cora::__private::core::plain::Plain>::describe(field_0, to);
                <bool as ::cora::__private::core::plain::Plain>::describe(field_1, to);
                to.close_list();
                to.close();
            }
        }
    }
}
