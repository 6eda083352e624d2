//! A checked program as data.

use cora_plan::Graph;
use cora_plan::graph::{
    Edge, Field, HandlerNode, Keyed, Opaque, Parameter, SCHEMA, SourcePlace, StateNode,
};
use cora_plan::words::Kind;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;

use super::program::{Handler, Program, State, Translates, path};
use super::source::Source;
use crate::check::access::{Access, accesses};
use crate::diag::codes;
use crate::syntax::{KeyedArgs, ParameterAccess, StateKind};

/// The graph of the program's chain, and of the states that it uses.
pub fn run(app: &str, program: &Program, source: &Source) -> Graph {
    let mut graph = Graph { schema: SCHEMA, ..Graph::new(app) };
    for handler in &program.chain {
        let accesses = accesses(&handler.decl);
        graph.edges.extend(accesses.iter().filter_map(|access| edge(handler, access)));
        graph.chain.push(node(handler, &accesses, source));
    }
    let used = program.states.values().filter(|state| users(program, state).next().is_some());
    graph.states = used.map(|state| state_node(program, state, source)).collect();
    graph
}

/// A warning, in one line, for each access that was taken as the worst case.
pub fn opaque(graph: &Graph) -> Vec<String> {
    let opaque = graph.chain.iter().flat_map(|handler| &handler.opaque);
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

/// Handlers of the chain that take a state.
fn users<'a>(program: &'a Program, state: &'a State) -> impl Iterator<Item = &'a Handler> {
    let takes = |handler: &&Handler| {
        handler.decl.parameters.iter().any(|parameter| parameter.state == state.decl.name)
    };
    program.chain.iter().filter(takes)
}

fn node(handler: &Handler, accesses: &[Access], source: &Source) -> HandlerNode {
    let parameters = handler
        .decl
        .parameters
        .iter()
        .map(|parameter| Parameter {
            name: parameter.ident.unraw().to_string(),
            state: parameter.state.clone(),
            mutable: matches!(
                parameter.access,
                ParameterAccess::Table { mutable: true } | ParameterAccess::Unique
            ),
        })
        .collect();
    let opaque = accesses.iter().flat_map(|access| opaque_of(handler, access, source)).collect();
    HandlerNode {
        name: handler.decl.name.clone(),
        path: path(&handler.module, &handler.decl.name),
        at: place(source, handler.file, handler.decl.ident.span()),
        parameters,
        paths: Vec::new(),
        opaque,
    }
}

fn opaque_of(handler: &Handler, access: &Access, source: &Source) -> Vec<Opaque> {
    let state = state_of(handler, access).unwrap_or_default();
    access
        .opaque
        .iter()
        .filter(|(span, _)| !is_own_method(handler, &state, *span, source))
        .map(|(span, why)| Opaque {
            at: place(source, handler.file, *span),
            state: state.clone(),
            why: why.clone(),
        })
        .collect()
}

/// Whether the word at `span` is a method that the program gives the state. Its borrow says what it
/// does, since a state is plain data: nothing is left to guess.
fn is_own_method(handler: &Handler, state: &str, span: Span, source: &Source) -> bool {
    let body = handler.decl.item.block.to_token_stream();
    word_at(body, span).is_some_and(|word| source.methods.contains(&(state.to_owned(), word)))
}

fn word_at(tokens: TokenStream, span: Span) -> Option<String> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) => {
            (ident.span().start() == span.start()).then(|| ident.to_string())
        }
        TokenTree::Group(group) => word_at(group.stream(), span),
        TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

fn edge(handler: &Handler, access: &Access) -> Option<Edge> {
    Some(Edge {
        handler: handler.decl.name.clone(),
        state: state_of(handler, access)?,
        reads: access.reads,
        writes: access.writes,
        inserts: access.inserts,
        removes: access.removes,
    })
}

fn state_of(handler: &Handler, access: &Access) -> Option<String> {
    let parameter = handler.decl.parameters.iter().find(|p| p.ident.unraw() == access.parameter)?;
    Some(parameter.state.clone())
}

fn state_node(program: &Program, state: &State, source: &Source) -> StateNode {
    let decl = &state.decl;
    let (kind, keyed) = match &decl.kind {
        StateKind::Keyed(args) => (Kind::Keyed, Some(keyed(program, state, args))),
        StateKind::Singleton => (Kind::Singleton, None),
        StateKind::Commutative => (Kind::Commutative, None),
        StateKind::ReadMostly => (Kind::ReadMostly, None),
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
        fields,
    }
}

fn keyed(program: &Program, state: &State, args: &KeyedArgs) -> Keyed {
    let Translates { handlers, helpers } = &program.translates;
    let by_user = users(program, state).any(|user| handlers.contains(&user.decl.name));
    Keyed {
        key: args.key_name.clone(),
        reply: args.reply,
        capacity: args.capacity.into(),
        idle_ns: args.idle_ns,
        translates: args.reply && (by_user || *helpers),
    }
}

/// A type as people write it.
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
