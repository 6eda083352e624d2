//! Messages that a handler puts into its outboxes.

use cora_plan::graph::How;
use proc_macro2::Span;
use syn::ExprMethodCall;

use super::call::{plain_words, words_of};
use super::expression::valued;
use super::reader::Reader;
use super::value::Value;
use super::way::Ways;
use super::written;

impl<'a> Reader<'a> {
    /// A method of an outbox: two ways from here, since a send may be refused.
    pub(super) fn of_outbox(
        &mut self,
        outbox: usize,
        call: &'a ExprMethodCall,
        ways: Ways,
    ) -> Ways {
        let span = call.method.span();
        let method = written::name(&call.method);
        let Some(how) = how(&method) else {
            // Questions such as `len`.
            let ways = self.surrender(&call.args, ways);
            return valued(ways, &Value::Unknown);
        };
        // The message is the last argument of every one, but for those that write in place.
        let message = call.args.last().filter(|_| method != IN_PLACE);
        let message = message.map(|message| (message, plain_words(message)));
        let ways = self.each(ways, |reader, way| {
            let words = message.as_ref().map(|(message, plain)| words_of(message, plain, &way));
            let mut sent = way.clone().with(Value::Succeeds(None));
            sent.trace.push(reader.sent(outbox, how, words, span));
            vec![sent, way.with(Value::Fails)]
        });
        self.given(call, ways)
    }

    /// Takes the arguments from the stack, and keeps the result of the send.
    fn given(&mut self, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        self.each_kind(
            ways,
            |way| way.value.clone(),
            |reader, value, ways| {
                let ways = reader.surrender(&call.args, ways);
                valued(ways, &value)
            },
        )
    }

    /// An outbox leaves the handler's sight: any number of messages may be put into it.
    pub(super) fn sends_unseen(&mut self, outbox: usize, ways: Ways, span: Span) -> Ways {
        let sent = self.sent(outbox, How::Unseen, None, span);
        self.perhaps(ways, &[sent])
    }
}

/// The method that writes its message where it leaves.
const IN_PLACE: &str = "reply_with";

/// What a method of an outbox does with a message.
fn how(method: &str) -> Option<How> {
    match method {
        "send" => Some(How::Send),
        "after" => Some(How::After),
        "reply" | IN_PLACE => Some(How::Reply),
        "send_to" => Some(How::SendTo),
        _ => None,
    }
}
