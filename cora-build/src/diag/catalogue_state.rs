//! Faults of a state: its item, its arguments, its fields.

use super::catalogue::catalogue;

catalogue! {
    STATE_ENUM = 30 {
        title: "`#[state]` stands on an enum",
        cause: "A state is a struct: reports and comparisons name its fields.",
        cure: "Make it a struct; an enum with `#[derive(Plain)]` may be one of its fields.",
        example: "#[state(singleton)]\nenum Mode { On, Off }",
    }
    STATE_UNION = 31 {
        title: "`#[state]` stands on a union",
        cause: "Nobody can tell which of a union's fields is meant, so it can't be moved or shown.",
        cure: "Make it a struct.",
        example: "#[state(singleton)]\nunion Word { a: u32, b: [u8; 4] }",
    }
    STATE_UNNAMED_FIELDS = 32 {
        title: "a state's fields have no names",
        cause: "Reports and comparisons name the fields.",
        cure: "Write `struct S { field: Type }`; `struct S {}` when there is nothing to remember but the key.",
        example: "#[state(singleton)]\nstruct Next(u16);",
    }
    STATE_ITEM = 33 {
        title: "`#[state]` stands on something other than a type",
        cause: "A state is declared by its type.",
        cure: "Put the attribute on a struct.",
        example: "#[state(singleton)]\nfn next() {}",
    }
    STATE_GENERIC = 34 {
        title: "a state has generic parameters",
        cause: "The plan places each state by name, so there is one of each.",
        cure: "Name the types and numbers.",
        example: "#[state(singleton)]\nstruct Pool<T> { next: T }",
    }
    STATE_LIFETIME = 35 {
        title: "a state has a lifetime",
        cause: "A state is plain data that moves between machines: it borrows nothing.",
        cure: "Keep the value itself.",
        example: "#[state(singleton)]\nstruct Pool<'a> { mark: PhantomData<&'a ()> }",
    }
    STATE_NO_KIND = 36 {
        title: "a state without a kind",
        cause: "The kind decides who may hold the state: the owner of a flow, one side, or both.",
        cure: "Say one of `key = …`, `singleton`, `commutative`, `read_mostly`, `map`, `prefixes`, `acl`.",
        example: "#[state(capacity = 1_000, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    STATE_TWO_KINDS = 37 {
        title: "a state of two kinds",
        cause: "The kind decides who may hold the state, so there is one.",
        cure: "Keep one of `key = …`, `singleton`, `commutative`, `read_mostly`, `map`, `prefixes`, `acl`; split the state when both are meant.",
        example: "#[state(singleton, commutative)]\nstruct Counts { packets: Sum }",
    }
    ARGUMENT_TWICE = 38 {
        title: "an argument is given twice",
        cause: "One of the two would be without effect.",
        cure: "Take one away.",
        example: "#[state(key = FiveTuple, key = SourceAddress, capacity = 10, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    ARGUMENT_UNKNOWN = 39 {
        title: "`#[state]` takes no argument of this name",
        cause: "It takes `key`, `reply`, `capacity`, `idle`, `life`, `idle_by`, `assured_by`, `durable`, `recorded`, `from`, `singleton`, `commutative`, `read_mostly`, `map`, `prefixes` and `acl`.",
        cure: "Use the one that is meant.",
        example: "#[state(key = FiveTuple, capcity = 10, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    ARGUMENT_VALUE = 40 {
        title: "an argument has another sort of value",
        cause: "`key` takes a type, `capacity` a number, `idle` and `life` a duration in quotes, `idle_by` and `assured_by` the path of a function, `from` a type, and the others no value.",
        cure: "Write the value as the argument wants it.",
        example: "#[state(key = \"FiveTuple\", capacity = 10, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    ARGUMENT_SYNTAX = 41 {
        title: "the arguments are not written as a list of `name` and `name = value`",
        cause: "That is how they are read: `#[state(key = FiveTuple, reply, capacity = 1_000, idle = \"5m\")]`.",
        cure: "Separate arguments by commas, and name from value by `=`.",
        example: "#[state(key: FiveTuple, capacity = 10, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    ARGUMENT_OF_KEYED = 42 {
        title: "an argument that only keyed states take, or only durable ones",
        cause: "`reply`, `capacity`, `idle`, `life`, `idle_by` and `assured_by` are about entries, and only a state with a key has entries. `from` is about those that outlive their program.",
        cure: "Take the argument away, or give the state a `key`; beside `from`, say `durable`.",
        example: "#[state(singleton, capacity = 10)]\nstruct Ports { next: u16 }",
    }
    REPLY_WITHOUT_KEY = 43 {
        title: "`reply` without `key`",
        cause: "`reply` says that an entry is also found by the reply direction's key, so there is a key to begin with.",
        cure: "Add `key = FiveTuple`.",
        example: "#[state(reply, capacity = 10, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    REPLY_OF_KEY = 44 {
        title: "`reply` with a key that has no reply of its own",
        cause: "From an address alone the reply direction's key can't be told; and `InsideAddress` is the same in both directions.",
        cure: "Take `reply` away, or use `key = FiveTuple`. With `InsideAddress`, both directions find the entry as it is.",
        example: "#[state(key = SourceAddress, reply, capacity = 10, idle = \"5m\")]\nstruct Seen { packets: u64 }",
    }
    KEY_TYPE = 45 {
        title: "a key that doesn't fit",
        cause: "A key is read from the packet, and both machines hash it alike: it has a fixed width and no pointer.",
        cure: "Use `FiveTuple`, `SourceAddress`, `DestinationAddress`, `InsideAddress` or `MacPair`, or a type of yours that implements `Key`.",
        example: "#[state(key = &str, capacity = 10, idle = \"5m\")]\nstruct Seen { packets: u64 }",
    }
    CAPACITY_MISSING = 46 {
        title: "a keyed state without `capacity`",
        cause: "Tables live in memory that is laid out before the first packet.",
        cure: "Add `capacity = …`: the most entries at a time.",
        example: "#[state(key = FiveTuple, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    CAPACITY_ZERO = 47 {
        title: "`capacity = 0`",
        cause: "A table without room refuses every entry.",
        cure: "Say how many entries it may hold at a time.",
        example: "#[state(key = FiveTuple, capacity = 0, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    CAPACITY_TOO_LARGE = 48 {
        title: "`capacity` above 2^26",
        cause: "Entries are numbered with 26 bits, and a NIC has not the memory for more.",
        cure: "Say at most 67_108_864; a shorter `idle` frees entries sooner.",
        example: "#[state(key = FiveTuple, capacity = 1 << 27, idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    CAPACITY_NUMBER = 49 {
        title: "`capacity` can't be worked out",
        cause: "The plan needs the number before anything is compiled, so no function can stand here, and no constant of another package.",
        cure: "Write whole numbers, constants of this package, and `+ - * / <<` between them: `64 * 1024`, `SESSIONS`, `1 << 20`.",
        example: "#[state(key = FiveTuple, capacity = most(), idle = \"5m\")]\nstruct Session { packets: u64 }",
    }
    IDLE_MISSING = 50 {
        title: "a keyed state without `idle`",
        cause: "Without a time-out the table fills with flows that ended long ago.",
        cure: "Add `idle = \"5m\"`: how long an entry lives unused. Where handlers remove every entry, or each ends after its `life`, write `idle = \"never\"`.",
        example: "#[state(key = FiveTuple, capacity = 10)]\nstruct Session { packets: u64 }",
    }
    IDLE_ZERO = 51 {
        title: "`idle` or `life` is nothing",
        cause: "An entry that lives for no time is gone before the next packet.",
        cure: "Say how long an entry lives unused; with `life`, how long it lives at all.",
        example: "#[state(key = FiveTuple, capacity = 10, idle = \"0s\")]\nstruct Session { packets: u64 }",
    }
    IDLE_UNREADABLE = 52 {
        title: "`idle` or `life` is not a duration",
        cause: "A duration is a whole number with one of the units ns, us, ms, s, m, h, d, or several of these: `1h30m`.",
        cure: "Write it so. An entry that stays however long it is unused has `idle = \"never\"`.",
        example: "#[state(key = FiveTuple, capacity = 10, idle = \"5 minutes\")]\nstruct Session { packets: u64 }",
    }
    IDLE_TOO_LONG = 53 {
        title: "`idle` or `life` is over a year",
        cause: "No connection is silent for so long; the entry would only take room.",
        cure: "Say at most `365d`, or `idle = \"never\"`.",
        example: "#[state(key = FiveTuple, capacity = 10, idle = \"400d\")]\nstruct Session { packets: u64 }",
    }
    FIELD_REFERENCE = 54 {
        title: "a field is a reference",
        cause: "Entries cross between two machines, where an address means nothing.",
        cure: "Keep the value itself, or the key of the entry that it refers to.",
        example: "#[state(singleton)]\nstruct Pool { name: &'static str }",
    }
    FIELD_RAW_POINTER = 55 {
        title: "a field is a raw pointer",
        cause: "Entries cross between two machines, where an address means nothing.",
        cure: "Keep the value itself, or the key of the entry that it points to.",
        example: "#[state(singleton)]\nstruct Pool { next: *const u8 }",
    }
    FIELD_HEAP = 56 {
        title: "a field lives on the heap",
        cause: "Entries are plain data of fixed width; the NIC side has no heap.",
        cure: "Use an array of fixed length and a count, or a keyed state with an entry per item.",
        example: "#[state(singleton)]\nstruct Pool { free: Vec<u16> }",
    }
    FIELD_POINTER_SIZED = 57 {
        title: "a field is `usize` or `isize`",
        cause: "Its width is the machine's, and entries cross between two machines.",
        cure: "Use `u32` or `u64`, `i32` or `i64`.",
        example: "#[state(singleton)]\nstruct Pool { next: usize }",
    }
    FIELD_FLOAT = 58 {
        title: "a field is a floating-point number",
        cause: "Sums of floats depend on the order of the terms, and results must not depend on the plan.",
        cure: "Count in whole units: nanoseconds, bytes, or a fixed-point `u64`.",
        example: "#[state(singleton)]\nstruct Meter { rate: f64 }",
    }
    FIELD_DYN = 59 {
        title: "a field is a trait object",
        cause: "Which code it runs is an address, and that means nothing on the other machine.",
        cure: "Keep an enum with `#[derive(Plain)]` and `match` on it.",
        example: "#[state(singleton)]\nstruct Pool { policy: dyn Policy }",
    }
    FIELD_FN_POINTER = 60 {
        title: "a field is a function pointer",
        cause: "An address of code means nothing on the other machine.",
        cure: "Keep an enum with `#[derive(Plain)]` and `match` on it.",
        example: "#[state(singleton)]\nstruct Pool { policy: fn(u8) -> bool }",
    }
    FIELD_OPTION = 61 {
        title: "a field is an `Option` or `Result`",
        cause: "How they are laid out is the compiler's affair, so they have no encoding that both machines share.",
        cure: "Use a flag beside the value, a value that means none, or an enum with `#[derive(Plain)]`.",
        example: "#[state(singleton)]\nstruct Pool { last: Option<u16> }",
    }
    FIELD_TUPLE = 62 {
        title: "a field is a tuple",
        cause: "Reports and comparisons show fields by name, and the parts of a tuple have no names.",
        cure: "Use a field for each part, or a struct with `#[derive(Plain)]`.",
        example: "#[state(singleton)]\nstruct Pool { range: (u16, u16) }",
    }
    FIELD_TEXT = 63 {
        title: "a field is text",
        cause: "`char` and `str` hold text for people; entries hold data of packets.",
        cure: "Use `u8` or `u32`, or an array of bytes of fixed length.",
        example: "#[state(singleton)]\nstruct Pool { letter: char }",
    }
    FIELD_CELL = 64 {
        title: "a field changes behind a shared reference",
        cause: "Writes of a handler must be seen, so that they can be rolled back: cells, locks and atomics hide them.",
        cure: "Use the plain value, and take the state as `&mut`.",
        example: "#[state(singleton)]\nstruct Pool { next: Cell<u16> }",
    }
    FIELD_TABLE = 65 {
        title: "a field is a table",
        cause: "A table is a state of its own: the plan places it, and its entries move one by one.",
        cure: "Take `&mut Table<S>` as a parameter of the handler.",
        example: "#[state(singleton)]\nstruct Pool { sessions: Table<Session> }",
    }
    FIELD_CFG = 66 {
        title: "a field depends on `cfg`",
        cause: "Both sides must lay out a state alike, and they are compiled for different machines.",
        cure: "Take the attribute away: let the field be there always.",
        example: "#[state(singleton)]\nstruct Pool { #[cfg(unix)] next: u16 }",
    }
    FIELD_OF_COMMUTATIVE = 67 {
        title: "a replicated counter or sketch in a state that is not commutative",
        cause: "`Sum`, `Max`, `CountMin`, `TopK` and `Latest` are for states of which both sides hold a replica.",
        cure: "Use an integer, or move the field to a `#[state(commutative)]`.",
        example: "#[state(singleton)]\nstruct Pool { packets: Sum }",
    }
    FIELD_NOT_COMMUTATIVE = 68 {
        title: "a field of a commutative state that can't be merged",
        cause: "Each side updates its own replica, and of two plain values nobody can tell which is right.",
        cure: "Use `Sum` for totals, `Max` for the largest seen, `CountMin` or `TopK` for a sketch, `Latest` for the last value of a key; or make the state a `singleton`.",
        example: "#[state(commutative)]\nstruct Counts { packets: u64 }",
    }
    STATE_REPR = 69 {
        title: "a state has a `#[repr]`",
        cause: "States are written field by field, so their layout in memory is nobody's business but the compiler's.",
        cure: "Take the attribute away.",
        example: "#[state(singleton)]\n#[repr(packed)]\nstruct Pool { next: u16 }",
    }
    STATE_TWICE_ON_ITEM = 70 {
        title: "`#[state]` stands twice on one type",
        cause: "A type is one state of one kind.",
        cure: "Take one away, or split the type.",
        example: "#[state(singleton)]\n#[state(commutative)]\nstruct Pool { next: u16 }",
    }
    STATE_DERIVES_PLAIN = 71 {
        title: "a state derives `Plain`",
        cause: "`#[state]` implies it.",
        cure: "Take `Plain` out of the `derive`.",
        example: "#[state(singleton)]\n#[derive(Plain)]\nstruct Pool { next: u16 }",
    }
    DURABLE_KIND = 72 {
        title: "`durable` on a commutative or read-mostly state",
        cause: "Copies are kept of entries and of singletons when a packet has changed them. A commutative state's replicas change without being told, and a read-mostly state is made anew from its configuration.",
        cure: "Take `durable` away, or give the state a `key`.",
        example: "#[state(commutative, durable)]\nstruct Counts { packets: Sum }",
    }
    WITHIN_ITSELF = 73 {
        title: "a key within itself",
        cause: "`within` names a coarser key: all flows of one tenant, say, share the tenant. Entries that are found by that key itself are its own already.",
        cure: "Take `within` away, or name the coarser key there.",
        example: "#[state(key = Tenant, within = Tenant, capacity = 1_000, idle = \"5m\")]\nstruct Quota { bytes: u64 }",
    }
    OUTBOX_PARAMETER = 74 {
        title: "an outbox that is taken twice, or not by `&mut`",
        cause: "A handler has one outbox, and puts the packets into it that it sends besides its own.",
        cure: "Take it once, as `out: &mut Outbox`.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, out: &Outbox) -> Verdict { Transmit }",
    }
    MAP_WITHOUT_KEY = 75 {
        title: "a map that does not say what its rows are found by",
        cause: "A `map` has a row per key. `prefixes` are found by an address, and an `acl` by a flow, so they have none.",
        cure: "Add `key = SourceAddress`, `key = FiveTuple` or a key of your own; or say `prefixes` or `acl`.",
        example: "#[state(map, capacity = 1_000)]\nstruct Subscriber { rate: u32 }",
    }
    HOOK_IDLE = 76 {
        title: "entries with a hook that live less than two seconds",
        cause: "A hook runs one second after its entry's end, and in the order of the ends under every plan. There is room for the entries that end meanwhile if all of them lived at one moment.",
        cure: "Write `idle = \"2s\"` or more, and `life` likewise, or take `on_expire` away. Shorter times that `idle_by` gives count as two seconds.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"500ms\", on_expire)]\nstruct Probe { sent: u64 }",
    }
    HOOK_EVICTS = 77 {
        title: "`on_expire` together with `assured_by`",
        cause: "Which entry makes room in a full table depends on what is there, so the hook's time would depend on the plan.",
        cure: "Take one of them away.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\", assured_by = Self::is_answered, on_expire)]\nstruct Session { answered: bool }",
    }
    HOOK_FIRST_PARAMETER = 78 {
        title: "a hook that does not begin with the entry that expired",
        cause: "A hook runs once for each entry of a state that expires, and gets its key, its last value, and the time of its end.",
        cure: "Begin its parameters with `ended: &Ended<S>`.",
        example: "#[on_expire]\nfn give_back(session: Session, pool: &mut Pool) {}",
    }
    HOOK_PARAMETER = 79 {
        title: "a hook or a timer that takes a table",
        cause: "It runs where the singletons are, and without a packet, whose flow would say which entries are there.",
        cure: "Take singletons, commutative states, configuration and an outbox alone.",
        example: "#[on_expire]\nfn forget(ended: &Ended<Session>, quotas: &mut Table<Quota>) {}",
    }
    PLAIN_ITEM = 80 {
        title: "`#[derive(Plain)]` on a union",
        cause: "Nobody can tell which of its fields a value means, so it has no encoding.",
        cure: "Use an enum, whose variants may hold fields.",
        example: "#[derive(Clone, Copy, Plain)]\nunion Amount { packets: u32, bytes: u64 }",
    }
    PLAIN_GENERIC = 81 {
        title: "`#[derive(Plain)]` on a type with generic parameters",
        cause: "The width of the encoding must be known from the type alone.",
        cure: "Name the types and numbers.",
        example: "#[derive(Clone, Copy, Plain)]\nstruct Pair<T> { a: T, b: T }",
    }
    PLAIN_DISCRIMINANT = 82 {
        title: "a variant's number doesn't fit a byte",
        cause: "`#[derive(Plain)]` encodes the variant of an enum as one byte.",
        cure: "Number the variants from 0 to 255, with whole numbers written out, or leave the numbers away.",
        example: "#[derive(Clone, Copy, Plain)]\nenum Mode { On = 256 }",
    }
    PLAIN_EMPTY_ENUM = 83 {
        title: "`#[derive(Plain)]` on an enum without variants",
        cause: "It has no value to encode.",
        cure: "Give it a variant.",
        example: "#[derive(Clone, Copy, Plain)]\nenum Never {}",
    }
    KEY_ITEM = 84 {
        title: "`#[derive(Key)]` on something other than a plain struct",
        cause: "A key is told apart by the encoding of its fields, which have one width.",
        cure: "Put the derive on a struct without generic parameters.",
        example: "#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]\nenum Zone { Office, Guests }",
    }
    KEY_ARGUMENT = 85 {
        title: "`#[key(…)]` with an unknown argument",
        cause: "It says which key packets of the reply direction carry, and whether a file's columns are those of the fields.",
        cure: "Write `#[key(undirected)]` or `#[key(reply = Self::reversed)]`, or leave it away if the reply direction's key can't be told. Beside either, or alone, `no_columns` leaves `FromColumns` to you.",
        example: "#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]\n#[key(both)]\nstruct Tenant { number: u32 }",
    }
    HOOK_RETURN = 86 {
        title: "a hook or a timer that returns something",
        cause: "No packet waits for a verdict.",
        cure: "Take the return type away.",
        example: "#[on_expire]\nfn give_back(ended: &Ended<Session>, pool: &mut Pool) -> Verdict { Transmit }",
    }
    TIMER_PERIOD = 87 {
        title: "`#[every]` without a period, or with one that can't be",
        cause: "A timer runs at the multiples of its period, from ten times a second to once a year.",
        cure: "Write a duration in quotes, such as `#[every(\"1s\")]`.",
        example: "#[every(5)]\nfn probe(tick: &Tick, health: &mut Health) {}",
    }
    TIMER_FIRST_PARAMETER = 88 {
        title: "a timer that does not begin with its tick",
        cause: "A timer runs once for each of its ticks, and the tick says its time.",
        cure: "Begin its parameters with `tick: &Tick`.",
        example: "#[every(\"5s\")]\nfn probe(health: &mut Health) {}",
    }
    MERGED_KIND = 89 {
        title: "`merged` on a state that is not commutative",
        cause: "Of a commutative state each side updates its own replica, and `merged` lets handlers read the merge of \
                both. A state of another kind has no replicas, and handlers read it as it is.",
        cure: "Take `merged` away, or make the state `commutative`.",
        example: "#[state(singleton, merged)]\n#[derive(Default)]\nstruct Total { packets: u64 }",
    }
    BUCKET_OF_KEY = 90 {
        title: "`bucket` on entries whose packets have no such port in both directions",
        cause: "It says that the port at one end decides the bucket of a packet, and packets and their replies must be of \
                one bucket: so the key has ports, and replies find the entry.",
        cure: "Use `key = FiveTuple` with `reply`, or take `bucket` away: then a hash of the key decides.",
        example: "#[state(key = SourceAddress, capacity = 1_000, idle = \"5m\", bucket = InsidePort)]\nstruct Client { packets: u64 }",
    }
    HOOK_NEVER = 91 {
        title: "`on_expire` on entries that never expire",
        cause: "A hook runs when an entry ends by itself: after its idle time, or when its life is over. With `idle = \"never\"` alone \
                entries end when a handler removes them, and that has them in hand.",
        cure: "Give `idle` a time, add `life` or `idle_by`, or take `on_expire` away.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"never\", on_expire)]\nstruct Lease { port: u16 }",
    }
    LIFE_NEVER = 92 {
        title: "`life` that never ends",
        cause: "`life` says how long after its insertion an entry ends at the latest.",
        cure: "Take `life` away. `idle = \"never\"` is for entries that stay however long they are unused.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\", life = \"never\")]\nstruct Session { packets: u64 }",
    }
    IDLE_BEYOND_LIFE = 93 {
        title: "`idle` that is no shorter than `life`",
        cause: "An entry is used from its insertion on, so it never is unused for longer than it lives: `life` alone decides.",
        cure: "Write `idle = \"never\"`, or a time shorter than `life`.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\", life = \"1s\")]\nstruct Answer { code: u16 }",
    }
    OBJECTS_ARGUMENT = 94 {
        title: "a state with `objects` whose arguments don't fit",
        cause: "Objects are things of variable length. They belong to a flow and are found by their ids, so they have no key; \
                and the memory for all of them is reserved before the first packet.",
        cure: "Write `#[state(objects, bytes = \"32 MiB\", capacity = 1_000, idle = \"1h\")]`: memory at each side (from 1 MiB to \
               1 GiB), flows that may have objects, and how long a flow's objects stay unused.",
        example: "#[state(objects, key = u64, bytes = \"32 MiB\", capacity = 1_000, idle = \"1h\")]\nstruct Node { next: Id<Node> }",
    }
}
