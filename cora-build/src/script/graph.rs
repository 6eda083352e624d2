//! A checked program as data.

use cora_plan::Graph;
use cora_plan::graph::{
    Access, Edge, Field, HandlerNode, HookNode, Keyed, MessageNode, Objects, Opaque, Parameter,
    Path, Region, Rows, SourcePlace, StateNode, TimerNode, WireForm,
};
use cora_plan::vocabulary::{BucketsBy, Kind, Replies};
use proc_macro2::Span;
use quote::ToTokens as _;
use syn::ext::IdentExt as _;

use super::program::{ChosenReplies, Handler, Message, Program, State, path};
use super::sends::{Sends, once};
use super::source::Source;
use crate::analyse::{self, Act, Effect, Found, Home, MOST_PATHS};
use crate::diag::codes;
use crate::syntax::{
    self, BucketEnd, KeyedArgs, Mark, ObjectsArgs, Occasion, ParameterAccess, StateKind,
};

/// The graph of the program's chain and its states, and warnings: of handlers with merged paths,
/// and of those that read a replica.
pub fn run(app: &str, program: &Program, source: &Source) -> (Graph, Vec<String>) {
    let mut graph = Graph { shares_process: source.shares_process, ..Graph::new(app) };
    let mut bounded = Vec::new();
    for handler in &program.chain {
        let home = Home { file: handler.file, module: &handler.module };
        let found = analyse::run(&handler.decl, home, &source.surroundings);
        let edges = handler.decl.parameters.iter().zip(&found.effects);
        graph.edges.extend(edges.map(|(parameter, effect)| edge(handler, parameter, *effect)));
        let node = node(program, handler, &found, source);
        if found.merged {
            bounded.push(merged(&node));
        }
        bounded.extend(replica_reads(program, handler, &node, &found));
        graph.chain.push(node);
    }
    for timed in &program.timed {
        let home = Home { file: timed.file, module: &timed.module };
        let found = analyse::run(&timed.decl, home, &source.surroundings);
        let edges = timed.decl.parameters.iter().zip(&found.effects);
        graph.edges.extend(edges.map(|(parameter, effect)| edge(timed, parameter, *effect)));
        let node = node(program, timed, &found, source);
        bounded.extend(replica_reads(program, timed, &node, &found));
        match &timed.decl.occasion {
            Occasion::Expiry(expires) => {
                graph.hooks.push(HookNode { state: expires.state.clone(), node });
            }
            Occasion::Tick { period } => graph.timers.push(TimerNode { period_ns: *period, node }),
            Occasion::Packet | Occasion::Message(_) => {}
        }
    }
    let used = program
        .states
        .values()
        .filter(|state| users(program, state).chain(takers(program, state)).next().is_some());
    graph.messages =
        program.messages.values().map(|message| message_node(message, source)).collect();
    graph.states = used.map(|state| state_node(program, state, source)).collect();
    (graph, bounded)
}

/// A warning, in one line, that paths were merged.
fn merged(node: &HandlerNode) -> String {
    format!(
        "{}: `{}` has more than {MOST_PATHS} paths that differ: of those that touch the same states and end \
         alike, the plan sees one ({}:{}:{})",
        codes::TOO_MANY_PATHS,
        node.name,
        node.at.file,
        node.at.line,
        node.at.column
    )
}

/// A warning, in one line, for each access that counts as the worst case.
pub fn opaque(graph: &Graph) -> Vec<String> {
    let opaque = graph.chain.iter().chain(graph.timed()).flat_map(|handler| &handler.opaque);
    opaque
        .map(|Opaque { at, state, why }| {
            format!(
                "{}: the worst is taken for `{state}`: {why} ({}:{}:{})",
                codes::OPAQUE_ACCESS,
                at.file,
                at.line,
                at.column
            )
        })
        .collect()
}

/// A warning, in one line, for each state of which a handler, a hook or a timer reads the replica
/// at its own side. Of an access that can't be seen, there is another warning.
fn replica_reads(
    program: &Program,
    handler: &Handler,
    node: &HandlerNode,
    found: &Found,
) -> Vec<String> {
    let parameters = handler.decl.parameters.iter().enumerate();
    let read = parameters.filter(|(at, parameter)| {
        let state = program.states.get(&parameter.state);
        let is_seen = !node.opaque.iter().any(|opaque| opaque.state == parameter.state);
        is_seen
            && match state.map(|state| &state.decl.kind) {
                Some(StateKind::Commutative { merged: true }) => found.own_reads.contains(at),
                Some(StateKind::Commutative { merged: false }) => found.effects[*at].reads,
                _ => false,
            }
    });
    read.map(|(_, parameter)| replica_read(handler.decl.mark(), node, &parameter.state)).collect()
}

