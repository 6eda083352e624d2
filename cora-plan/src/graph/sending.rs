//! The messages that handlers send, as edges of the graph with the number of messages of a run.

use super::{Exit, Graph, HandlerNode, How, Path};

/// The messages of one type that a handler, a hook or a timer sends in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending<'a> {
    /// Who sends.
    pub handler: &'a str,
    /// The type of the messages.
    pub message: &'a str,
    /// Where they go. [`None`] if no path uses the outbox.
    pub how: Option<How>,
    /// The fewest and the most of a run that does not drop.
    pub times: Times,
}

/// Fewest and most of something; without a bound where a loop has no bound that the source shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The fewest.
    pub least: u32,
    /// The most, if there is a bound.
    pub most: Option<u32>,
}

impl Times {
    const NEVER: Self = Self { least: 0, most: Some(0) };

    fn or(self, other: Self) -> Self {
        let most = self.most.zip(other.most).map(|(one, two)| one.max(two));
        Self { least: self.least.min(other.least), most }
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { least, most } = *self;
        match most {
            Some(most) if most == least => write!(f, "{most}"),
            Some(most) => write!(f, "{least} to {most}"),
            None => write!(f, "{least} or more"),
        }
    }
}

impl Sending<'_> {
    /// In a few words: `sends 0 or more`, `replies 1`.
    pub fn label(&self) -> String {
        match self.how {
            Some(how) => format!("{} {}", how.word(), self.times),
            None => "unused".to_owned(),
        }
    }

    /// Whether a message may stay inside.
    pub fn stays(&self) -> bool {
        self.how.is_some_and(How::stays)
    }

    /// Whether a message may leave in a datagram.
    pub fn leaves(&self) -> bool {
        self.how.is_some_and(How::leaves)
    }
}

impl HandlerNode {
    /// The messages that it sends, by the order of its outboxes.
    pub fn sendings(&self) -> Vec<Sending<'_>> {
        let mut all = Vec::new();
        for message in &self.outboxes {
            let (handler, before) = (self.name.as_str(), all.len());
            for how in [How::Send, How::After, How::Reply, How::SendTo, How::Unseen] {
                if let Some(times) = self.times(message, how) {
                    all.push(Sending { handler, message, how: Some(how), times });
                }
            }
            if all.len() == before {
                all.push(Sending { handler, message, how: None, times: Times::NEVER });
            }
        }
        all
    }

    /// How many such messages a run sends that does not drop, if all runs do; [`None`] if no path
    /// sends one.
    fn times(&self, message: &str, how: How) -> Option<Times> {
        let sends =
            |path: &Path| path.sends.iter().any(|it| it.message == message && it.how == how);
        if !self.paths.iter().any(sends) {
            return None;
        }
        let paths =
            |drops: bool| self.paths.iter().filter(move |it| drops || it.exit != Exit::Drop);
        let drops = paths(false).next().is_none();
        paths(drops).map(|path| path.times(message, how)).reduce(Times::or)
    }
}

impl Path {
    /// How many such messages it sends.
    fn times(&self, message: &str, how: How) -> Times {
        let such = self.sends.iter().filter(|it| it.message == message && it.how == how);
        let (many, once): (Vec<_>, Vec<_>) = such.partition(|it| it.many);
        let least = u32::try_from(once.len()).unwrap_or(u32::MAX);
        Times { least, most: many.is_empty().then_some(least) }
    }
}

impl Graph {
    /// The messages that handlers, hooks and timers send.
    pub fn sendings(&self) -> Vec<Sending<'_>> {
        self.chain.iter().chain(self.timed()).flat_map(HandlerNode::sendings).collect()
    }
}
