//! `#[state(map | prefixes | acl, …)]`: a row of a configured table. `cora-core` implements
//! `Stored` on the table.

use proc_macro2::TokenStream;
use quote::quote;

use super::{capacity, columns, core, plain};
use crate::check::fields;
use crate::syntax::{RowForm, RowsArgs, StateDecl};

pub(super) fn run(decl: &StateDecl, args: &RowsArgs) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let (item, plain) = (plain::item(&decl.item), plain::implementation(ident, &decl.item.fields));
    let configured = quote!(#core::state::configured);
    let (form, words) = match (args.form, &args.key) {
        (RowForm::Map, Some((key, _))) => (quote!(map::ByKey<#key>), quote!(map::words)),
        (RowForm::Acl, _) => (quote!(acl::ByMatch), quote!(acl::words)),
        _ => (quote!(prefixes::ByPrefix), quote!(prefixes::words)),
    };
    let capacity = capacity(&args.capacity);
    let derives = decl.item.attrs.iter().flat_map(fields::derives);
    let has_default = derives.into_iter().any(|path| fields::ends(&path, "Default"));
    let columns = columns::items(&decl.item.fields, has_default);
    let services = args.services.as_ref().map(|path| {
        quote!(
            fn services(
                place: &<Self::Form as #configured::Form>::Place,
                row: &Self,
            ) -> ::core::option::Option<[#core::key::Endpoint; 2]> {
                ::core::option::Option::Some(#path(place, row))
            }
        )
    });
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::Row for #ident {
            type Form = #configured::#form;
            const NAME: &'static str = #name;
            const CAPACITY: u32 = #capacity;
            const WORDS: usize = #configured::#words(#capacity);
            #columns
            #services
        }

        const _: () = #configured::fits::<#ident>();
    }
}
