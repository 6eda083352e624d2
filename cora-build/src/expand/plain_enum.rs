//! `#[derive(Plain)]` for an enum without fields: one byte with the variant's number.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{DataEnum, Fields, Ident, Variant};

use super::core;
use super::plain::refuse;
use crate::check::number::{self, NumberError};
use crate::diag::{Diagnostics, Place, codes};

/// `impl Plain` for the enum; `None` after a fault.
pub(super) fn run(
    name: &Ident,
    data: &DataEnum,
    diagnostics: &mut Diagnostics,
) -> Option<TokenStream> {
    if data.variants.is_empty() {
        refuse(
            codes::PLAIN_EMPTY_ENUM,
            name.span().into(),
            format!("`{name}` has no value to encode"),
            "give it a variant",
            diagnostics,
        );
        return None;
    }
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            refuse(
                codes::PLAIN_ITEM,
                Place::of(variant),
                format!(
                    "`{}::{}` holds fields, and then a value has no fixed width",
                    name, variant.ident
                ),
                "keep the values in a struct, beside a field-less enum for the variant",
                diagnostics,
            );
        }
    }
    let numbers = numbers(data, diagnostics)?;
    Some(implementation(name, data, &numbers))
}

fn implementation(name: &Ident, data: &DataEnum, numbers: &[u8]) -> TokenStream {
    let core = core();
    let variants: Vec<&Ident> = data.variants.iter().map(|variant| &variant.ident).collect();
    let labels = variants.iter().map(|variant| variant.unraw().to_string());
    quote! {
        #[automatically_derived]
        impl #core::plain::Plain for #name {
            const SIZE: usize = 1;

            #[inline]
            fn put(&self, out: &mut [u8]) {
                if let ::core::option::Option::Some(place) = out.first_mut() {
                    *place = match self {
                        #(Self::#variants => #numbers,)*
                    };
                }
            }

            #[inline]
            fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
                match *bytes.first()? {
                    #(#numbers => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }

            fn describe(&self, to: &mut dyn #core::plain::Describe) {
                match self {
                    #(Self::#variants => to.text(&#labels),)*
                }
            }
        }
    }
}

/// The variants' numbers; `None` if one does not fit a byte or can't be evaluated.
fn numbers(data: &DataEnum, diagnostics: &mut Diagnostics) -> Option<Vec<u8>> {
    let mut numbers = Vec::new();
    let mut next = 0_u64;
    let mut seen = BTreeSet::new();
    for variant in &data.variants {
        let number = match &variant.discriminant {
            None => Some(next),
            Some((_, written)) => number::evaluate(written, &mut |_| Err(NumberError::Named)).ok(),
        };
        let byte = number.and_then(|number| u8::try_from(number).ok());
        // The compiler refuses two variants with the same number.
        let Some(byte) = byte.filter(|byte| seen.insert(*byte)) else {
            discriminant(variant, diagnostics);
            return None;
        };
        numbers.push(byte);
        next = u64::from(byte) + 1;
    }
    Some(numbers)
}

fn discriminant(variant: &Variant, diagnostics: &mut Diagnostics) {
    let place = match &variant.discriminant {
        Some((_, written)) => Place::of(written),
        None => variant.ident.span().into(),
    };
    refuse(
        codes::PLAIN_DISCRIMINANT,
        place,
        format!("the number of `{}` is not one of its own from 0 to 255", variant.ident),
        "write a whole number below 256 that no other variant has, or leave the numbers away",
        diagnostics,
    );
}
