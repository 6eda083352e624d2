//! Faults of a handler: its signature, its parameters, its body.

use super::catalogue::catalogue;

catalogue! {
    HANDLER_ITEM = 1 {
        title: "`#[flow_handler]` stands on something other than a function",
        cause: "A handler is a function that runs once per packet.",
        cure: "Put the attribute on a free `fn(packet: &mut Packet, …) -> Verdict`.",
        example: "#[flow_handler]\nstruct Firewall;",
    }
    HANDLER_ASYNC = 2 {
        title: "a handler is `async`",
        cause: "A handler is atomic: it runs from start to end for one packet, so it has nothing to wait for.",
        cure: "Take `async` away; keep data for later packets in a state.",
        example: "#[flow_handler]\nasync fn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_UNSAFE = 3 {
        title: "a handler is `unsafe`",
        cause: "The runtime calls handlers and can't meet the conditions that an unsafe one sets its caller.",
        cure: "Take `unsafe` away.",
        example: "#[flow_handler]\nunsafe fn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_CONST = 4 {
        title: "a handler is `const`",
        cause: "A handler runs per packet, never while compiling.",
        cure: "Take `const` away.",
        example: "#[flow_handler]\nconst fn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_EXTERN = 5 {
        title: "a handler is `extern`",
        cause: "Only the runtime calls handlers, by Rust's own convention.",
        cure: "Take `extern` and its ABI away.",
        example: "#[flow_handler]\nextern \"C\" fn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_GENERIC = 6 {
        title: "a handler has generic parameters",
        cause: "The plan places each handler and state by name, so there is one of each.",
        cure: "Name the types; move generic code to a helper function that the handler calls.",
        example: "#[flow_handler]\nfn f<T>(packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_WHERE = 7 {
        title: "a handler has a `where` clause",
        cause: "A handler has no generic parameters, so there is nothing to bound.",
        cure: "Take the clause away.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict where u8: Copy { Transmit }",
    }
    HANDLER_SELF = 8 {
        title: "a handler is a method",
        cause: "A handler keeps data in its states, which the plan places; `self` would escape it.",
        cure: "Make it a free function, and the data of `self` a `#[state]` parameter.",
        example: "#[flow_handler]\nfn f(&mut self, packet: &mut Packet) -> Verdict { Transmit }",
    }
    HANDLER_VARIADIC = 9 {
        title: "a handler takes `...`",
        cause: "The runtime passes a handler its packet and its states, and nothing else.",
        cure: "List the states as parameters.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, ...) -> Verdict { Transmit }",
    }
    HANDLER_IMPL_TRAIT = 10 {
        title: "a handler's parameter is `impl Trait`",
        cause: "`impl Trait` makes the function generic, and the plan has to know the state by its type.",
        cure: "Name the state's type.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, s: &mut impl Default) -> Verdict { Transmit }",
    }
    HANDLER_NO_PACKET = 11 {
        title: "a handler takes no packet",
        cause: "A handler runs once per packet, and the packet is its first parameter.",
        cure: "Begin the parameters with `packet: &mut Packet`, or with `packet: &mut Headers` if the payload is not read.",
        example: "#[flow_handler]\nfn f() -> Verdict { Transmit }",
    }
    HANDLER_FIRST_PARAMETER = 12 {
        title: "a handler's first parameter is not `&mut Packet`",
        cause: "The packet comes first; the states follow.",
        cure: "Begin the parameters with `packet: &mut Packet`, or with `packet: &mut Headers` if the payload is not read.",
        example: "#[flow_handler]\nfn f(packet: Packet) -> Verdict { Transmit }",
    }
    HANDLER_RETURN = 13 {
        title: "a handler does not return `Verdict`",
        cause: "Every packet needs a verdict: transmit, drop with a reason, pass or redirect.",
        cure: "Return `Verdict`; most handlers end in `Transmit`.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) {}",
    }
    PARAMETER_BY_VALUE = 14 {
        title: "a handler takes a state by value",
        cause: "A state outlives the packet: the runtime keeps it and lends it to the handler.",
        cure: "Take `&mut Table<S>` for a keyed state, `&mut S` for a singleton or commutative one, `&S` for a read-mostly one.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, counts: Counts) -> Verdict { Transmit }",
    }
    PARAMETER_PATTERN = 15 {
        title: "a handler's parameter is a pattern",
        cause: "The graph and the guards follow a state by the name of its parameter.",
        cure: "Give the parameter a name and take it apart inside the body.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, Counts { seen }: &mut Counts) -> Verdict { Transmit }",
    }
    TABLE_ARGUMENT = 16 {
        title: "`Table` without its state, or with more than one argument",
        cause: "A table holds the entries of one keyed state.",
        cure: "Write `&mut Table<S>`, where `S` is a `#[state(key = …)]`.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, sessions: &mut Table) -> Verdict { Transmit }",
    }
    TAKEN_TWICE = 17 {
        title: "a handler takes the same state twice",
        cause: "There is one of each state, and two parameters can't borrow it at once.",
        cure: "Take it once; pass it on to helper functions where they need it.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, a: &mut Ports, b: &mut Ports) -> Verdict { Transmit }",
    }
    TOO_MANY_STATES = 18 {
        title: "a handler takes more than eight states",
        cause: "Each state is one more thing that may force a punt; a handler that needs nine does the work of several.",
        cure: "Split it into handlers that the app chains, or put related data into one state.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, a: &A, b: &B, c: &C, d: &D, e: &E, f: &F, g: &G, h: &H, i: &I) -> Verdict { Transmit }",
    }
    HANDLER_ARGUMENTS = 19 {
        title: "`#[flow_handler]` with another argument than `transparent`",
        cause: "All else there is to say about a handler stands in its signature; where it runs, the plan says.",
        cure: "Write `#[flow_handler]` or `#[flow_handler(transparent)]`.",
        example: "#[flow_handler(nic)]\nfn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    PACKET_TWICE = 20 {
        title: "a handler takes a second packet",
        cause: "A handler runs once per packet and sees one at a time.",
        cure: "Keep data for later packets in a state.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, last: &mut Packet) -> Verdict { Transmit }",
    }
    PARAMETER_TYPE = 21 {
        title: "a handler's parameter refers to a type that is not a state",
        cause: "A handler reaches states through its parameters, and a state is a type with `#[state]`: no slice, tuple, array, trait object or generic type.",
        cure: "Take `&mut Table<S>`, `&mut S` or `&S`, where `S` is a type with `#[state]`.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, counts: &mut [u64]) -> Verdict { Transmit }",
    }
    PARAMETER_LIFETIME = 22 {
        title: "a handler's parameter names a lifetime",
        cause: "The runtime lends packet and states for one run of the handler.",
        cure: "Take the lifetime away.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, ports: &'static mut Ports) -> Verdict { Transmit }",
    }
    PARAMETER_ATTRIBUTE = 23 {
        title: "a handler's parameter has an attribute that decides whether it is there",
        cause: "Both sides must be made from the same handler.",
        cure: "Take the attribute away.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet, #[cfg(unix)] ports: &mut Ports) -> Verdict { Transmit }",
    }
    HANDLER_TWICE = 24 {
        title: "`#[flow_handler]` stands twice on one function",
        cause: "A function is one handler.",
        cure: "Take one away.",
        example: "#[flow_handler]\n#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { Transmit }",
    }
    BODY_UNSAFE = 25 {
        title: "a handler's body has an `unsafe` block",
        cause: "The data of unsafe code can be neither seen, nor rolled back, nor moved to the other side.",
        cure: "Use the packet's and the states' own methods.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { unsafe { poke() }; Transmit }",
    }
    BODY_STATIC = 26 {
        title: "a handler's body declares a `static`",
        cause: "A static is a state that no plan places: each side would have its own, and nothing would roll it back.",
        cure: "Declare a `#[state(singleton)]` or `#[state(commutative)]` and take it as a parameter; for something that never changes, use `const`.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { static SEEN: AtomicU64 = AtomicU64::new(0); Transmit }",
    }
    BODY_THREAD_LOCAL = 27 {
        title: "a handler's body uses `thread_local!`",
        cause: "A thread-local is a state that no plan places, and the NIC side has no threads.",
        cure: "Declare a `#[state(singleton)]` or `#[state(commutative)]` and take it as a parameter.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { thread_local! { static SEEN: u64 = 0 } Transmit }",
    }
    BODY_AWAIT = 28 {
        title: "a handler's body awaits",
        cause: "A handler is atomic: it runs from start to end for one packet, and there is no executor.",
        cure: "Do without; keep data for later packets in a state.",
        example: "#[flow_handler]\nfn f(packet: &mut Packet) -> Verdict { lookup().await; Transmit }",
    }    HANDLER_NOT_TRANSPARENT = 29 {
        title: "a transparent handler drops by `?` what it does not understand",
        cause: "`#[flow_handler(transparent)]` says that everything passes which the handler does not understand. `?` on a getter or setter of the packet drops fragments, tunnels and all that is not IP; on `Table::insert` it drops new flows while the table is full.",
        cure: "Write `let Ok(flow) = packet.flow() else { return Transmit };`. A drop that is meant stands there as `return Drop(reason)`.",
        example: "#[flow_handler(transparent)]\nfn f(packet: &mut Packet) -> Verdict { let _flow = packet.flow()?; Transmit }",
    }
}
