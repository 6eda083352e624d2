#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
#[derive(Default)]
struct Quota {
    packets: u32,
    r#final: bool,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Quota {
    const SIZE: usize = 0 + <u32 as ::cora::__private::core::plain::Plain>::SIZE
        + <bool as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("packets", <u32 as ::cora::__private::core::plain::Plain>::SIZE),
        ("final", <bool as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <u32 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <bool as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u32 as ::cora::__private::core::plain::Plain>::put_short(&self.packets, to);
        <bool as ::cora::__private::core::plain::Plain>::put_short(&self.r#final, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            packets: <u32 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            r#final: <bool as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u32 as ::cora::__private::core::plain::Plain>::put(
            &self.packets,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        <bool as ::cora::__private::core::plain::Plain>::put(
            &self.r#final,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            packets: {
                let field = <u32 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            r#final: {
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
            &mut self.packets,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u32 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<bool as ::cora::__private::core::plain::Plain>::read(
            &mut self.r#final,
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
        to.field("packets");
        <u32 as ::cora::__private::core::plain::Plain>::describe(&self.packets, to);
        to.field("final");
        <bool as ::cora::__private::core::plain::Plain>::describe(&self.r#final, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Row for Quota {
    type Form = ::cora::__private::core::state::configured::map::ByKey<Tenant>;
    const NAME: &'static str = "Quota";
    const CAPACITY: u32 = ::cora::__private::core::state::table::capacity(
        (TENANTS) as u64,
    );
    const WORDS: usize = ::cora::__private::core::state::configured::map::words(
        ::cora::__private::core::state::table::capacity((TENANTS) as u64),
    );
    const COLUMNS: &'static [&'static str] = &["packets", "final"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let default = <Self as ::core::default::Default>::default();
        let value_0 = ::cora::__private::core::config::read_or::<
            u32,
        >(file, "packets", default.packets);
        let value_1 = ::cora::__private::core::config::read_or::<
            bool,
        >(file, "final", default.r#final);
        ::core::option::Option::Some(Self {
            packets: value_0?,
            r#final: value_1?,
        })
    }
}
const _: () = ::cora::__private::core::state::configured::fits::<Quota>();
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
pub(crate) struct Route {
    port: u8,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Route {
    const SIZE: usize = 0 + <u8 as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("port", <u8 as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <u8 as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u8 as ::cora::__private::core::plain::Plain>::put_short(&self.port, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            port: <u8 as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u8 as ::cora::__private::core::plain::Plain>::put(
            &self.port,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            port: {
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
            &mut self.port,
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
        to.field("port");
        <u8 as ::cora::__private::core::plain::Plain>::describe(&self.port, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Row for Route {
    type Form = ::cora::__private::core::state::configured::prefixes::ByPrefix;
    const NAME: &'static str = "Route";
    const CAPACITY: u32 = 1000000u32;
    const WORDS: usize = ::cora::__private::core::state::configured::prefixes::words(
        1000000u32,
    );
    const COLUMNS: &'static [&'static str] = &["port"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let value_0 = ::cora::__private::core::config::read::<u8>(file, "port");
        ::core::option::Option::Some(Self { port: value_0? })
    }
}
const _: () = ::cora::__private::core::state::configured::fits::<Route>();
#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
struct Rule {
    allow: bool,
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Rule {
    const SIZE: usize = 0 + <bool as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("allow", <bool as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    const SHORTENS: bool = false
        || <bool as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <bool as ::cora::__private::core::plain::Plain>::put_short(&self.allow, to);
        let _ = to;
    }
    #[inline]
    fn get_short(
        from: &mut ::cora::__private::core::short::ShortReader<'_>,
    ) -> ::core::option::Option<Self> {
        let _ = &from;
        ::core::option::Option::Some(Self {
            allow: <bool as ::cora::__private::core::plain::Plain>::get_short(from)?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <bool as ::cora::__private::core::plain::Plain>::put(
            &self.allow,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <bool as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            allow: {
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
            &mut self.allow,
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
        to.field("allow");
        <bool as ::cora::__private::core::plain::Plain>::describe(&self.allow, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Row for Rule {
    type Form = ::cora::__private::core::state::configured::acl::ByMatch;
    const NAME: &'static str = "Rule";
    const CAPACITY: u32 = 100u32;
    const WORDS: usize = ::cora::__private::core::state::configured::acl::words(100u32);
    const COLUMNS: &'static [&'static str] = &["allow"];
    #[cfg(not(target_os = "none"))]
    fn from_columns(
        file: &mut dyn ::cora::__private::core::config::File,
    ) -> ::core::option::Option<Self> {
        let _ = &file;
        let value_0 = ::cora::__private::core::config::read::<bool>(file, "allow");
        ::core::option::Option::Some(Self { allow: value_0? })
    }
}
const _: () = ::cora::__private::core::state::configured::fits::<Rule>();
