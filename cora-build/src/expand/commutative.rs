//! `#[state(commutative)]`: a replica on each side. Its units are those of its fields, in order.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Member, Type};

use super::{core, plain, stored};
use crate::syntax::StateDecl;

/// With `merged`, `cora-core` implements `Stored` on `Merged<S>`.
pub(super) fn run(decl: &StateDecl, merged: bool) -> TokenStream {
    let core = core();
    let (ident, name, item) = (&decl.ident, &decl.name, &decl.item);
    let replica = replica(decl);
    let stored = if merged {
        read_merged(decl)
    } else {
        stored::implementation(decl, "Commutative", "Replicated")
    };
    quote! {
        #item
        #replica

        #[automatically_derived]
        impl #core::state::Commutative for #ident {
            const NAME: &'static str = #name;
        }

        #stored
    }
}

fn read_merged(decl: &StateDecl) -> TokenStream {
    let core = core();
    let ident = &decl.ident;
    let members = decl.item.fields.members();
    quote! {
        const _: () =
            #core::state::commutative::merged_fit(&[::core::mem::size_of::<#ident>()]);

        #[automatically_derived]
        impl #core::state::commutative::ReadMerged for #ident {
            fn set(&mut self, to: &Self) {
                #(self.#members = to.#members;)*
            }
        }
    }
}

fn replica(decl: &StateDecl) -> TokenStream {
    let core = core();
    let replica = quote!(#core::state::Replica);
    let fields = &decl.item.fields;
    let ident = &decl.ident;
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<Member> = fields.members().collect();
    let labels: Vec<String> = members.iter().map(plain::label).collect();
    let units = units(decl);
    quote! {
        #[automatically_derived]
        impl #replica for #ident {
            const EMPTY: Self = Self { #(#members: <#types as #replica>::EMPTY,)* };
            const UNITS: u32 = 0 #(+ <#types as #replica>::UNITS)*;

            #[inline]
            fn clear(&mut self) {
                #(<#types as #replica>::clear(&mut self.#members);)*
            }

            #units

            fn key(&mut self, seed: u64) {
                #(<#types as #replica>::key(&mut self.#members, seed);)*
            }

            #[inline]
            fn begin(&mut self, undo: bool) {
                #(<#types as #replica>::begin(&mut self.#members, undo);)*
            }

            #[inline]
            fn rollback(&mut self) {
                #(<#types as #replica>::rollback(&mut self.#members);)*
            }

            fn settle(&mut self) {
                #(<#types as #replica>::settle(&mut self.#members);)*
            }

            fn describe(&self, to: &mut dyn #core::plain::Describe) {
                to.open();
                #(
                    to.field(#labels);
                    <#types as #replica>::describe(&self.#members, to);
                )*
                to.close();
            }
        }
    }
}

/// The two methods that find the field of a unit.
fn units(decl: &StateDecl) -> TokenStream {
    let core = core();
    let replica = quote!(#core::state::Replica);
    let fields = &decl.item.fields;
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let members: Vec<Member> = fields.members().collect();
    quote! {
        fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
            let first = 0u32;
            #(
                if unit - first < <#types as #replica>::UNITS {
                    return <#types as #replica>::put_unit(&self.#members, unit - first, out);
                }
                let first = first + <#types as #replica>::UNITS;
            )*
            let _ = (first, unit, out);
            0
        }

        fn merge_unit(
            &mut self,
            unit: u32,
            bytes: &[u8],
        ) -> ::core::result::Result<(), #core::state::Malformed> {
            let first = 0u32;
            #(
                if unit - first < <#types as #replica>::UNITS {
                    return <#types as #replica>::merge_unit(&mut self.#members, unit - first, bytes);
                }
                let first = first + <#types as #replica>::UNITS;
            )*
            let _ = (first, unit, bytes);
            ::core::result::Result::Err(#core::state::Malformed)
        }
    }
}
