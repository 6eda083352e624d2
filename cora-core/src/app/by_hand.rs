//! Programs that are written by hand, for tests and for measuring a machine.

/// Implements all groups of a program but [`App`](crate::app::App) itself: of a struct with a field
/// for each state. Fields of other types get the value behind `and`. `durable true` ends the list
/// if a state is durable.
///
/// ```ignore
/// by_hand!([const AT_NIC: bool] Counting<AT_NIC>, by FiveTuple, {
///     Place::Travels => counts: Table<Count>,
/// } and { kind: PhantomData });
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! by_hand {
    (
        [$($generics:tt)*] $program:ty, by $group:ty, {
            $($place:expr => $field:ident: $home:ty,)*
        } $(and { $($other:ident: $value:expr),* })? $(durable $durable:literal)?
    ) => {
        impl<$($generics)*> $crate::app::States for $program {
            const PLACES: &'static [(&'static str, $crate::state::Place)] =
                &[$((<$home as $crate::state::Stored>::NAME, $place)),*];
            const STATES: usize = Self::PLACES.len();

            fn state(&mut self, number: usize) -> &mut dyn $crate::state::Home {
                self.described(number)
            }

            fn described(&mut self, number: usize) -> &mut dyn $crate::state::Described {
                let _ = number;
                let mut _at = 0;
                $(
                    if number == _at {
                        return &mut self.$field;
                    }
                    _at += 1;
                )*
                unreachable!("the program has no such state")
            }
        }

        impl<$($generics)*> $crate::app::Lifecycle for $program {
            // Each state may waste up to a line.
            const MEMORY: usize = 0 $(+ 128 + <$home as $crate::state::Stored>::BYTES)*;
            const ITEMS: usize = 0 $(+ <$home as $crate::state::Stored>::ITEMS)*;

            fn new(
                memory: &mut $crate::state::Memory,
            ) -> Result<Self, $crate::state::OutOfMemory> {
                let _ = &memory;
                Ok(Self {
                    $($field: <$home as $crate::state::Stored>::create(memory)?,)*
                    $($($other: $value,)*)?
                })
            }
        }

        impl<$($generics)*> $crate::app::Prefetch for $program {
            #[inline(always)]
            fn prefetch_index(&mut self, number: u8, packet: &$crate::packet::Packet<'_>) {
                let _ = (number, packet);
                $($crate::state::Announced::prefetch_index(&mut self.$field, number, packet);)*
            }

            #[inline(always)]
            fn prefetch_entry(&mut self, number: u8, packet: &$crate::packet::Packet<'_>) -> bool {
                let _ = (number, packet);
                true $(& $crate::state::Announced::prefetch_entry(&mut self.$field, number, packet))*
            }

            #[inline(always)]
            fn prefetch_owner(&self, number: u8) {
                let _ = number;
                $($crate::state::Home::prefetch_owner(&self.$field, number);)*
            }

            #[inline(always)]
            fn predicted_owner(&self, number: u8) -> Option<u32> {
                let _ = number;
                None $(.or_else(|| $crate::state::Home::predicted_owner(&self.$field, number)))*
            }
        }

        impl<$($generics)*> $crate::app::Transaction for $program {
            #[inline(always)]
            fn begin(&mut self, visit: $crate::state::Visit) {
                let _ = visit;
                $($crate::state::Home::begin(&mut self.$field, visit);)*
            }

            #[inline(always)]
            fn commit(&mut self, undo: bool) {
                let _ = undo;
                $($crate::state::Home::commit(&mut self.$field, undo);)*
                $($crate::state::Home::publish(&mut self.$field);)*
            }

            #[inline(always)]
            fn rollback(&mut self) {
                $($crate::state::Home::rollback(&mut self.$field);)*
            }

            #[inline(always)]
            fn is_void(&mut self) -> bool {
                false $(|| $crate::state::Home::is_void(&self.$field))*
            }
        }

        impl<$($generics)*> $crate::app::Transfer for $program {
            const DURABLE: bool = false $(|| $durable)?;
            type Group = $group;
        }
    };
}