fn replica_read(mark: Mark, node: &HandlerNode, state: &str) -> String {
    let SourcePlace { file, line, column } = &node.at;
    let instead = if mark == Mark::Handler {
        format!(
            "say `#[state(commutative, merged)]`, and read `.merged()` of a `&mut Merged<{state}>`"
        )
    } else {
        "keep the number that it needs in a singleton".to_owned()
    };
    format!(
        "{}: `{}` reads the replica of `{state}` at its own side, so its result depends on the plan: \
         {instead} ({file}:{line}:{column})",
        codes::REPLICA_READ,
        node.name,
    )
}

/// Handlers of the chain that take a state.
fn users<'a>(program: &'a Program, state: &'a State) -> impl Iterator<Item = &'a Handler> {
    program.chain.iter().filter(|handler| takes(handler, state))
}

/// Hooks and timers that take a state.
fn takers<'a>(program: &'a Program, state: &'a State) -> impl Iterator<Item = &'a Handler> {
    program.timed.iter().filter(|timed| takes(timed, state))
}

fn takes(handler: &Handler, state: &State) -> bool {
    handler.decl.parameters.iter().any(|parameter| parameter.state == state.decl.name)
}

fn node(program: &Program, handler: &Handler, found: &Found, source: &Source) -> HandlerNode {
    let declared = &handler.decl.parameters;
    let parameters = declared
        .iter()
        .map(|parameter| Parameter {
            name: parameter.ident.unraw().to_string(),
            state: parameter.state.clone(),
            mutable: matches!(
                parameter.access,
                ParameterAccess::Table { mutable: true }
                    | ParameterAccess::Merged { mutable: true }
                    | ParameterAccess::Objects { mutable: true }
                    | ParameterAccess::Region { mutable: true }
                    | ParameterAccess::Unique
            ),
        })
        .collect();
    let outboxes: Vec<&Message> =
        handler.decl.sends().filter_map(|sent| program.messages.get(&sent.name)).collect();
    let reading = Sends { program, handler, outboxes };
    let mut paths: Vec<Path> =
        found.paths.iter().map(|path| way(path, declared, &reading, source)).collect();
    if !reading.outboxes.is_empty() {
        once(&mut paths);
    }
    let opaque = found.opaque.iter().map(|unseen| Opaque {
        at: place(source, unseen.at.file, unseen.at.span),
        state: declared[unseen.state].state.clone(),
        why: unseen.why.clone(),
    });
    HandlerNode {
        name: handler.decl.name.clone(),
        path: path(&handler.module, &handler.decl.name),
        at: place(source, handler.file, handler.decl.ident.span()),
        headers: handler.decl.takes_headers(),
        at_host: handler.decl.at_host,
        sends: handler.decl.sends_packets(),
        takes: handler.decl.takes().map(|message| message.name.clone()),
        outboxes: handler.decl.sends().map(|message| message.name.clone()).collect(),
        parameters,
        paths,
        opaque: opaque.collect(),
    }
}

/// A path in the graph's form.
fn way(
    path: &analyse::Path,
    declared: &[syntax::Parameter],
    reading: &Sends<'_>,
    source: &Source,
) -> Path {
    let mut way = Path { accesses: Vec::new(), sends: Vec::new(), exit: path.exit };
    for touch in &path.touches {
        let at = place(source, touch.at.file, touch.at.span);
        match touch.act {
            Act::Access(does) => way.accesses.push(Access {
                state: declared[touch.state].state.clone(),
                does,
                key: touch.key.as_deref().map(str::to_owned),
                many: touch.many,
                after_write: touch.after_write,
                at,
            }),
            Act::Send(how) => {
                let outbox = touch.state - declared.len();
                way.sends.extend(reading.sent(outbox, how, touch, at));
            }
        }
    }
    way
}

fn edge(handler: &Handler, parameter: &syntax::Parameter, effect: Effect) -> Edge {
    Edge {
        handler: handler.decl.name.clone(),
        state: parameter.state.clone(),
        reads: effect.reads,
        writes: effect.writes,
        inserts: effect.inserts,
        removes: effect.removes,
    }
}

fn message_node(message: &Message, source: &Source) -> MessageNode {
    let decl = &message.decl;
    MessageNode {
        name: decl.name.clone(),
        path: path(&message.module, &decl.name),
        at: place(source, message.file, decl.ident.span()),
        key: decl.key.name().map(str::to_owned),
        wire: decl.wire.map(|wire| WireForm { parse: wire.parse, port: wire.port }),
        fields: message_fields(&decl.item.data),
    }
}

/// The fields of a message; those of an enum with the variant in front.
fn message_fields(data: &syn::Data) -> Vec<Field> {
    let of = |variant: &str, fields: &syn::Fields| -> Vec<Field> {
        let fields = fields.iter().enumerate();
        let named = fields.map(|(at, field)| {
            let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            Field { name: format!("{variant}{name}"), type_text: text(&field.ty) }
        });
        named.collect()
    };
    match data {
        syn::Data::Struct(data) => of("", &data.fields),
        syn::Data::Enum(data) => {
            let variants = data.variants.iter();
            variants.flat_map(|it| of(&format!("{}::", it.ident), &it.fields)).collect()
        }
        syn::Data::Union(_) => Vec::new(),
    }
}

