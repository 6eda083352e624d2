//! The messages that a handler sends, in the graph's form.

use cora_plan::graph::{How, Path, Sent, SourcePlace};
use syn::ext::IdentExt as _;
use syn::{Data, Expr, FnArg, Member, Pat};

use super::program::{Handler, Message, Program};
use crate::analyse::Touch;
use crate::syntax::MessageKey;

/// A handler and the messages of its outboxes.
pub(super) struct Sends<'a> {
    pub(super) program: &'a Program,
    pub(super) handler: &'a Handler,
    pub(super) outboxes: Vec<&'a Message>,
}

impl Sends<'_> {
    /// A message put into an outbox, by its index.
    pub(super) fn sent(
        &self,
        outbox: usize,
        how: How,
        touch: &Touch,
        at: SourcePlace,
    ) -> Option<Sent> {
        let message = self.outboxes.get(outbox)?;
        let words = touch.key.as_deref().unwrap_or_default();
        let own_key = self.keeps_key(message, words) == Some(true);
        Some(Sent { message: message.decl.name.clone(), how, many: touch.many, own_key, at })
    }

    /// Whether the key of a message, as written, is that of the message that the handler takes:
    /// `Count { word: tuple.word }`. [`None`] if that is not seen.
    fn keeps_key(&self, sent: &Message, words: &str) -> Option<bool> {
        let taken = self.program.messages.get(&self.handler.decl.takes()?.name)?;
        let [own] = fields(taken)[..] else { return None };
        let Expr::Struct(made) = syn::parse_str(words).ok()? else { return None };
        let last = made.path.segments.last()?.ident.unraw().to_string();
        let member = match &sent.decl.item.data {
            Data::Enum(data) => {
                let variants = data.variants.iter().map(|variant| variant.ident.unraw());
                let at = variants.into_iter().position(|variant| variant == last)?;
                fields(sent).get(at).copied()?
            }
            _ => fields(sent).first().copied()?,
        };
        let value = made.fields.iter().find(|field| field.member == *member)?;
        let Expr::Field(field) = &value.expr else { return None };
        let Expr::Path(of) = &*field.base else { return None };
        Some(of.path.get_ident()? == &self.parameter()? && field.member == *own)
    }

    /// The handler's name for its message, if nothing can change it.
    fn parameter(&self) -> Option<proc_macro2::Ident> {
        let Some(FnArg::Typed(first)) = self.handler.decl.item.sig.inputs.first() else {
            return None;
        };
        match &*first.pat {
            Pat::Ident(name) if name.mutability.is_none() && name.by_ref.is_none() => {
                Some(name.ident.clone())
            }
            _ => None,
        }
    }
}

/// The fields that are the key of a message.
fn fields(message: &Message) -> Vec<&Member> {
    match &message.decl.key {
        MessageKey::Fields(fields) => fields.iter().map(|field| &field.member).collect(),
        MessageKey::None | MessageKey::One => Vec::new(),
    }
}

/// Of paths that differ only in the order of accesses and messages, or in the words of a message,
/// the first stays.
pub(super) fn once(paths: &mut Vec<Path>) {
    let mut seen: Vec<Path> = Vec::new();
    paths.retain(|path| {
        let is_new = !seen.iter().any(|other| is_like(path, other));
        if is_new {
            seen.push(path.clone());
        }
        is_new
    });
}

fn is_like(one: &Path, two: &Path) -> bool {
    let accesses = |path: &Path| {
        let all = path.accesses.iter().cloned();
        all.map(|it| (it.state, it.does, it.key, it.many, it.after_write)).collect::<Vec<_>>()
    };
    let sends = |path: &Path| {
        let all = path.sends.iter().cloned();
        all.map(|it| (it.message, it.how, it.many, it.own_key)).collect::<Vec<_>>()
    };
    one.exit == two.exit && accesses(one) == accesses(two) && sends(one) == sends(two)
}
