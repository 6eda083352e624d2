//! `#[state(singleton)]`: one value, pinned to one side. Its initial value is the user's `Default`,
//! or the copy of a durable one. And `#[state(per = Bucket)]`: such a value per bucket.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{core, plain, stored};
use crate::syntax::StateDecl;

pub(super) fn run(decl: &StateDecl, durable: bool) -> TokenStream {
    of(decl, durable, "Singleton", "Pinned")
}

/// `#[state(per = Bucket)]`: as many values as there are buckets. Each begins as the user's
/// `From<Bucket>` makes it, or as the copy of a durable one.
pub(super) fn per_bucket(decl: &StateDecl, durable: bool) -> TokenStream {
    of(decl, durable, "PerBucket", "Divided")
}

/// A state of this kind and with this home, both named as in `cora_core::state`.
fn of(decl: &StateDecl, durable: bool, kind: &str, home: &str) -> TokenStream {
    let core = core();
    let (ident, name) = (&decl.ident, &decl.name);
    let kind_of = format_ident!("{kind}");
    let item = plain::item(&decl.item);
    let fields = &decl.item.fields;
    let (plain, stored) = if durable {
        let further = quote!(
            const DURABLE: bool = true;
        );
        let further = [further, plain::put_changed(fields)].into_iter().collect();
        let kept = quote!(
            const KEPT: bool = true;
        );
        let stored = stored::implementation_with(decl, kind, home, &quote!(lend), &kept);
        (plain::implementation_with(ident, fields, &further), stored)
    } else {
        let stored = stored::implementation(decl, kind, home);
        (plain::implementation(ident, fields), stored)
    };
    quote! {
        #item
        #plain

        #[automatically_derived]
        impl #core::state::#kind_of for #ident {
            const NAME: &'static str = #name;
        }

        #stored
    }
}
