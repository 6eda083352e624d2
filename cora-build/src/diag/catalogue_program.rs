//! Faults of a whole program, `CORA0100` and up, which only a build script can detect.

use super::catalogue::catalogue;

catalogue! {
    STATE_TWICE = 100 {
        title: "two states of one name",
        cause: "Plans, reports and configuration name a state by its type's name alone, whatever crate it is of.",
        cure: "Rename one of them.",
        example: "mod a { #[state(singleton)] pub struct Pool { next: u16 } }\nmod b { #[state(singleton)] pub struct Pool { next: u16 } }",
    }
    HANDLER_NAMED_TWICE = 101 {
        title: "two handlers of one name",
        cause: "Graph and reports name a handler by its function's name alone, whatever crate it is of.",
        cure: "Rename one of them.",
        example: "mod a { #[flow_handler] pub fn nat(packet: &mut Packet) -> Verdict { Pass } }\nmod b { #[flow_handler] pub fn nat(packet: &mut Packet) -> Verdict { Drop(NotAllowed) } }",
    }
    STATE_NOT_DECLARED = 102 {
        title: "a handler takes a state that the program does not declare",
        cause: "The plan gives every state a place, so each one is declared by `#[state]` in the program.",
        cure: "Correct the name, or put `#[state(…)]` on the type.",
        example: "#[flow_handler]\nfn nat(packet: &mut Packet, sesions: &mut Table<Sesion>) -> Verdict { Pass }",
    }
    STATE_BORROWED_OTHERWISE = 103 {
        title: "a state is borrowed in another way than its kind wants",
        cause: "A keyed state is reached through its table; a read-mostly one is written by the control plane alone.",
        cure: "Take `&mut Table<S>` for a keyed state, `&mut S` for a singleton or commutative one, `&S` for a read-mostly one.",
        example: "#[state(read_mostly)]\nstruct Backends { live: u32 }\n#[flow_handler]\nfn balance(packet: &mut Packet, backends: &mut Backends) -> Verdict { Pass }",
    }
    APP_MISSING = 104 {
        title: "the program has no `cora::app!`",
        cause: "It says which handlers run, in which order, and makes the entry point.",
        cure: "Write `cora::app!(handler);` in the root of the crate.",
        example: "#[flow_handler]\nfn nat(packet: &mut Packet) -> Verdict { Pass }",
    }
    APP_TWICE = 105 {
        title: "a second `cora::app!`",
        cause: "A program has one entry point, so one chain of handlers.",
        cure: "Name all handlers in one: `cora::app!(first, second);`.",
        example: "cora::app!(nat);\ncora::app!(firewall);",
    }
    APP_HANDLER_UNKNOWN = 106 {
        title: "`app!` names a handler that there is not",
        cause: "It takes functions with `#[flow_handler]`, each by the path of the module that declares it.",
        cure: "Correct the name or path, or put `#[flow_handler]` on the function.",
        example: "#[flow_handler]\nfn firewall(packet: &mut Packet) -> Verdict { Pass }\ncora::app!(fierwall);",
    }
    APP_ARGUMENTS = 107 {
        title: "`app!` takes the paths of handlers",
        cause: "The chain is the list of its handlers, in the order in which a packet from inside meets them.",
        cure: "Write `cora::app!(first, second);` with at least one.",
        example: "cora::app!();",
    }
    APP_HANDLER_TWICE = 108 {
        title: "a handler stands twice in the chain",
        cause: "Graph and reports name a handler once, so both uses would be counted together.",
        cure: "Take one away, or make a second handler that calls the same helper.",
        example: "cora::app!(meter, nat, meter);",
    }
    APP_IN_MODULE = 109 {
        title: "`app!` stands in a module",
        cause: "It makes the program's `main`, which stands in the root of the crate.",
        cure: "Move it to `src/main.rs`, outside any module and function.",
        example: "mod nf {\n    cora::app!(nat);\n}",
    }
    HANDLER_UNUSED = 110 {
        title: "a handler that no chain names (warning)",
        cause: "Nothing calls it, so no packet meets it.",
        cure: "Add it to `app!`, or take the attribute away.",
        example: "#[flow_handler]\nfn nat(packet: &mut Packet) -> Verdict { Pass }\n#[flow_handler]\nfn forgotten(packet: &mut Packet) -> Verdict { Pass }\ncora::app!(nat);",
    }
    STATE_UNUSED = 111 {
        title: "a state that no handler of the chain takes (warning)",
        cause: "It gets no place and no memory.",
        cure: "Take it as a parameter, or take the attribute away.",
        example: "#[state(singleton)]\nstruct Forgotten { next: u16 }\n#[flow_handler]\nfn nat(packet: &mut Packet) -> Verdict { Pass }\ncora::app!(nat);",
    }
    HANDLER_HIDDEN = 112 {
        title: "a handler that the root of the crate can't name",
        cause: "`app!` calls it from the root of the crate.",
        cure: "Make it `pub`, and its module too where that stands in another one. In another crate, every module around it is `pub`.",
        example: "mod nf {\n    #[flow_handler]\n    fn nat(packet: &mut Packet) -> Verdict { Pass }\n}\ncora::app!(nf::nat);",
    }
    MADE_BY_MACRO = 113 {
        title: "a state or handler made by a macro",
        cause: "The plan is made from the source as it is written; the output of a macro can't be seen there.",
        cure: "Write the item out.",
        example: "macro_rules! handler {\n    ($name:ident) => {\n        #[flow_handler]\n        fn $name(packet: &mut Packet) -> Verdict { Pass }\n    };\n}\nhandler!(nat);",
    }
    CONDITIONAL_ATTRIBUTE = 114 {
        title: "`#[state]` or `#[flow_handler]` within `#[cfg_attr]`",
        cause: "An item that is sometimes a state and sometimes not has no place in the graph.",
        cure: "Make two items, each under its `#[cfg]`.",
        example: "#[cfg_attr(feature = \"nat\", flow_handler)]\nfn nat(packet: &mut Packet) -> Verdict { Pass }",
    }
    DIFFERS_BY_SIDE = 115 {
        title: "a state or handler that only one of the two halves would have",
        cause: "NIC and host run the same program; under this condition their graphs would differ.",
        cure: "Take the condition away; the plan says where things run.",
        example: "#[cfg(target_os = \"linux\")]\n#[flow_handler]\nfn nat(packet: &mut Packet) -> Verdict { Pass }",
    }
    UNDETERMINED = 116 {
        title: "a condition that the build script can't decide (warning)",
        cause: "Cargo tells build scripts the features and the target, and nothing about other conditions.",
        cure: "Use a feature. As it is, the item counts as present.",
        example: "#[cfg(experiment)]\n#[flow_handler]\nfn nat(packet: &mut Packet) -> Verdict { Pass }",
    }
    NOT_IN_MODULE = 117 {
        title: "a state or handler within a function or an impl",
        cause: "The program is put together in the root of the crate, which can't name it there.",
        cure: "Move it to a module.",
        example: "fn helper() {\n    #[state(singleton)]\n    struct Pool { next: u16 }\n}",
    }
    STATIC_REACHED = 118 {
        title: "a handler reaches a static that can change",
        cause: "Each half would have its own copy, no punt would roll it back, and the result would depend on the plan.",
        cure: "Make it a state: `#[state(singleton)]`, or `#[state(commutative)]` for counters.",
        example: "static SEEN: AtomicU64 = AtomicU64::new(0);\n#[flow_handler]\nfn meter(packet: &mut Packet) -> Verdict {\n    SEEN.fetch_add(1, Relaxed);\n    Transmit\n}",
    }
    OPAQUE_ACCESS = 119 {
        title: "an access that can't be seen (warning)",
        cause: "The state is handed to code that is not read here, so the worst is taken: all that the borrow allows.",
        cure: "Call the state's own methods in the handler, or live with the warning: the result is right either way.",
        example: "#[flow_handler]\nfn nat(packet: &mut Packet, ports: &mut PortPool) -> Verdict {\n    elsewhere::take(ports)\n}",
    }
    STATEMENT_REFUSED = 120 {
        title: "`cora.toml` has an unknown key or a wrong value",
        cause: "An entry without effect would give another plan than the one that was meant.",
        cure: "Correct the line.",
        example: "[plan]\nuse = \"splitt\"",
    }
    PLAN_REFUSED = 121 {
        title: "the stated plan can't be",
        cause: "Every state has a rule of who may hold it, and the entries that one packet touches have one owner.",
        cure: "State another place; without `cora.toml` every state gets the place that follows from its kind.",
        example: "[plan.places]\nPortPool = \"nic\"",
    }
    PLAN_NOT_FOUND = 122 {
        title: "no plan of that name, and no file",
        cause: "`CORA_PLAN` (or `--plan`) is `best`, `host-only`, `nic-only`, `split`, `dealt`, or the path of a TOML file.",
        cure: "Correct the name, or give the path from the package's directory.",
        example: "CORA_PLAN=hostonly cargo build",
    }
    NIC_TARGET_MISSING = 123 {
        title: "the NIC target is not installed",
        cause: "With `--features nic` the NIC half is built for `aarch64-unknown-none`; rustup installs the core library of that target.",
        cure: "Run `rustup target add aarch64-unknown-none`; or set `CORA_SKIP_NIC=1` to build the host half alone.",
        example: "cargo build --features nic",
    }
    NIC_BUILD_FAILED = 124 {
        title: "the NIC half does not build",
        cause: "The same source is compiled for the NIC, without `std`; the compiler's errors stand above.",
        cure: "Correct them: use `core` in handlers and helpers, and put host-only code under `#[host_only]`.",
        example: "fn helper() { std::fs::remove_file(\"a\"); }",
    }
    TOO_MANY_PATHS = 125 {
        title: "more paths than the plan tells apart (warning)",
        cause: "A handler may have 64 paths that differ in their accesses to states. With more, those that touch the same states and end alike are taken as one that may do all of it: the plan is right, but coarser.",
        cure: "Split the handler into several that the app chains, or take its branches together before it touches a state.",
        example: "#[flow_handler]\nfn audit(packet: &mut Packet, a: &mut Table<A>, b: &mut Table<B>) -> Verdict {\n    if one(packet) { a.get(&1); }\n    if two(packet) { b.get(&1); }\n    if three(packet) { a.get(&2); }\n    // … and so on: each condition doubles the paths.\n    Transmit\n}",
    }
    PROFILE_REFUSED = 126 {
        title: "a NIC or traffic profile that is not there, or says something wrong",
        cause: "A plan for another NIC than the one that was meant would be worse than none, so nothing in a profile is passed over.",
        cure: "Correct the name or the line; `nics/README.md` and `docs/traffic.md` say what profiles hold.",
        example: "[plan]\nnic = \"bluefeld2\"",
    }
    OUT_OF_REACH = 127 {
        title: "no plan meets the request",
        cause: "Under the NIC profile, something runs out at that rate whatever the plan.",
        cure: "Ask for the rate that the message names, or less.",
        example: "[plan]\nmpps = 10_000",
    }
    MEASUREMENT_OLD = 128 {
        title: "a measurement that is left aside (warning)",
        cause: "`cora.measured.json` tells ways through a program that is not this one any more.",
        cure: "Run `cargo cora measure` again, or remove the file: the plan is then made from estimates.",
        example: "cora.measured.json: { \"schema\": 1, \"graph\": \"0000000000000000\", … }",
    }
    STD_AT_THE_NIC = 129 {
        title: "the root of the crate does not leave `std` out at the NIC",
        cause: "The NIC half is the same source, compiled for a machine without an operating system: it has `core` alone, and a `main` of Cora's.",
        cure: "Begin the root with `#![cfg_attr(all(feature = \"nic\", target_os = \"none\"), no_std, no_main)]`.",
        example: "use cora::prelude::*;\n// … and no `#![cfg_attr(…)]` above it\ncora::app!(nat);",
    }    NESTED_TOO_DEEP = 130 {
        title: "source that nests too deep to be read",
        cause: "The reader goes down one call per level, and its stack has an end: some 60 blocks, 120 pairs of brackets or 500 steps of an expression may be within each other.",
        cure: "Move inner parts to functions, types or constants of their own.",
        example: "fn f() { ((((((((((/* and 190 more */)))))))))) }",
    }
    VALUE_TOO_LARGE = 131 {
        title: "a state of one value that is too large",
        cause: "A singleton, a read-mostly or a commutative state has at most 67,108,864 bytes (64 MiB): each side holds it whole, and a new version crosses whole.",
        cure: "Make its arrays shorter, or make it a table with a `key`, which has an entry per key.",
        example: "#[state(read_mostly)]\nstruct Subscribers { all: [u128; 5_000_000] }",
    }    STD_USED = 132 {
        title: "`std` in code that is compiled for the NIC, too",
        cause: "The NIC half has no operating system and no heap: handlers, the functions that they call, states and all other code without `#[host_only]` use `core`. A build of the host half alone would not notice.",
        cure: "Use what `core` has, arrays and states; `packet.now()` is the clock. Put `#[host_only]` on `impl Configure` and on what it alone calls: there `Vec`, `String` and all of `std` may be used.",
        example: "impl Configure for Rules {\n    fn configure(text: &str) -> Result<Self, &'static str> {\n        let lines: Vec<&str> = text.lines().collect();\n        Self::of(&lines)\n    }\n}",
    }
    HOST_ONLY_REACHED = 133 {
        title: "code for both halves uses what `#[host_only]` leaves out",
        cause: "The NIC half is built without that item.",
        cure: "Put `#[host_only]` on the code that uses it as well, or take the mark away.",
        example: "#[host_only]\nfn lookup() -> u16 { 80 }\n#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { Redirect(Port(lookup() as u8)) }",
    }
    DURABLE_RESTS = 134 {
        title: "durable entries rest on a state that is not durable",
        cause: "The host half holds the state, and it is gone when that dies; the entries would live on by their copies. A session whose port pool is gone would get the packets of whoever leases its port next.",
        cure: "Say `durable` of the state, too, or take it from the entries: then they end when the host half dies.",
        example: "#[state(key = FiveTuple, reply, capacity = 1_000, idle = \"5m\", durable)]\nstruct Session { port: u16 }\n\n#[state(singleton)]\nstruct Pool { next: u16 }\n\n#[flow_handler]\nfn nat(packet: &mut Packet, sessions: &mut Table<Session>, pool: &mut Pool) -> Verdict {\n    pool.next += 1;\n    sessions.insert(packet.five_tuple()?, Session { port: pool.next })?;\n    Transmit\n}",
    }
    KEY_TOO_LONG = 135 {
        title: "a key of more than 39 bytes",
        cause: "A key crosses between the sides and is hashed as five words of eight bytes, of which one byte is Cora's.",
        cure: "Leave out what the rest implies, or keep a hash of the longest field: `sip_hash` makes one. `Bytes<N>` \
               as a key by itself has at most 38 bytes and its length.",
        example: "#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain, Key)]\nstruct Name { text: [u8; 64] }",
    }
    CRATE_UNKNOWN = 136 {
        title: "`app!` names a crate that the program does not depend on",
        cause: "The first word of a handler's path is a module of the program, or a crate under `[dependencies]` in its manifest.",
        cure: "Correct the name, or add the dependency.",
        example: "// Cargo.toml: no `nat` under `[dependencies]`\ncora::app!(nat::nat);",
    }
    CRATE_WITHOUT_LIBRARY = 137 {
        title: "`app!` names a package that has no library",
        cause: "Handlers of another package are those of its library; a program alone can't be used by another one.",
        cure: "Move its handlers and states from `src/main.rs` to `src/lib.rs`, and leave `cora::app!(its_name::handler);` in `src/main.rs`.",
        example: "// nat has a `src/main.rs`, and no `src/lib.rs`\ncora::app!(nat::nat);",
    }
    CRATE_NOT_FOUND = 138 {
        title: "Cargo does not say where the source of a crate is",
        cause: "The build script reads the handlers of other crates, too, and asks `cargo metadata --offline` where they are.",
        cure: "Run `cargo fetch`, which downloads what the workspace depends on, and build again.",
        example: "// Cargo.toml: nat = { git = \"https://github.com/someone/nat\" }\ncora::app!(nat::nat);",
    }
    STATE_PRIVATE = 139 {
        title: "a private state of a handler that another crate's program uses",
        cause: "The program holds the states of all its handlers, so it must be able to use their types.",
        cure: "Make the state `pub`. Its fields and methods may stay private, and so may the module around it.",
        example: "// nat/src/lib.rs\n#[state(singleton)]\nstruct Pool { next: u16 }\n#[flow_handler]\npub fn nat(packet: &mut Packet, pool: &mut Pool) -> Verdict { Pass }\n\n// edge/src/main.rs\ncora::app!(nat::nat);",
    }
    ROW_TOO_LARGE = 140 {
        title: "a row of a configured table that is too long",
        cause: "A version crosses to the other side in pieces of whole rows, and a piece has 2,048 bytes.",
        cure: "Make the row's arrays shorter, or keep a number there that leads to a row of another `map`.",
        example: "#[state(map, key = SourceAddress, capacity = 1_000)]\nstruct Page { text: [u8; 4096] }",
    }
    HOOK_MISSING = 141 {
        title: "`on_expire` without a hook",
        cause: "The state says that something happens when its entries expire, and no function says what.",
        cure: "Write `#[on_expire] fn name(ended: &Ended<S>, …) { … }`, or take `on_expire` away.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\", on_expire)]\nstruct Session { port: u16 }",
    }
    HOOK_UNDECLARED = 142 {
        title: "a hook of a state that does not say `on_expire`",
        cause: "A table keeps its expired entries for their hooks only if its state says so.",
        cure: "Add `on_expire` to the state.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\")]\nstruct Session { port: u16 }\n\n#[on_expire]\nfn give_back(ended: &Ended<Session>, pool: &mut Pool) { pool.give(ended.entry.port); }",
    }
    HOOK_TWICE = 143 {
        title: "a second hook for the entries of one state",
        cause: "A hook runs once for each entry, so what it gives back is given back once.",
        cure: "Do both in one function.",
        example: "#[on_expire]\nfn give_back(ended: &Ended<Session>, pool: &mut Pool) {}\n\n#[on_expire]\nfn count(ended: &Ended<Session>, ends: &mut Ends) {}",
    }
    HOOK_NOT_DURABLE = 144 {
        title: "a hook changes a singleton, and the entries are not durable",
        cause: "The NIC may die with entries. Without copies nobody could say that they ended, and what they hold of the singleton would never come back.",
        cure: "Add `durable` to the state with the entries.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5m\", on_expire)]\nstruct Session { port: u16 }\n\n#[on_expire]\nfn give_back(ended: &Ended<Session>, pool: &mut Pool) { pool.give(ended.entry.port); }",
    }
    REPLICA_READ = 145 {
        title: "a handler reads one side's replica of a commutative state (warning)",
        cause: "Each side has a replica with the packets that it handled itself, and the plan decides which those are. So \
                the handler would judge a packet otherwise under another plan.",
        cure: "Say `#[state(commutative, merged)]`, take `&mut Merged<S>`, and read `.merged()`: the updates of both sides, \
               as of the last merge.",
        example: "#[state(commutative)]\nstruct Seen { sources: CountMin<4, 1024> }\n\n#[flow_handler]\nfn limit(packet: &mut \
                  Headers, seen: &mut Seen) -> Verdict {\n    let source = SourceAddress(packet.source()?);\n    \
                  seen.sources.add(&source, 1);\n    if seen.sources.estimate(&source) > 100 { return Drop(NotAllowed) }\n    \
                  Transmit\n}",
    }
    MERGED_TOO_LARGE = 146 {
        title: "states that are read merged have more than 1 MiB together",
        cause: "Each merge sends them whole, ten times a second and in both directions, to every shard, and packets wait for it.",
        cure: "Make them smaller: fewer columns of a sketch, fewer counters. What no handler reads stands in another state, \
               without `merged`.",
        example: "#[state(commutative, merged)]\nstruct Seen { sources: CountMin<4, 65_536> }",
    }
    REPLY_LEAVES_BUCKET = 147 {
        title: "a reply key that may be of another bucket than its packet",
        cause: "Packets are steered by bucket, and each bucket is at one shard. A reply that is steered to another shard \
                would find neither its entry nor the bucket's values.",
        cure: "A NAT answers at a port of the packet's bucket: keep the free ports in a state with `per = Bucket`, take one by \
               `bucket.port(first, nth)`, and write `insert_answered(flow, flow.answered_to(address, port), …)`. A balancer \
               keeps both ports: `insert_answered_by(flow, backend, …)`.",
        example: "#[state(key = FiveTuple, reply, capacity = 1_000, idle = \"5m\")]\nstruct Session { port: u16 }\n\n#[state(per = \
                  Bucket)]\nstruct Pool { next: u16 }\n\n#[flow_handler]\nfn nat(packet: &mut Headers, sessions: &mut \
                  Table<Session>, pool: &mut Pool) -> Verdict {\n    let flow = packet.flow()?;\n    let answer = FiveTuple { \
                  destination_port: pool.next, ..flow.reversed() };\n    sessions.insert_with_reply(flow, answer, Session { port: \
                  pool.next })?;\n    Transmit\n}",
    }
    BUCKET_TWO_ENDS = 148 {
        title: "two states whose packets go by the ports of different ends",
        cause: "A packet is of one bucket in the whole program, and the port of one end decides which.",
        cure: "Name the end where connections are opened in both, or make two programs.",
        example: "#[state(key = FiveTuple, reply, capacity = 1_000, idle = \"5m\", bucket = InsidePort)]\nstruct Session { port: u16 \
                  }\n\n#[state(key = FiveTuple, reply, capacity = 1_000, idle = \"5m\", bucket = OutsidePort)]\nstruct Visit { port: u16 }",
    }
    NO_BUCKET = 149 {
        title: "a hook takes a value per bucket, and nothing says of which bucket",
        cause: "A hook reaches the value of the bucket that its entry's packets were of, which an entry tells where a port \
                decides buckets.",
        cure: "Add `bucket = …` to the state of the hook, or do that work in a timer, which runs for every bucket.",
        example: "#[state(key = FiveTuple, capacity = 1_000, idle = \"5s\", durable, on_expire)]\nstruct Probe { sent: u16 }\n\n\
                  #[state(per = Bucket, durable)]\nstruct Pool { free: u16 }\n\n#[on_expire]\nfn refill(probe: &Ended<Probe>, \
                  pool: &mut Pool) { pool.free += probe.entry.sent; }",
    }
    OBJECTS_WITHOUT_FLOW = 150 {
        title: "a handler takes objects, and runs for no flow of messages",
        cause: "Objects belong to the flow of the message whose handler inserts them. A packet, or a message without a key, \
                has none that they could belong to.",
        cure: "Take a message with a key, and send that from a handler of packets; or keep the data in a `#[state(key = …)]`.",
        example: "#[message(udp)]\nstruct Ask { row: u64 }\n\n#[flow_handler]\nfn ask(ask: Ask, nodes: &mut Objects<Node>) -> Verdict { Done }",
    }
    OBJECTS_OF_TWO_KEYS = 151 {
        title: "two handlers with keys of two types take the same objects",
        cause: "Objects belong to the flow of a message, and flows with keys of two types are two.",
        cure: "Give the messages keys of one type, or each handler a state with objects of its own.",
        example: "#[flow_handler]\nfn put(put: Put, nodes: &mut Objects<Node>) -> Verdict { Done }\n\n#[flow_handler]\nfn \
                  merge(merge: Merge, nodes: &mut Objects<Node>) -> Verdict { Done }",
    }
    SHARED_UNSAFE = 152 {
        title: "`unsafe` in a program that shares a process",
        cause: "Programs in one process are kept apart by Rust alone, and `unsafe` code may reach the memory of others. The \
                manifest says that the program shares one: `share-process = true` in `[package.metadata.cora]`.",
        cure: "Write it without, or take the line out of the manifest: then the program has a process of its own.",
        example: "fn first(bytes: &[u8]) -> u8 {\n    unsafe { *bytes.get_unchecked(0) }\n}",
    }
    SHARED_LOOP = 153 {
        title: "a loop without a bound in a program that shares a process",
        cause: "A loop without an end stops all that share the process. So each loop of \
                such a program is a `for` over something that ends: a slice, a range, or iterators of theirs. Whether one that ends \
                takes too long is found when it happens.",
        cure: "Write `for _ in 0..MOST { … }` with the most rounds that it takes, and leave it with `break`.",
        example: "fn skip(mut data: &[u8]) -> &[u8] {\n    while let [b' ', rest @ ..] = data {\n        data = rest;\n    \
                  }\n    data\n}",
    }
    SHARED_RECURSION = 154 {
        title: "a function that may call itself in a program that shares a process",
        cause: "The stack is the process's, and has an end that the others would notice. Names are followed, not types: \
                `value.name()` may be each method of this name that the program has.",
        cure: "Make it a `for` with a bound, and keep what is left to do in an array. If a method is that of another type, write \
               `Type::name(value)`.",
        example: "fn depth(data: &[u8]) -> u32 {\n    match data {\n        [b'(', rest @ ..] => 1 + depth(rest),\n        _ => 0,\n    \
                  }\n}",
    }
    MESSAGE_NOT_DECLARED = 155 {
        title: "a handler takes or sends a message that the program does not declare",
        cause: "A type that a handler takes by value, or names in `Outbox<M>`, is a message.",
        cure: "Put `#[message]` on the type.",
        example: "struct Ask { row: u64 }\n\n#[flow_handler]\nfn count(ask: Ask) -> Verdict { Done }",
    }
    MESSAGE_TWICE = 156 {
        title: "two messages of one name",
        cause: "The plan, the reports and the messages themselves tell types apart by their names.",
        cure: "Rename one of them.",
        example: "mod a {\n    #[message]\n    pub struct Ask { #[key] pub row: u64 }\n}\nmod b {\n    #[message]\n    pub struct \
                  Ask { #[key] pub row: u64 }\n}",
    }
    MESSAGE_TAKEN_TWICE = 157 {
        title: "two handlers take the same message",
        cause: "A message is handled once.",
        cure: "Let one handler take it, and send another message to the other.",
        example: "#[flow_handler]\nfn one(ask: Ask) -> Verdict { Done }\n\n#[flow_handler]\nfn two(ask: Ask) -> Verdict { Done }",
    }
    MESSAGE_TO_NOBODY = 158 {
        title: "an outbox for a message that nobody takes and that can't leave",
        cause: "What is put into an outbox goes to the handler that takes the message, or leaves in a datagram.",
        cure: "Write a handler that takes it and name it in `app!`, or declare the message with `udp`.",
        example: "#[message]\nstruct Count { #[key] word: u64 }\n\n#[flow_handler]\nfn filter(ask: Ask, counts: &mut \
                  Outbox<Count>) -> Verdict { Done }",
    }
    MESSAGE_PORT = 159 {
        title: "datagrams that may be one message or another",
        cause: "Nothing in a datagram tells of which type it is. So a program that takes several types in datagrams gives each a \
                port of its own.",
        cure: "Write `#[message(udp, port = 7000)]` with another port for each, or make one enum of them.",
        example: "#[message(udp)]\nstruct Ask { #[key] row: u64 }\n\n#[message(udp)]\nstruct Tell { #[key] row: u64 }\n\n#[flow_handler]\nfn \
                  ask(ask: Ask) -> Verdict { Done }\n\n#[flow_handler]\nfn tell(tell: Tell) -> Verdict { Done }",
    }
    MESSAGE_FLOW = 160 {
        title: "a message's handler takes a state of other flows",
        cause: "The entries of a flow are where its messages are handled, and those of another flow may be elsewhere. So a \
                handler finds entries under the key of its message, or within it.",
        cure: "Declare the state with the key of the message, or with `within = …` and that type: then its keys are told apart \
               within the flow, and the entries go where their flow goes.",
        example: "#[message]\nstruct Ask { #[key] group: u32, slot: u64 }\n\n#[state(key = u64, capacity = 1_000, idle = \
                  \"1h\")]\nstruct Slot { ballot: u64 }\n\n#[flow_handler]\nfn acceptor(ask: Ask, slots: &mut Table<Slot>) -> Verdict { \
                  Done }",
    }
    MESSAGE_BESIDE_PACKETS = 161 {
        title: "a packet's handler takes a keyed state, beside handlers of messages",
        cause: "In a program that takes messages a flow is the messages with one key, and packets belong to none.",
        cure: "Keep what a packet's handler needs in a commutative state or a singleton, or send it as a message to a handler \
               with the table.",
        example: "#[flow_handler]\nfn watch(packet: &mut Headers, flows: &mut Table<Flow>, alerts: &mut Outbox<Alert>) -> Verdict \
                  { Transmit }\n\n#[flow_handler]\nfn count(alert: Alert) -> Verdict { Done }",
    }
}
