//! Makes the enums of messages, their encoding and decoding from the table in `kind`.

/// Whether this half reads the messages of a line of the table.
macro_rules! reads {
    (any $reader:ident) => {
        true
    };
    ($half:ident both) => {
        true
    };
    (nic nic) => {
        true
    };
    (host host) => {
        true
    };
    (host messages) => {
        true
    };
    (messages messages) => {
        true
    };
    ($half:ident $reader:ident) => {
        false
    };
}

/// Hands the parts of a record to `push`: of a field its head; of the rest of the record its bytes;
/// of a field of any size both.
macro_rules! parts {
    ($push:ident $kind:expr, [$($part:expr,)*]) => {
        $push($kind, &[$($part,)*])
    };
    ($push:ident $kind:expr, [$($part:expr,)*] $field:ident (), $($next:tt)*) => {
        parts!($push $kind, [$($part,)* Field::head($field).as_ref(),] $($next)*)
    };
    ($push:ident $kind:expr, [$($part:expr,)*] $field:ident (rest), $($next:tt)*) => {
        parts!($push $kind, [$($part,)* Field::tail($field),] $($next)*)
    };
    ($push:ident $kind:expr, [$($part:expr,)*] $field:ident (sized), $($next:tt)*) => {
        parts!(
            $push $kind, [$($part,)* Field::head($field).as_ref(), Field::tail($field),] $($next)*
        )
    };
}

macro_rules! protocols {
    ($(
        $(#[$of_protocol:meta])*
        $protocol:ident {
            $(
                $(#[$of_kind:meta])*
                $number:literal $kind:ident {
                    $($(#[$of_field:meta])* $field:ident: $type:ty $(as $form:ident)?,)*
                } read by $reader:ident,
            )*
        }
    )*) => {
        $(
            $(#[$of_protocol])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $protocol<'a> {
                $(
                    $(#[$of_kind])*
                    $kind {
                        $($(#[$of_field])* $field: $type,)*
                    },
                )*
            }

            impl<'a> From<$protocol<'a>> for Message<'a> {
                #[inline(always)]
                fn from(message: $protocol<'a>) -> Self {
                    Self::$protocol(message)
                }
            }
        )*

        /// The kind of a message: the number in its record's header.
        ///
        /// | number | kind | protocol | read by |
        /// | --- | --- | --- | --- |
        $($(
            #[doc = concat!(
                "| ", $number, " | [`", stringify!($kind), "`](", stringify!($protocol), "::",
                stringify!($kind), ") | [`", stringify!($protocol), "`] | ", stringify!($reader),
                " |"
            )]
        )*)*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Kind {
            $($(
                #[doc = concat!("[`", stringify!($protocol), "::", stringify!($kind), "`]")]
                $kind = $number,
            )*)*
        }

        impl Kind {
            /// All kinds there are.
            pub const ALL: &[Self] = &[$($(Self::$kind,)*)*];

            /// The names, in the order of [`Self::ALL`]: one text, for a table of texts would be a
            /// hundredth of the NIC half.
            const NAMES: &str = concat!($($(stringify!($kind), " ",)*)*);
        }

        impl<'a> Message<'a> {
            /// The kind in the record's header.
            #[must_use]
            #[inline(always)]
            pub const fn kind(&self) -> Kind {
                match self {
                    $($(Self::$protocol($protocol::$kind { .. }) => Kind::$kind,)*)*
                }
            }

            protocols!(@encode
                /// Hands the encoding to `push`, in parts.
                encode any $($protocol { $($kind { $($field ($($form)?),)* } $reader)* })*);
            protocols!(@encode
                /// The same of messages that the host reads. The NIC half sends no others, and has
                /// no code for them: they are encoded as nothing, of no kind.
                encode_for_host host
                $($protocol { $($kind { $($field ($($form)?),)* } $reader)* })*);
            protocols!(@decode
                /// Reads a message; `None` when the bytes are none of this kind, or longer.
                decode any $($protocol { $($number $kind { $($field,)* } $reader)* })*);
            protocols!(@decode
                /// The same of messages that the NIC reads. The NIC half has no code for others.
                decode_at_nic nic $($protocol { $($number $kind { $($field,)* } $reader)* })*);
            protocols!(@decode
                /// The same of those that the NIC reads in programs with messages alone.
                decode_of_messages messages
                $($protocol { $($number $kind { $($field,)* } $reader)* })*);
        }
    };
    (@encode
        $(#[$doc:meta])*
        $name:ident $half:ident
        $($protocol:ident {
            $($kind:ident { $($field:ident $form:tt,)* } $reader:ident)*
        })*
    ) => {
        $(#[$doc])*
        #[inline(always)]
        #[allow(clippy::match_same_arms, reason = "a line of the table each")]
        pub fn $name<T>(&self, push: impl FnOnce(u16, &[&[u8]]) -> T) -> T {
            match self {
                $($(
                    Self::$protocol($protocol::$kind { $($field,)* })
                        if const { reads!($half $reader) } =>
                    {
                        parts!(push Kind::$kind.number(), [] $($field $form,)*)
                    }
                )*)*
                _ => push(0, &[]),
            }
        }
    };
    (@decode
        $(#[$doc:meta])*
        $name:ident $half:ident
        $($protocol:ident { $($number:literal $kind:ident { $($field:ident,)* } $reader:ident)* })*
    ) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(kind: u16, mut bytes: &'a [u8]) -> Option<Self> {
            let rest = &mut bytes;
            let message = match kind {
                $($(
                    $number if const { reads!($half $reader) } => {
                        Self::$protocol($protocol::$kind { $($field: Field::read(rest)?,)* })
                    }
                )*)*
                _ => return None,
            };
            rest.is_empty().then_some(message)
        }
    };
}
