//! Handwritten programs, as the attributes would generate them.

pub mod actors;
pub mod balancer;
pub mod counters;
pub mod crowd;
pub mod crowded;
pub mod firewall;
pub mod hairpin;
pub mod inside;
pub mod judged;
pub mod leases;
pub mod marks;
pub mod mirrors;
pub mod nat;
pub mod pools;
pub mod seats;
pub mod tenants;
pub mod tickets;
mod variant;
pub mod visits;
pub mod wrapped;

use cora_core::app::App;
use cora_core::bucket::BucketSet;

use crate::traffic::Wishes;
pub use variant::{
    Alone, AtNic, Copying, Dealt, Mixing, NoRollback, OfferedAfter, Share, Ticking, Unordered,
    Variant,
};

/// The idle time of every table here (ns).
pub const IDLE: u64 = 64_000;

/// A program that the simulator runs.
pub trait SimApp: App {
    const WISHES: Wishes;
    /// Whether versions of its read-mostly states are replaced between packets.
    const CHANGES: bool = false;
    /// Bytes of its longest message between the sides, besides packets.
    const LONGEST: usize = 0;
    /// Steps of packet time between two packets (ns), each as probable, instead of the traffic's.
    const STEPS: &'static [u64] = &[];

    /// Refuses entries from the other side at random from now on. For the NIC's half.
    fn refuse(&mut self, seed: u64);

    /// Checks that nothing of these buckets, which are all of this half's, is lost or there twice.
    fn keeps_all(&mut self, own: BucketSet) -> Result<(), String> {
        let _ = own;
        Ok(())
    }

    /// The number of its half in a history.
    fn half(&self) -> u32 {
        0
    }

    /// The flows that packets don't tell: those that other flows send messages.
    fn flows() -> Vec<Self::Group> {
        Vec::new()
    }

    /// Puts this version of its read-mostly states in force, at the host.
    fn put_in_force(&mut self, version: u64) {
        let _ = version;
    }
}

