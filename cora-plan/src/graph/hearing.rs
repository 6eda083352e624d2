//! From whom the flows of each message hear, and whether a program is settled.
//!
//! A flow's messages are handled in order, and messages from one flow to another arrive in the
//! order of the calls. So a flow that hears from the wire alone, or from one other flow, gets the
//! same messages in the same order under every plan. If every flow of a program does, the program
//! is *settled*: every plan has the results of a host alone, byte for byte. Where a flow hears from
//! several, their order among each other depends on which side each of them is at. Then the result
//! is that of some run one by one, and another plan may have another.
//!
//! What is told here is proven from the graph, and all else counts as several.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, HandlerNode, How, MessageNode};
use crate::vocabulary::{Kind, Place, Sides};

/// From whom the flows of one message hear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hearing<'a> {
    /// The message.
    pub message: &'a MessageNode,
    /// The handler that takes it.
    pub taker: &'a HandlerNode,
    /// Who sends such messages.
    pub sources: Vec<Source<'a>>,
    /// Whether the order of a flow's messages is the same under every plan, and why.
    pub order: Order<'a>,
}

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source<'a> {
    /// It comes in datagrams.
    Wire,
    /// A handler of packets or messages.
    Handler(&'a str),
    /// A hook or a timer.
    Timed(&'a str),
}

/// The order of the messages of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order<'a> {
    /// Nobody sends such a message.
    Silent,
    /// Each message is a flow of its own, so there is no order.
    NoFlow,
    /// All come from the wire.
    Wire,
    /// All come from the one flow of this handler's messages.
    OneFlow(&'a str),
    /// Each flow hears from the flow of this handler that has the same key.
    SameKey(&'a str),
    /// What the handler does is the same in any order.
    AnyOrder,
    /// Several send, and their order depends on the plan.
    Several(Cause<'a>),
}

/// Why a flow hears from several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// There are several sources.
    Sources,
    /// Every packet or message of this handler is a flow of its own.
    NoFlow(&'a str),
    /// Messages of several flows of this handler may have one key.
    Flows(&'a str),
    /// This hook or timer runs besides the flows.
    Timed(&'a str),
}

/// What a plan decides, as far as the order of messages depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Under<'a> {
    /// The sides that run messages.
    pub sides: Sides,
    /// Place of each state.
    pub places: &'a BTreeMap<String, Place>,
    /// Handlers that run at the host only.
    pub host_handlers: &'a [String],
    /// Arrivals reach the host in their order, even across flows.
    pub host_ordered: bool,
}

/// Whether the results of a program are those of a host alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled<'a> {
    /// Under every plan.
    Always,
    /// Under this plan: one side runs everything.
    OneSide(&'static str),
    /// Under this plan: messages cross to the host only, in the order of arrival.
    OneWay,
    /// They are those of some run one by one; these messages come from several.
    Not(Vec<Hearing<'a>>),
    /// They are those of some run one by one: the NIC reads this region while messages that write
    /// it may be on their way to the host.
    Fetched(&'a str),
}

impl Settled<'_> {
    /// In a few words.
    pub fn verdict(&self) -> String {
        match self {
            Self::Always => "settled: every plan has the results of a host alone".to_owned(),
            Self::OneSide(side) => {
                format!(
                    "settled under this plan: {side} runs every message, in the order of arrival"
                )
            }
            Self::OneWay => {
                "settled under this plan: messages cross to the host only, in the order \
                             of arrival"
                    .to_owned()
            }
            Self::Not(_) | Self::Fetched(_) => {
                "not settled: results are those of some run one by one, and another \
                             plan may have another"
                    .to_owned()
            }
        }
    }

    /// The reasons that it is not, one for each message at fault.
    pub fn reasons(&self) -> Vec<String> {
        match self {
            Self::Not(several) => {
                several.iter().map(|it| format!("{}: {}", it.message.name, it.why())).collect()
            }
            Self::Fetched(region) => vec![format!(
                "{region}: a NIC that fetches its items reads them while messages that write them may be \
                 on their way to the host"
            )],
            Self::Always | Self::OneSide(_) | Self::OneWay => Vec::new(),
        }
    }
}

impl Order<'_> {
    /// Whether it is the same under every plan.
    pub const fn is_settled(self) -> bool {
        !matches!(self, Self::Several(_))
    }
}

impl Graph {
    /// From whom the flows of each message that a handler takes hear, in the order of the chain.
    pub fn hearings(&self) -> Vec<Hearing<'_>> {
        self.takers()
            .map(|(taker, message)| {
                let sources = self.sources(message);
                let order = self.order(taker, message, &sources);
                Hearing { message, taker, sources, order }
            })
            .collect()
    }

    /// Whether the results are those of a host alone, under any plan or under this one; [`None`] if
    /// it takes no messages.
    pub fn settled(&self, under: Option<&Under<'_>>) -> Option<Settled<'_>> {
        let hearings = self.hearings();
        if !hearings.is_empty()
            && let Some(region) = self.fetched_and_written(under)
        {
            return Some(Settled::Fetched(region));
        }
        let several: Vec<Hearing<'_>> =
            hearings.iter().filter(|it| !it.order.is_settled()).cloned().collect();
        Some(match under {
            _ if hearings.is_empty() => return None,
            _ if several.is_empty() && self.fetched_and_written(None).is_none() => Settled::Always,
            Some(Under { sides: Sides::HostOnly, .. }) => Settled::OneSide("the host"),
            Some(Under { sides: Sides::NicOnly, .. }) => Settled::OneSide("the NIC"),
            Some(under) if self.goes_one_way(&hearings, under) => Settled::OneWay,
            _ => Settled::Not(several),
        })
    }

    /// A region that some handler writes, and that the NIC fetches under this plan, or may fetch
    /// under another one if there is none.
    fn fetched_and_written(&self, under: Option<&Under<'_>>) -> Option<&str> {
        let is_fetched =
            |name: &str| under.is_none_or(|under| under.places.get(name) == Some(&Place::Fetched));
        let regions = self.states.iter().filter(|state| state.region.is_some());
        let mut names = regions.map(|state| state.name.as_str());
        names.find(|name| is_fetched(name) && self.writes(name))
    }

    /// Whether any handler writes this state, as far as can be seen.
    fn writes(&self, name: &str) -> bool {
        let writes =
            |access: &super::Access| access.state == name && access.does != super::Does::Read;
        let of_handler = |node: &HandlerNode| {
            node.paths.is_empty() || node.paths.iter().any(|path| path.accesses.iter().any(writes))
        };
        self.users(name).any(of_handler)
    }

    /// Whether messages cross to the host only, in order: all that handlers send is for handlers
    /// at the host.
    fn goes_one_way(&self, hearings: &[Hearing<'_>], under: &Under<'_>) -> bool {
        let at_host = |node: &HandlerNode| {
            let pinned = |state: &str| under.places.get(state) == Some(&Place::Host);
            let reaches = |path: &super::Path| path.accesses.iter().any(|it| pinned(&it.state));
            under.host_handlers.contains(&node.name)
                || !node.paths.is_empty() && node.paths.iter().all(reaches)
        };
        let is_sent = |hearing: &Hearing<'_>| hearing.sources.iter().any(|it| *it != Source::Wire);
        let mut sent = hearings.iter().filter(|hearing| is_sent(hearing));
        under.sides == Sides::Split
            && under.host_ordered
            && self.timed().next().is_none()
            && sent.all(|hearing| at_host(hearing.taker))
    }

    fn sources(&self, message: &MessageNode) -> Vec<Source<'_>> {
        let wire = message.wire.is_some().then_some(Source::Wire);
        let sends = |node: &&HandlerNode| {
            node.sendings().iter().any(|it| it.message == message.name && it.stays())
        };
        let handlers = self.chain.iter().filter(sends).map(|node| Source::Handler(&node.name));
        let timed = self.timed().filter(sends).map(|node| Source::Timed(&node.name));
        wire.into_iter().chain(handlers).chain(timed).collect()
    }

    fn order<'a>(
        &'a self,
        taker: &HandlerNode,
        message: &MessageNode,
        sources: &[Source<'a>],
    ) -> Order<'a> {
        if sources.is_empty() {
            return Order::Silent;
        }
        if message.key.is_none() {
            return Order::NoFlow;
        }
        if self.is_commutative(taker) {
            return Order::AnyOrder;
        }
        // A flow that sends to itself has its message handled before what comes later.
        let itself = |source: &&Source<'_>| {
            matches!(source, Source::Handler(name) if *name == taker.name)
                && self.keeps_key(taker, message)
        };
        let others: Vec<Source<'a>> = sources.iter().filter(|it| !itself(it)).copied().collect();
        match others[..] {
            [] => Order::SameKey(sources[0].name()),
            [Source::Wire] => Order::Wire,
            [Source::Handler(name)] => self.of_one_handler(name, message),
            [Source::Timed(name)] => Order::Several(Cause::Timed(name)),
            _ => Order::Several(Cause::Sources),
        }
    }

    /// The order of messages of which all come from one handler.
    fn of_one_handler<'a>(&'a self, name: &'a str, message: &MessageNode) -> Order<'a> {
        let node = self.chain.iter().find(|node| node.name == name);
        let taken = node.and_then(|node| self.message(node.takes.as_ref()?));
        match (node, taken.and_then(|taken| taken.key.as_deref())) {
            (_, Some("One")) => Order::OneFlow(name),
            (Some(node), Some(_)) if self.keeps_key(node, message) => Order::SameKey(name),
            (_, Some(_)) => Order::Several(Cause::Flows(name)),
            (_, None) => Order::Several(Cause::NoFlow(name)),
        }
    }

    /// Whether every such message that a handler sends has the key of the message that it takes.
    fn keeps_key(&self, node: &HandlerNode, message: &MessageNode) -> bool {
        let such = |it: &&super::Sent| it.message == message.name && it.how.stays();
        let mut sent = node.paths.iter().flat_map(|path| &path.sends).filter(such);
        let taken = node.takes.as_ref().and_then(|name| self.message(name));
        let one = taken.is_some_and(|taken| taken.key.as_deref() == Some("One"))
            && message.key.as_deref() == Some("One");
        // An opaque outbox tells nothing of keys.
        sent.all(|it| (it.own_key || one) && it.how == How::Send)
    }

    /// Whether a handler may take messages in any order: each is a flow of its own, or what it does
    /// is the same. Messages with a key are else handled in order, where their flow is.
    pub fn takes_in_any_order(&self, taker: &HandlerNode, message: &MessageNode) -> bool {
        message.key.is_none() || self.is_commutative(taker)
    }

    /// Whether a handler does the same in any order: it changes commutative states only, reads none
    /// of them, and sends nothing.
    fn is_commutative(&self, node: &HandlerNode) -> bool {
        let changes = |name: &str| {
            let edge = self.edges.iter().find(|it| it.handler == node.name && it.state == name);
            match self.state(name).map(|state| state.kind) {
                Some(Kind::Commutative) => edge.is_none_or(|edge| !edge.reads),
                Some(Kind::ReadMostly) => true,
                _ => false,
            }
        };
        let states: BTreeSet<&str> =
            node.parameters.iter().map(|parameter| parameter.state.as_str()).collect();
        node.outboxes.is_empty() && !node.sends && states.into_iter().all(changes)
    }
}

impl<'a> Source<'a> {
    /// Its name.
    const fn name(self) -> &'a str {
        match self {
            Self::Wire => "the wire",
            Self::Handler(name) | Self::Timed(name) => name,
        }
    }

    /// In a sentence: the wire, or a name in quotes.
    fn quoted(self) -> String {
        match self {
            Self::Wire => "the wire".to_owned(),
            Self::Handler(name) | Self::Timed(name) => format!("`{name}`"),
        }
    }
}

impl Hearing<'_> {
    /// The flows of the message, in a few words: `by Word`, `one flow`, `no flow`.
    pub fn flow(&self) -> String {
        self.message.flow()
    }

    /// Why the order is the same under every plan, or is not.
    pub fn why(&self) -> String {
        let heard = |from: &str| format!("each flow hears from {from} alone");
        match self.order {
            Order::Silent => "nobody sends it".to_owned(),
            Order::NoFlow => "each message is a flow of its own".to_owned(),
            Order::Wire => heard("the wire"),
            Order::OneFlow(name) => heard(&format!("the one flow of `{name}`")),
            Order::SameKey(name) => heard(&format!("the flow of `{name}` with its key")),
            Order::AnyOrder => format!("`{}` does the same in any order", self.taker.name),
            Order::Several(Cause::Sources) => {
                let sources: Vec<String> = self.sources.iter().map(|it| it.quoted()).collect();
                format!("a flow may hear from {}", sources.join(" and "))
            }
            Order::Several(Cause::NoFlow(name)) => format!(
                "a flow may hear from any run of `{name}`, and each of these is a flow of its own"
            ),
            Order::Several(Cause::Flows(name)) => {
                format!("a flow may hear from several flows of `{name}`")
            }
            Order::Several(Cause::Timed(name)) => {
                format!("a flow hears from `{name}`, which runs besides the flows")
            }
        }
    }
}

impl MessageNode {
    /// Its flows in a few words: `by Word`, `one flow`, `no flow`.
    pub fn flow(&self) -> String {
        match self.key.as_deref() {
            None => "no flow".to_owned(),
            Some("One") => "one flow".to_owned(),
            Some(key) => format!("by {key}"),
        }
    }
}
