pub struct Talkers {
    bytes: Sum,
    longest: Max,
    top: TopK<SourceAddress, 16>,
}
#[automatically_derived]
impl ::cora::__private::core::state::Replica for Talkers {
    const EMPTY: Self = Self {
        bytes: <Sum as ::cora::__private::core::state::Replica>::EMPTY,
        longest: <Max as ::cora::__private::core::state::Replica>::EMPTY,
        top: <TopK<SourceAddress, 16> as ::cora::__private::core::state::Replica>::EMPTY,
    };
    const UNITS: u32 = 0 + <Sum as ::cora::__private::core::state::Replica>::UNITS
        + <Max as ::cora::__private::core::state::Replica>::UNITS
        + <TopK<SourceAddress, 16> as ::cora::__private::core::state::Replica>::UNITS;
    #[inline]
    fn clear(&mut self) {
        <Sum as ::cora::__private::core::state::Replica>::clear(&mut self.bytes);
        <Max as ::cora::__private::core::state::Replica>::clear(&mut self.longest);
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::clear(&mut self.top);
    }
    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        let first = 0u32;
        if unit - first < <Sum as ::cora::__private::core::state::Replica>::UNITS {
            return <Sum as ::cora::__private::core::state::Replica>::put_unit(
                &self.bytes,
                unit - first,
                out,
            );
        }
        let first = first + <Sum as ::cora::__private::core::state::Replica>::UNITS;
        if unit - first < <Max as ::cora::__private::core::state::Replica>::UNITS {
            return <Max as ::cora::__private::core::state::Replica>::put_unit(
                &self.longest,
                unit - first,
                out,
            );
        }
        let first = first + <Max as ::cora::__private::core::state::Replica>::UNITS;
        if unit - first
            < <TopK<SourceAddress, 16> as ::cora::__private::core::state::Replica>::UNITS
        {
            return <TopK<
                SourceAddress,
                16,
            > as ::cora::__private::core::state::Replica>::put_unit(
                &self.top,
                unit - first,
                out,
            );
        }
        let first = first
            + <TopK<
                SourceAddress,
                16,
            > as ::cora::__private::core::state::Replica>::UNITS;
        let _ = (first, unit, out);
        0
    }
    fn merge_unit(
        &mut self,
        unit: u32,
        bytes: &[u8],
    ) -> ::core::result::Result<(), ::cora::__private::core::state::Malformed> {
        let first = 0u32;
        if unit - first < <Sum as ::cora::__private::core::state::Replica>::UNITS {
            return <Sum as ::cora::__private::core::state::Replica>::merge_unit(
                &mut self.bytes,
                unit - first,
                bytes,
            );
        }
        let first = first + <Sum as ::cora::__private::core::state::Replica>::UNITS;
        if unit - first < <Max as ::cora::__private::core::state::Replica>::UNITS {
            return <Max as ::cora::__private::core::state::Replica>::merge_unit(
                &mut self.longest,
                unit - first,
                bytes,
            );
        }
        let first = first + <Max as ::cora::__private::core::state::Replica>::UNITS;
        if unit - first
            < <TopK<SourceAddress, 16> as ::cora::__private::core::state::Replica>::UNITS
        {
            return <TopK<
                SourceAddress,
                16,
            > as ::cora::__private::core::state::Replica>::merge_unit(
                &mut self.top,
                unit - first,
                bytes,
            );
        }
        let first = first
            + <TopK<
                SourceAddress,
                16,
            > as ::cora::__private::core::state::Replica>::UNITS;
        let _ = (first, unit, bytes);
        ::core::result::Result::Err(::cora::__private::core::state::Malformed)
    }
    fn key(&mut self, seed: u64) {
        <Sum as ::cora::__private::core::state::Replica>::key(&mut self.bytes, seed);
        <Max as ::cora::__private::core::state::Replica>::key(&mut self.longest, seed);
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::key(&mut self.top, seed);
    }
    #[inline]
    fn begin(&mut self, undo: bool) {
        <Sum as ::cora::__private::core::state::Replica>::begin(&mut self.bytes, undo);
        <Max as ::cora::__private::core::state::Replica>::begin(&mut self.longest, undo);
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::begin(&mut self.top, undo);
    }
    #[inline]
    fn rollback(&mut self) {
        <Sum as ::cora::__private::core::state::Replica>::rollback(&mut self.bytes);
        <Max as ::cora::__private::core::state::Replica>::rollback(&mut self.longest);
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::rollback(&mut self.top);
    }
    fn settle(&mut self) {
        <Sum as ::cora::__private::core::state::Replica>::settle(&mut self.bytes);
        <Max as ::cora::__private::core::state::Replica>::settle(&mut self.longest);
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::settle(&mut self.top);
    }
    fn describe(&self, to: &mut dyn ::cora::__private::core::plain::Describe) {
        to.open();
        to.field("bytes");
        <Sum as ::cora::__private::core::state::Replica>::describe(&self.bytes, to);
        to.field("longest");
        <Max as ::cora::__private::core::state::Replica>::describe(&self.longest, to);
        to.field("top");
        <TopK<
            SourceAddress,
            16,
        > as ::cora::__private::core::state::Replica>::describe(&self.top, to);
        to.close();
    }
}
#[automatically_derived]
impl ::cora::__private::core::state::Commutative for Talkers {
    const NAME: &'static str = "Talkers";
}
const _: () = ::cora::__private::core::state::within_limit::<Talkers>();
#[automatically_derived]
impl ::cora::__private::core::state::Stored for Talkers {
    const NAME: &'static str = "Talkers";
    const KIND: ::cora::__private::core::state::Kind = ::cora::__private::core::state::Kind::Commutative;
    const BYTES: usize = ::cora::__private::core::state::Replicated::<Self>::BYTES;
    type Home = ::cora::__private::core::state::Replicated<Self>;
    fn create(
        memory: &mut ::cora::__private::core::state::Memory,
    ) -> ::core::result::Result<
        Self::Home,
        ::cora::__private::core::state::OutOfMemory,
    > {
        ::cora::__private::core::state::Replicated::create(memory)
    }
    #[inline]
    fn borrow(home: &mut Self::Home) -> &mut Self {
        home.value()
    }
}