/// A struct of plain fields, as `#[state]` generates it.
macro_rules! plain {
    ($(#[$meta:meta])* struct $name:ident { $($fields:tt)* }) => {
        $crate::apps::plain! { $(#[$meta])* struct $name lives false false { $($fields)* } }
    };
    ($(#[$meta:meta])* durable struct $name:ident { $($fields:tt)* }) => {
        $crate::apps::plain! { $(#[$meta])* struct $name lives true false { $($fields)* } }
    };
    ($(#[$meta:meta])* recorded struct $name:ident { $($fields:tt)* }) => {
        $crate::apps::plain! { $(#[$meta])* struct $name lives false true { $($fields)* } }
    };
    // With a hook, and with idle times of its entries' own.
    ($(#[$meta:meta])* hooked struct $name:ident by $idle:path { $($fields:tt)* }) => {
        $crate::apps::plain! {
            $(#[$meta])* struct $name lives false false by $idle { $($fields)* }
        }
    };
    ($(#[$meta:meta])* durable hooked struct $name:ident by $idle:path { $($fields:tt)* }) => {
        $crate::apps::plain! {
            $(#[$meta])* struct $name lives true false by $idle { $($fields)* }
        }
    };
    ($(#[$meta:meta])* struct $name:ident lives $durable:literal $recorded:literal
        $(by $idle:path)?
    {
        $($(#[$of_field:meta])* $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[$of_field])* pub $field: $type),* }

        impl cora_core::plain::Plain for $name {
            const DURABLE: bool = $durable;
            const RECORDED: bool = $recorded;
            $(
                const HOOKED: bool = true;
                const IDLE_VARIES: bool = true;
                fn idle_time(&self) -> std::time::Duration {
                    $idle(*self)
                }
            )?
            const SIZE: usize = 0 $(+ <$type as cora_core::plain::Plain>::SIZE)*;
            fn put(&self, out: &mut [u8]) {
                let mut at = 0;
                $(
                    self.$field.put(&mut out[at..]);
                    at += <$type as cora_core::plain::Plain>::SIZE;
                )*
                assert_eq!(at, Self::SIZE);
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                let mut at = 0;
                $(
                    let $field = <$type as cora_core::plain::Plain>::get(bytes.get(at..)?)?;
                    at += <$type as cora_core::plain::Plain>::SIZE;
                )*
                assert_eq!(at, Self::SIZE);
                Some(Self { $($field),* })
            }
            fn describe(&self, to: &mut dyn cora_core::plain::Describe) {
                to.open();
                $(
                    to.field(stringify!($field));
                    self.$field.describe(to);
                )*
                to.close();
            }
        }
    };
}
pub(crate) use plain;

/// Implements `Keyed` for a table's state.
macro_rules! keyed {
    (@scope $name:ident, $key:ty, $scope:ty, $capacity:expr, $reply:expr
        $(, idle $idle:expr)? $(, life $life:expr)?) => {
        impl cora_core::state::Keyed for $name {
            type Key = $key;
            type Scope = $scope;
            type Held = $crate::apps::keyed!(@held $($life)?);
            const NAME: &'static str = stringify!($name);
            const CAPACITY: u32 = $capacity;
            const IDLE: u64 = $crate::apps::keyed!(@idle $($idle)?);
            $(const LIFE: u64 = $life;)?
            const REPLY: bool = $reply;
        }
    };
    ($name:ident, $key:ty, within $group:ty, $capacity:expr, $reply:expr) => {
        $crate::apps::keyed! {
            @scope $name, $key, cora_core::state::table::scope::Each<$group>, $capacity, $reply
        }
    };
    (@held) => { Self };
    (@held $life:expr) => { cora_core::state::table::Lived<Self> };
    (@idle) => { $crate::apps::IDLE };
    (@idle $idle:expr) => { $idle };
    ($name:ident, $key:ty, $capacity:expr, $reply:expr
        $(, idle $idle:expr)? $(, life $life:expr)?) => {
        $crate::apps::keyed! {
            @scope $name, $key, cora_core::state::table::scope::Everywhere, $capacity, $reply
                $(, idle $idle)? $(, life $life)?
        }
    };
}
pub(crate) use keyed;

/// Implements `Stored` for a state of one value, with its kind and its home.
macro_rules! stored {
    ($name:ident, $kind:ident, $home:ident) => {
        impl cora_core::state::Stored for $name {
            const NAME: &'static str = stringify!($name);
            const KIND: cora_core::state::Kind = cora_core::state::Kind::$kind;
            const BYTES: usize = cora_core::state::$home::<Self>::BYTES;
            type Home = cora_core::state::$home<Self>;
            fn create(
                memory: &mut cora_core::state::Memory,
            ) -> Result<Self::Home, cora_core::state::OutOfMemory> {
                cora_core::state::$home::create(memory)
            }
            fn borrow(home: &mut Self::Home) -> &mut Self {
                home.value()
            }
        }
    };
}
pub(crate) use stored;

/// The guard of `#[flow_handler]`.
macro_rules! reach {
    ($reach:ty, $state:ty) => {
        if const { !cora_core::state::reaches::<$reach, $state>() } {
            return Err(cora_core::verdict::Stop::punt());
        }
    };
}
pub(crate) use reach;

/// A program as `cora::app!` makes it under the plan of a variant: its states, each at its place in
/// the plan, and its chain. Where a port decides the buckets of packets, states are as of the
/// packet's bucket.
macro_rules! program {
    (
        $(#[$meta:meta])*
        struct $program:ident named $name:literal by $group:ty
            $(, grouped $grouped:literal)? $(, within $within:literal)? $(, recorded [$($recorded:literal $ends:ident),*])? {
            $($place:ident $field:ident: $home:ident<$state:ident>,)*
        }
        ordered $ordered:expr;
        stateless $stateless:literal;
        $(sends $sends:expr;)?
        $(buckets by $buckets:ident;)?
        $(hooked [$($hooked:literal $waits:ident),*] $(ticking $timer:ident of $own:ident)? fn run_due($app:ident, $now:ident) $hooks:block)?
        fn chain<$reach:ident>($self:ident, $packet:ident $(, $out:ident)?) $chain:block
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $program<V> {
            $($field: $home<$state>,)*
            $($(
                $timer: cora_core::timer::Schedule,
                /// The buckets that the timer runs for.
                $own: cora_core::bucket::BucketSet,
            )?)?
            variant: std::marker::PhantomData<V>,
        }

        impl<V: $crate::apps::Variant> cora_core::app::States for $program<V> {
            const PLACES: &'static [(&'static str, cora_core::state::Place)] =
                &[$((stringify!($state), $crate::apps::program!(@place $place))),*];
            const STATES: usize = Self::PLACES.len();

            fn state(&mut self, number: usize) -> &mut dyn cora_core::state::Home {
                let states: [&mut dyn cora_core::state::Home; _] = [$(&mut self.$field),*];
                states.into_iter().nth(number).expect("a state's number")
            }

            fn described(&mut self, number: usize) -> &mut dyn cora_core::state::Described {
                let states: [&mut dyn cora_core::state::Described; _] = [$(&mut self.$field),*];
                states.into_iter().nth(number).expect("a state's number")
            }
        }

        impl<V: $crate::apps::Variant> cora_core::app::Lifecycle for $program<V> {
            const MEMORY: usize = 0 $(+ $crate::apps::program!(@bytes $place $state))*;
            const READ_MOSTLY: bool = false $(|| $crate::apps::program!(@configured $place $state))*;
            $(const RECORDED: &'static [usize] = &[$($recorded),*];)?
            $(
                const HOOKED: &'static [usize] = &[$($hooked),*];

                $(
                    const PERIODS: &'static [u64] = V::PERIODS;

                    fn own_buckets(&mut self, buckets: cora_core::bucket::BucketSet) {
                        self.$own = buckets;
                    }
                )?

                fn is_due(&self, now: u64) -> bool {
                    false
                        $(|| now >= self.$waits.next_hook())*
                        $(|| Self::TIMERS && now >= self.$timer.next())?
                }

                fn each_apart(
                    &mut self,
                    visit: &mut dyn FnMut(u16, &mut dyn cora_core::state::table::MovingEnds),
                ) {
                    $(visit($hooked, self.$waits.table().moving_ends());)*
                }

                fn run_due(
                    &mut $app,
                    $now: u64,
                    _: &mut cora_core::outbox::Outbox,
                    _: &mut dyn FnMut(&mut cora_core::outbox::Outbox),
                ) $hooks
            )?

            const MERGED: bool = false $(|| $crate::apps::program!(@is_merged $place))*;

            fn each_merged(
                &mut self,
                visit: &mut dyn FnMut(u16, &mut dyn cora_core::state::commutative::Merging),
            ) {
                let mut number = 0;
                $(
                    $crate::apps::program!(@visit $place self.$field, number, visit);
                    number += 1;
                )*
                let _ = (number, visit);
            }

            fn new(
                memory: &mut cora_core::state::Memory,
            ) -> Result<Self, cora_core::state::OutOfMemory> {
                Ok(Self {
                    $($field: $crate::apps::program!(@create $place $state, memory, V),)*
                    $($(
                        $timer: cora_core::timer::Schedule::BEFORE,
                        $own: cora_core::bucket::BucketSet::ALL,
                    )?)?
                    variant: std::marker::PhantomData,
                })
            }

            fn ended(&mut self, tell: &mut dyn FnMut(u16, cora_core::state::table::Ending<'_>)) {
                let _ = &tell;
                $($(self.$ends.tell_ended(&mut |ending| tell($recorded, ending));)*)?
            }
        }

        impl<V: $crate::apps::Variant> cora_core::app::Prefetch for $program<V> {
            fn prefetch_owner(&self, number: u8) {
                let _ = number;
                let _: &[()] = &[$($crate::apps::program!(@owner $place self.$field, prefetch_owner(number))),*];
            }

            fn predicted_owner(&self, number: u8) -> Option<u32> {
                let _ = number;
                let owners: &[Option<u32>] =
                    &[$($crate::apps::program!(@owner $place self.$field, predicted_owner(number))),*];
                owners.iter().copied().find_map(|owner| owner)
            }
        }

        impl<V: $crate::apps::Variant> cora_core::app::Transaction for $program<V> {
            $(const GROUPED: bool = $grouped;)?
            $(const GROUPED: bool = $within;)?
            const ENTERS: bool = Self::GROUPED || <Self as cora_core::app::App>::MARKED;

            fn enter(&mut self, packet: Option<&cora_core::packet::Packet<'_>>) {
                use cora_core::key::PacketKey;
                if const { <Self as cora_core::app::App>::MARKED } {
                    let unmarked = cora_core::bucket::Mark::UNMARKED;
                    let _mark = packet.map_or(unmarked, |packet| packet.meta().mark);
                    $($crate::apps::program!(@mark $place self.$field, _mark);)*
                    return;
                }
                let within = false $(|| $within)?;
                let group = packet.and_then(|packet| <$group>::of_packet(packet).ok());
                let _ = (within, group);
                $($crate::apps::program!(@enter $place self.$field, packet, group, within);)*
            }
        }

        impl<V: $crate::apps::Variant> cora_core::app::Transfer for $program<V> {
            type Group = $group;
            const DURABLE: bool = false $(|| $crate::apps::program!(@durable $place $state))*;
            const KEPT: &'static [usize] = V::KEPT;
            const RESTS_ON: &'static [&'static str] = V::RESTS_ON;
        }

        impl<V: $crate::apps::Variant> cora_core::app::App for $program<V> {
            const NAME: &'static str = $name;
            const PLAN: cora_core::app::PlanFacts = cora_core::app::PlanFacts {
                host_ordered: $ordered,
                stateless_flows: $stateless,
                nic_share: V::SHARE,
                offer_after: V::OFFER_AFTER,
                ..cora_core::app::PlanFacts::by_hand(V::SIDES)
            };
            const BUCKETS_BY: cora_core::bucket::BucketsBy =
                $crate::apps::program!(@buckets $($buckets)?);
            const MARKED: bool =
                !matches!(Self::BUCKETS_BY, cora_core::bucket::BucketsBy::Group);
            const SENDS: bool = false $(|| $sends)?;
            // Handlers read the mark of a frame, which is in its head, too. A copy needs all of it.
            const HEADS: bool = !Self::SENDS;

            fn chain<$reach: cora_core::state::Reach>(
                &mut $self,
                $packet: &mut cora_core::packet::Packet<'_>,
                $crate::apps::program!(@out $($out)?): &mut cora_core::outbox::Outbox,
            ) -> cora_core::verdict::Verdict $chain
        }
    };
    (@buckets) => { cora_core::bucket::BucketsBy::Group };
    (@buckets $buckets:ident) => { cora_core::bucket::BucketsBy::$buckets };
    (@mark travels $of:expr, $mark:expr) => {
        cora_core::state::Home::enter_marked(&mut $of, $mark)
    };
    (@mark divided $of:expr, $mark:expr) => {
        cora_core::state::Home::enter_marked(&mut $of, $mark)
    };
    (@mark $place:ident $of:expr, $mark:expr) => {};
    (@out) => { _ };
    (@out $out:ident) => { $out };
    (@is_merged merged) => { true };
    (@is_merged $place:ident) => { false };
    (@visit merged $of:expr, $number:ident, $visit:ident) => { $visit($number, &mut $of) };
    (@visit $place:ident $of:expr, $number:ident, $visit:ident) => {};
    (@place travels) => { cora_core::state::Place::Travels };
    (@place host) => { cora_core::state::Place::Host };
    (@place divided) => { cora_core::state::Place::Divided };
    (@place merged) => { cora_core::state::Place::Replica };
    (@place replica) => { cora_core::state::Place::Replica };
    (@bytes travels $state:ty) => {
        <cora_core::state::Table<$state> as cora_core::state::Stored>::BYTES
    };
    (@bytes merged $state:ty) => {
        <cora_core::state::commutative::Merged<$state> as cora_core::state::Stored>::BYTES
    };
    (@bytes $place:ident $state:ty) => { <$state as cora_core::state::Stored>::BYTES };
    (@owner travels $of:expr, $method:ident($($number:ident)?)) => {
        cora_core::state::Home::$method(&$of $(, $number)?)
    };
    (@owner $place:ident $of:expr, $method:ident($($number:ident)?)) => { Default::default() };
    (@enter travels $of:expr, $packet:expr, $group:expr, $within:expr) => {
        $of.enter_group($packet, $group, $within)
    };
    (@enter $place:ident $of:expr, $packet:expr, $group:expr, $within:expr) => {};
    (@durable travels $state:ty) => { <$state as cora_core::plain::Plain>::DURABLE };
    (@durable $place:ident $state:ty) => { false };
    (@create travels $state:ty, $memory:ident, $variant:ident) => {
        $crate::apps::wrapped::Wrapped::create::<$variant>($memory)?
    };
    (@create merged $state:ty, $memory:ident, $variant:ident) => {
        <cora_core::state::commutative::Merged<$state> as cora_core::state::Stored>::create($memory)?
    };
    (@create $place:ident $state:ty, $memory:ident, $variant:ident) => {
        <$state as cora_core::state::Stored>::create($memory)?
    };
    (@configured travels $state:ty) => { false };
    (@configured merged $state:ty) => { false };
    (@configured $place:ident $state:ty) => {
        matches!(<$state as cora_core::state::Stored>::KIND, cora_core::state::Kind::ReadMostly)
    };
}
pub(crate) use program;
