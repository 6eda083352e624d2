#[derive(::core::clone::Clone)]
#[derive(::core::marker::Copy)]
#[repr(C)]
pub(crate) struct Backends {
    count: u8,
    addresses: [Address; 16],
}
#[automatically_derived]
impl ::cora::__private::core::plain::Plain for Backends {
    const SIZE: usize = 0 + <u8 as ::cora::__private::core::plain::Plain>::SIZE
        + <[Address; 16] as ::cora::__private::core::plain::Plain>::SIZE;
    const FIELDS: &'static [(&'static str, usize)] = &[
        ("count", <u8 as ::cora::__private::core::plain::Plain>::SIZE),
        ("addresses", <[Address; 16] as ::cora::__private::core::plain::Plain>::SIZE),
    ];
    #[inline]
    fn begin_generation(
        &mut self,
        generation: ::cora::__private::core::state::Generation,
    ) {
        ::cora::__private::core::plain::Plain::begin_generation(
            &mut self.count,
            generation,
        );
        ::cora::__private::core::plain::Plain::begin_generation(
            &mut self.addresses,
            generation,
        );
        let _ = generation;
    }
    const SHORTENS: bool = false
        || <u8 as ::cora::__private::core::plain::Plain>::SHORTENS
        || <[Address; 16] as ::cora::__private::core::plain::Plain>::SHORTENS;
    #[inline]
    fn put_short(&self, to: &mut ::cora::__private::core::short::ShortWriter<'_>) {
        <u8 as ::cora::__private::core::plain::Plain>::put_short(&self.count, to);
        <[Address; 16] as ::cora::__private::core::plain::Plain>::put_short(
            &self.addresses,
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
            count: <u8 as ::cora::__private::core::plain::Plain>::get_short(from)?,
            addresses: <[Address; 16] as ::cora::__private::core::plain::Plain>::get_short(
                from,
            )?,
        })
    }
    #[inline]
    fn put(&self, out: &mut [u8]) {
        let mut at = 0usize;
        <u8 as ::cora::__private::core::plain::Plain>::put(
            &self.count,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        <[Address; 16] as ::cora::__private::core::plain::Plain>::put(
            &self.addresses,
            out.get_mut(at..).unwrap_or_default(),
        );
        at += <[Address; 16] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, out);
    }
    #[inline]
    fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
        let mut at = 0usize;
        let value = Self {
            count: {
                let field = <u8 as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
                field
            },
            addresses: {
                let field = <[Address; 16] as ::cora::__private::core::plain::Plain>::get(
                    bytes.get(at..)?,
                )?;
                at += <[Address; 16] as ::cora::__private::core::plain::Plain>::SIZE;
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
            &mut self.count,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <u8 as ::cora::__private::core::plain::Plain>::SIZE;
        if !<[Address; 16] as ::cora::__private::core::plain::Plain>::read(
            &mut self.addresses,
            bytes.get(at..).unwrap_or_default(),
        ) {
            return false;
        }
        at += <[Address; 16] as ::cora::__private::core::plain::Plain>::SIZE;
        let _ = (at, bytes);
        true
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("count");
        <u8 as ::cora::__private::core::plain::Plain>::describe(&self.count, to);
        to.field("addresses");
        <[Address; 16] as ::cora::__private::core::plain::Plain>::describe(
            &self.addresses,
            to,
        );
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::ReadMostly for Backends {
    const NAME: &'static str = "Backends";
}
const _: () = ::cora::__private::core::state::within_limit::<Backends>();
#[automatically_derived]
impl ::cora::__private::core::state::Stored for Backends {
    const NAME: &'static str = "Backends";
    const KIND: ::cora::__private::core::state::Kind = ::cora::__private::core::state::Kind::ReadMostly;
    const BYTES: usize = ::cora::__private::core::state::Versioned::<Self>::BYTES;
    const VALUE: usize = ::core::mem::size_of::<Self>();
    type Home = ::cora::__private::core::state::Versioned<Self>;
    fn create(
        memory: &mut ::cora::__private::core::state::Memory,
    ) -> ::core::result::Result<
        Self::Home,
        ::cora::__private::core::state::OutOfMemory,
    > {
        ::cora::__private::core::state::Versioned::create(memory)
    }
    #[inline]
    fn borrow(home: &mut Self::Home) -> &mut Self {
        home.value()
    }
}
