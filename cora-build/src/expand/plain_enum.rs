//! `#[derive(Plain)]` for an enum: one byte with the variant's number. If variants have fields,
//! those of the value's variant follow one by one, and zeros up to the size of the largest.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{DataEnum, Fields, Ident, Member, Type, Variant};

use super::core;
use super::plain::{label, refuse};
use crate::check::fields;
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
    for field in data.variants.iter().flat_map(|variant| &variant.fields) {
        fields::check_plain(&field.ty, diagnostics);
    }
    let numbers = numbers(data, diagnostics)?;
    if data.variants.iter().all(|variant| matches!(variant.fields, Fields::Unit)) {
        return Some(without_fields(name, data, &numbers));
    }
    let shapes = data.variants.iter().zip(&numbers);
    let shapes: Vec<Shape<'_>> =
        shapes.map(|(variant, number)| Shape::of(variant, *number)).collect();
    Some(with_fields(name, &shapes))
}

fn without_fields(name: &Ident, data: &DataEnum, numbers: &[u8]) -> TokenStream {
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

/// A variant, as the parts of the implementation need it.
struct Shape<'a> {
    ident: &'a Ident,
    fields: &'a Fields,
    number: u8,
    types: Vec<&'a Type>,
    members: Vec<Member>,
    /// What the fields are bound to in a pattern.
    bound: Vec<Ident>,
}

impl<'a> Shape<'a> {
    fn of(variant: &'a Variant, number: u8) -> Self {
        let (ident, fields) = (&variant.ident, &variant.fields);
        let types = fields.iter().map(|field| &field.ty).collect();
        let bound = (0..fields.len()).map(|at| format_ident!("field_{at}")).collect();
        Self { ident, fields, number, types, members: fields.members().collect(), bound }
    }

    /// The pattern of the variant. It fits variants without fields, too.
    fn pattern(&self) -> TokenStream {
        let Self { ident, members, bound, .. } = self;
        quote!(Self::#ident { #(#members: #bound),* })
    }

    fn put(&self, plain: &TokenStream) -> TokenStream {
        let Self { number, types, bound, .. } = self;
        let pattern = self.pattern();
        quote! {
            #pattern => {
                #plain::put(&#number, out);
                #(
                    <#types as #plain>::put(#bound, out.get_mut(at..).unwrap_or_default());
                    at += <#types as #plain>::SIZE;
                )*
            }
        }
    }

    fn get(&self, plain: &TokenStream) -> TokenStream {
        let Self { ident, number, types, members, .. } = self;
        quote! {
            #number => Self::#ident {#(
                #members: {
                    let field = <#types as #plain>::get(bytes.get(at..)?)?;
                    at += <#types as #plain>::SIZE;
                    field
                },
            )*},
        }
    }

    fn put_short(&self, plain: &TokenStream) -> TokenStream {
        let Self { number, types, bound, .. } = self;
        let pattern = self.pattern();
        quote! {
            #pattern => {
                #plain::put_short(&#number, to);
                #(<#types as #plain>::put_short(#bound, to);)*
            }
        }
    }

    fn get_short(&self, plain: &TokenStream) -> TokenStream {
        let Self { ident, number, types, members, .. } = self;
        quote! {
            #number => Self::#ident {
                #(#members: <#types as #plain>::get_short(from)?,)*
            },
        }
    }

    /// A name alone is text. One with fields is a struct of one field, which is the variant's: as
    /// a struct, a list, or the value of an only field without a name.
    fn describe(&self, plain: &TokenStream) -> TokenStream {
        let Self { fields, types, members, bound, .. } = self;
        let pattern = self.pattern();
        let name = self.ident.unraw().to_string();
        let labels = members.iter().map(label);
        let inside = match fields {
            _ if fields.is_empty() => return quote!(#pattern => to.text(&#name),),
            Fields::Unnamed(_) if fields.len() == 1 => {
                quote!(#(<#types as #plain>::describe(#bound, to);)*)
            }
            Fields::Unnamed(_) => quote! {
                to.open_list();
                #(<#types as #plain>::describe(#bound, to);)*
                to.close_list();
            },
            _ => quote! {
                to.open();
                #(
                    to.field(#labels);
                    <#types as #plain>::describe(#bound, to);
                )*
                to.close();
            },
        };
        quote! {
            #pattern => {
                to.open();
                to.field(#name);
                #inside
                to.close();
            }
        }
    }
}

/// The implementation for an enum of which some variants have fields.
fn with_fields<'a>(name: &Ident, shapes: &[Shape<'a>]) -> TokenStream {
    let core = core();
    let plain = quote!(#core::plain::Plain);
    let each = |make: fn(&Shape<'a>, &TokenStream) -> TokenStream| -> TokenStream {
        shapes.iter().map(|shape| make(shape, &plain)).collect()
    };
    let (size, describe) = (size(shapes, &plain), each(Shape::describe));
    let (put, get) = (each(Shape::put), each(Shape::get));
    let (put_short, get_short) = (each(Shape::put_short), each(Shape::get_short));
    let none = quote!(::core::option::Option::None);
    let mutable = shapes.iter().any(|shape| !shape.types.is_empty()).then(|| quote!(mut));
    quote! {
        #[automatically_derived]
        impl #plain for #name {
            const SIZE: usize = #size;
            const SHORTENS: bool = true;

            #[inline]
            fn put(&self, out: &mut [u8]) {
                let #mutable at = 1usize;
                match self { #put }
                if let ::core::option::Option::Some(behind) = out.get_mut(at..Self::SIZE) {
                    behind.fill(0);
                }
            }

            #[inline]
            fn get(bytes: &[u8]) -> ::core::option::Option<Self> {
                let bytes = bytes.get(..Self::SIZE)?;
                let #mutable at = 1usize;
                let value = match *bytes.first()? {
                    #get
                    _ => return #none,
                };
                if bytes.get(at..)?.iter().any(|byte| *byte != 0) {
                    return #none;
                }
                ::core::option::Option::Some(value)
            }

            #[inline]
            fn put_short(&self, to: &mut #core::short::ShortWriter<'_>) {
                match self { #put_short }
            }

            #[inline]
            fn get_short(
                from: &mut #core::short::ShortReader<'_>,
            ) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(match <u8 as #plain>::get_short(from)? {
                    #get_short
                    _ => return #none,
                })
            }

            fn describe(&self, to: &mut dyn #core::plain::Describe) {
                match self { #describe }
            }
        }
    }
}

/// The number's byte and the fields of the largest variant.
fn size(shapes: &[Shape<'_>], plain: &TokenStream) -> TokenStream {
    let sizes = shapes.iter().map(|Shape { types, .. }| quote!(0 #(+ <#types as #plain>::SIZE)*));
    quote! {{
        let (sizes, mut most, mut at) = ([#(#sizes),*], 0usize, 0usize);
        while at < sizes.len() {
            if sizes[at] > most {
                most = sizes[at];
            }
            at += 1;
        }
        1 + most
    }}
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