fn state_node(program: &Program, state: &State, source: &Source) -> StateNode {
    let decl = &state.decl;
    let (kind, keyed, durable) = match &decl.kind {
        StateKind::Keyed(args) => (Kind::Keyed, Some(keyed(program, state, args)), false),
        StateKind::Singleton { durable } => (Kind::Singleton, None, *durable),
        StateKind::PerBucket { durable } => (Kind::PerBucket, None, *durable),
        StateKind::Commutative { .. } => (Kind::Commutative, None, false),
        StateKind::ReadMostly | StateKind::Rows(_) => (Kind::ReadMostly, None, false),
        StateKind::Objects(args) => (Kind::Keyed, Some(of_flows(program, state, args)), false),
        // As the plan sees it: one value.
        StateKind::Region { .. } => (Kind::Singleton, None, false),
    };
    let region = match &decl.kind {
        StateKind::Region { length } => Some(Region { length: length.number.into() }),
        _ => None,
    };
    let objects = match &decl.kind {
        StateKind::Objects(args) => Some(Objects { bytes: args.bytes }),
        _ => None,
    };
    let rows = match &decl.kind {
        StateKind::Rows(args) => Some(Rows {
            form: args.form.argument().to_owned(),
            key: args.key.as_ref().map(|(_, name)| name.clone()),
            capacity: args.capacity.number.into(),
        }),
        _ => None,
    };
    let fields = decl
        .item
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| Field {
            name: field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string),
            type_text: text(&field.ty),
        })
        .collect();
    StateNode {
        name: decl.name.clone(),
        path: path(&state.module, &decl.name),
        at: place(source, state.file, decl.ident.span()),
        kind,
        keyed,
        objects,
        region,
        rows,
        durable,
        merged: matches!(decl.kind, StateKind::Commutative { merged: true }),
        fields,
    }
}

fn keyed(program: &Program, state: &State, args: &KeyedArgs) -> Keyed {
    let ChosenReplies { handlers, helpers } = &program.replies;
    let by_users = users(program, state).filter_map(|user| handlers.get(&user.decl.name)).max();
    let chosen = by_users.copied().unwrap_or_default().max(*helpers);
    // Without `bucket` a state's methods take no port of a bucket.
    let chosen = match chosen {
        Replies::BucketPort if args.bucket.is_none() => Replies::SamePorts,
        chosen => chosen,
    };
    Keyed {
        key: args.key_name.clone(),
        within: args.within.as_ref().map(|(_, name)| name.clone()),
        reply: args.reply,
        capacity: args.capacity.number.into(),
        idle_ns: args.idle_ns,
        life_ns: args.life_ns,
        replies: if args.reply { chosen } else { Replies::Reversed },
        bucket: args.bucket.as_ref().map(|(end, _)| match end {
            BucketEnd::Inside => BucketsBy::InsidePort,
            BucketEnd::Outside => BucketsBy::OutsidePort,
        }),
        idle_by: args.idle_by.is_some(),
        durable: args.durable,
        recorded: args.recorded,
        on_expire: args.on_expire.then(|| hook_of(program, state)).flatten(),
    }
}

/// Objects, as the plan sees them: all of a flow are one entry, which travels with the flow.
fn of_flows(program: &Program, state: &State, args: &ObjectsArgs) -> Keyed {
    Keyed {
        key: program.key_of_objects(state).unwrap_or_default().to_owned(),
        within: None,
        reply: false,
        capacity: args.capacity.number.into(),
        idle_ns: args.idle_ns,
        life_ns: None,
        replies: Replies::Reversed,
        bucket: None,
        idle_by: false,
        durable: false,
        recorded: false,
        on_expire: None,
    }
}

/// The name of the hook for the state's entries.
fn hook_of(program: &Program, state: &State) -> Option<String> {
    let is_its = |hook: &&Handler| {
        hook.decl.expires().is_some_and(|expires| expires.state == state.decl.name)
    };
    program.timed.iter().find(is_its).map(|hook| hook.decl.name.clone())
}

/// A type in the usual notation.
fn text(ty: &syn::Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (wide, narrow) in
        [(" :: ", "::"), (" <", "<"), ("< ", "<"), (" >", ">"), (" ,", ","), (" ;", ";")]
    {
        text = text.replace(wide, narrow);
    }
    text
}

fn place(source: &Source, file: usize, span: Span) -> SourcePlace {
    let start = span.start();
    let file = source.files.get(file).map(|file| file.name.clone()).unwrap_or_default();
    SourcePlace { file, line: start.line, column: start.column + 1 }
}
