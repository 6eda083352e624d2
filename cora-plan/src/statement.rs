//! The user's statements about the plan: the name of a plan, or a `cora.toml`.
//!
//! ```toml
//! [plan]
//! use = "best"         # searched; or "split", "host-only", "nic-only"
//! nic = "bluefield2"   # for which NIC: a built-in profile, or a file beside this one
//! traffic = "zipf"     # for which traffic: a built-in profile, or a file
//! mpps = 10            # at which rate, in million packets a second; or `host-cores = 2`, for the
//!                      # highest rate with them
//! nic-share = 0.5      # the NIC owns at most half of the flows
//! nic-buckets = 128    # under `dealt`: buckets that the NIC gets, of 256
//!
//! [plan.places]
//! Session = "host"     # instead of "travels"
//! ```

use std::collections::BTreeMap;

use thiserror::Error;

use crate::nearest::choose;
use crate::toml::{Entry, Fault, Range, Reader, Table};
use crate::traffic::Traffic;
use crate::vocabulary::{BUCKETS, Place, Sides};

/// The wanted plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The sides that run packets.
    pub sides: Sides,
    /// The share of the flows that the NIC may own, 0 to 1.
    pub nic_share: Option<Stated<f64>>,
    /// Under `dealt`: buckets that the NIC gets, 0 to [`BUCKETS`].
    pub nic_buckets: Option<Stated<u16>>,
    /// Places of single states, instead of the default of their kind.
    pub places: BTreeMap<String, Stated<Place>>,
    /// Handlers that run at the host only.
    pub host_handlers: Vec<String>,
    /// Packets of a flow that the host handles before it offers the flow to the NIC; at least 1.
    pub offer_after: u32,
    /// The target of the search; `None` if the plan is completely stated.
    pub target: Option<Target>,
}

/// The target of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Whether the search also chooses the sides.
    pub any_sides: bool,
    /// A NIC profile: a built-in one, or a file.
    pub nic: String,
    /// A traffic profile: a built-in one, or a file.
    pub traffic: String,
    /// Rate, or host cores; `None` if neither is stated.
    pub ask: Option<Ask>,
}

/// What a plan is searched for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// This rate, in million packets a second, with the fewest host cores.
    Rate(f64),
    /// The highest rate with this number of host cores.
    HostCores(f64),
}

impl Default for Target {
    fn default() -> Self {
        let (nic, traffic) = (Self::NIC.to_owned(), Self::TRAFFIC.to_owned());
        Self { any_sides: true, nic, traffic, ask: None }
    }
}

impl Target {
    /// The default NIC profile.
    pub const NIC: &'static str = "bluefield2";
    /// The default traffic profile.
    pub const TRAFFIC: &'static str = "zipf";
    /// The default host cores, if neither they nor a rate are stated and the traffic has no rate of
    /// its own. The highest rate with a number of cores is never infeasible.
    pub const HOST_CORES: f64 = 1.0;

    /// What the plan is searched for: as stated, or the rate at which the traffic was counted.
    pub fn ask(&self, traffic: &Traffic) -> Ask {
        let own = || traffic.mpps.map_or(Ask::HostCores(Self::HOST_CORES), Ask::Rate);
        self.ask.clone().unwrap_or_else(own)
    }
}

/// The name of a searched plan.
pub const BEST: &str = "best";

/// Keys of `[plan]`.
static KEYS: [&str; 8] =
    ["use", "nic", "traffic", "mpps", "host-cores", "nic-share", "nic-buckets", "places"];

/// Valid names for `use`, in the order of messages.
static PLANS: [&str; 5] =
    [BEST, Sides::HostOnly.word(), Sides::NicOnly.word(), Sides::Split.word(), Sides::Dealt.word()];

/// A stated value and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated<T> {
    /// The value.
    pub what: T,
    /// Line of `cora.toml`, from 1.
    pub line: usize,
}

/// A fault of a `cora.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementError {
    /// It is not TOML, or has other keys or types.
    #[error(transparent)]
    Document(#[from] Fault),
    /// `use` names no plan.
    #[error("there is no plan `{name}`")]
    UnknownPlan {
        /// The name.
        name: String,
        /// Line; `None` if it does not come from a file.
        line: Option<usize>,
    },
    /// An unknown place.
    #[error("there is no place `{name}` for `{state}`")]
    UnknownPlace {
        /// The name.
        name: String,
        /// The state.
        state: String,
        /// Line.
        line: usize,
    },
    /// A share below 0 or above 1.
    #[error("`nic-share = {share}` is not between 0 and 1")]
    ShareOutOfRange {
        /// The share, as written.
        share: String,
        /// Line.
        line: usize,
    },
    /// A number of buckets that is not a whole one from 0 to [`BUCKETS`].
    #[error("`nic-buckets = {buckets}` is not a whole number from 0 to {BUCKETS}")]
    BucketsOutOfRange {
        /// The number, as written.
        buckets: String,
        /// Line.
        line: usize,
    },
    /// A number of buckets under a plan that deals none.
    #[error("`nic-buckets` is stated, but `{plan}` deals no stated number of buckets")]
    BucketsNotDealt {
        /// The plan.
        plan: &'static str,
        /// Line.
        line: usize,
    },
    /// Both a rate and a number of host cores.
    #[error("`mpps` and `host-cores` are both stated, and a plan has one aim")]
    TwoAsks {
        /// Line of `host-cores`.
        line: usize,
    },
}

impl StatementError {
    /// Line of the file, if there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Document(fault) => Some(fault.line()),
            Self::UnknownPlace { line, .. }
            | Self::ShareOutOfRange { line, .. }
            | Self::BucketsOutOfRange { line, .. }
            | Self::BucketsNotDealt { line, .. }
            | Self::TwoAsks { line } => Some(*line),
            Self::UnknownPlan { line, .. } => *line,
        }
    }

    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::Document(fault) => fault.cure(),
            Self::UnknownPlan { name, .. } => choose(name, &PLANS),
            Self::UnknownPlace { name, .. } => choose(name, &Place::ALL.map(Place::word)),
            Self::TwoAsks { .. } => {
                "remove one of them: `mpps` asks for the fewest host cores at a rate, \
                                     `host-cores` for the highest rate with so many"
                    .to_owned()
            }
            Self::ShareOutOfRange { .. } => {
                "write a number from 0.0 (the NIC owns no flow) to 1.0 (it may own all)".to_owned()
            }
            Self::BucketsOutOfRange { .. } => {
                format!(
                    "write a whole number from 0 (the NIC gets none) to {BUCKETS} (it gets all)"
                )
            }
            Self::BucketsNotDealt { .. } => {
                "remove the line, or write `use = \"dealt\"`".to_owned()
            }
        }
    }
}

impl Statement {
    /// Plain `host-only`, `nic-only`, `split` or `dealt`.
    pub fn of(sides: Sides) -> Self {
        Self {
            sides,
            nic_share: None,
            nic_buckets: None,
            places: BTreeMap::new(),
            host_handlers: Vec::new(),
            offer_after: 1,
            target: None,
        }
    }

    /// A search for the default target.
    pub fn best() -> Self {
        Self { target: Some(Target::default()), ..Self::of(Sides::Split) }
    }

    /// The stated places, sides and share, without the target, for a check against a program.
    #[must_use]
    pub fn pins(&self) -> Self {
        let split = !self.places.is_empty() && self.target.as_ref().is_some_and(|t| t.any_sides);
        let sides = if split { Sides::Split } else { self.sides };
        Self { sides, target: None, ..self.clone() }
    }

    /// The plan of this name.
    pub fn named(name: &str) -> Result<Self, StatementError> {
        if name == BEST {
            return Ok(Self::best());
        }
        Sides::named(name)
            .map(Self::of)
            .ok_or_else(|| StatementError::UnknownPlan { name: name.to_owned(), line: None })
    }

    /// Reads a `cora.toml`.
    ///
    /// # Errors
    /// All its faults.
    pub fn parse(text: &str) -> Result<Self, Vec<StatementError>> {
        Reader::read(text, "`cora.toml`", "begins with `[plan]`", |reader, document| {
            let mut statement = Self::of(Sides::Split);
            reader.only(document, &["plan"]);
            if let Some(plan) = document.get("plan") {
                statement.read_plan(reader, plan);
            }
            Some(statement)
        })
    }

    fn read_plan(&mut self, reader: &mut Reading<'_>, plan: Entry<'_>) {
        let Some(plan) = reader.table(plan, "`[plan]`") else { return };
        reader.only(&plan, &KEYS);
        self.read_target(reader, &plan);
        if let Some(entry) = plan.get("use") {
            self.read_sides(reader, entry);
        }
        if let Some(entry) = plan.get("nic-share") {
            self.read_share(reader, entry);
        }
        if let Some(entry) = plan.get("nic-buckets") {
            self.read_buckets(reader, entry);
        }
        if let Some(entry) = plan.get("places") {
            self.read_places(reader, entry);
        }
    }

    fn read_target(&mut self, reader: &mut Reading<'_>, plan: &Table<'_>) {
        if let Some(name) = plan.get("nic").and_then(|entry| reader.string(entry)) {
            name.clone_into(&mut self.target.get_or_insert_default().nic);
        }
        if let Some(name) = plan.get("traffic").and_then(|entry| reader.string(entry)) {
            name.clone_into(&mut self.target.get_or_insert_default().traffic);
        }
        for key in ["host-cores", "mpps"] {
            let Some(entry) = plan.get(key) else { continue };
            let Some(number) = reader.number(entry, Range::POSITIVE) else { continue };
            let ask = if key == "mpps" { Ask::Rate(number) } else { Ask::HostCores(number) };
            self.target.get_or_insert_default().ask = Some(ask);
        }
        if let (Some(cores), Some(_)) = (plan.get("host-cores"), plan.get("mpps")) {
            reader.refuse(cores.line, StatementError::TwoAsks { line: cores.line });
        }
    }

    fn read_sides(&mut self, reader: &mut Reading<'_>, entry: Entry<'_>) {
        let Some(name) = reader.string(entry) else { return };
        if let Some(sides) = Sides::named(name) {
            self.sides = sides;
            self.target.iter_mut().for_each(|target| target.any_sides = false);
        } else if name == BEST {
            self.target.get_or_insert_default().any_sides = true;
        } else {
            let (name, line) = (name.to_owned(), Some(entry.line));
            reader.refuse(entry.line, StatementError::UnknownPlan { name, line });
        }
    }

    fn read_share(&mut self, reader: &mut Reading<'_>, entry: Entry<'_>) {
        let Some(written) = reader.written(entry, Range::SHARE.wanted) else { return };
        match written.number {
            Some(what) if Range::SHARE.holds(what) => {
                self.nic_share = Some(Stated { what, line: entry.line });
            }
            _ => {
                let (share, line) = (written.text, entry.line);
                reader.refuse(line, StatementError::ShareOutOfRange { share, line });
            }
        }
    }

    /// Reads the number of buckets; `use` is read already.
    fn read_buckets(&mut self, reader: &mut Reading<'_>, entry: Entry<'_>) {
        let line = entry.line;
        let searched = self.target.as_ref().is_some_and(|target| target.any_sides);
        if searched || self.sides != Sides::Dealt {
            let plan = if searched { BEST } else { self.sides.word() };
            reader.refuse(line, StatementError::BucketsNotDealt { plan, line });
        }
        let Some(written) = reader.written(entry, "a whole number") else { return };
        let whole = (0..=BUCKETS).find(|whole| written.number == Some(f64::from(*whole)));
        if let Some(what) = whole {
            self.nic_buckets = Some(Stated { what, line });
        } else {
            let buckets = written.text;
            reader.refuse(line, StatementError::BucketsOutOfRange { buckets, line });
        }
    }

    fn read_places(&mut self, reader: &mut Reading<'_>, entry: Entry<'_>) {
        let Some(table) = reader.table(entry, "`[plan.places]`") else { return };
        for entry in table.entries {
            let Some(name) = reader.string(entry) else { continue };
            let (state, line) = (entry.key.to_owned(), entry.line);
            if let Some(what) = Place::ALL.into_iter().find(|place| place.word() == name) {
                self.places.insert(state, Stated { what, line });
            } else {
                let name = name.to_owned();
                reader.refuse(line, StatementError::UnknownPlace { name, state, line });
            }
        }
    }
}

type Reading<'a> = Reader<'a, StatementError>;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(text: &str) -> Vec<String> {
        Statement::parse(text)
            .expect_err("a refusal")
            .iter()
            .map(|e| format!("{}: {e}; {}", e.line().unwrap_or(0), e.cure()))
            .collect()
    }

    #[test]
    fn an_empty_file_states_a_plain_split() {
        assert_eq!(Statement::parse(""), Ok(Statement::of(Sides::Split)));
    }

    #[test]
    fn everything_stated_is_read() {
        let text = "[plan]\nuse = \"split\"\nnic-share = 0.25\n[plan.places]\nSession = \"host\"\n";
        let statement = Statement::parse(text).expect("a statement");
        assert_eq!(statement.sides, Sides::Split);
        assert_eq!(statement.nic_share, Some(Stated { what: 0.25, line: 3 }));
        assert_eq!(statement.places["Session"], Stated { what: Place::Host, line: 5 });
    }

    #[test]
    fn all_faults_are_told_at_once_with_their_lines() {
        let text = "plans = 1\n[plan]\nuse = \"splti\"\nnic-share = 1.5\nshare = 1\n\
                    [plan.places]\nSession = \"travel\"\nPorts = 3\n";
        assert_eq!(
            refusals(text),
            [
                "1: unknown key `plans` in `cora.toml`; did you mean `plan`?",
                "3: there is no plan `splti`; did you mean `split`?",
                "4: `nic-share = 1.5` is not between 0 and 1; write a number from 0.0 (the NIC owns no flow) \
                 to 1.0 (it may own all)",
                "5: unknown key `share` in `[plan]`; write one of `use`, `nic`, `traffic`, `mpps`, `host-cores`, `nic-share`, `nic-buckets`, `places`",
                "7: there is no place `travel` for `Session`; did you mean `travels`?",
                "8: `Ports` is an integer, where a string is wanted; write a string",
            ]
        );
    }

    #[test]
    fn without_an_ask_the_traffic_says_at_which_rate() {
        let ask = |text: &str, traffic: &str| {
            let statement = Statement::parse(&format!("[plan]\nuse = \"best\"\n{text}"));
            let target = statement.expect("a statement").target.expect("a target");
            target.ask(&Traffic::load(traffic).expect("built in"))
        };
        let counted = Traffic::load("campus").expect("built in").mpps.expect("a rate");
        assert_eq!(ask("", "campus"), Ask::Rate(counted));
        assert_eq!(ask("", "zipf"), Ask::HostCores(1.0));
        assert_eq!(ask("mpps = 3", "campus"), Ask::Rate(3.0));
        assert_eq!(ask("host-cores = 2", "campus"), Ask::HostCores(2.0));
    }

    #[test]
    fn buckets_are_dealt_by_their_number() {
        let stated = |plan: &str, buckets: &str| {
            format!("[plan]\nuse = \"{plan}\"\nnic-buckets = {buckets}\n")
        };
        for buckets in [0, 1, 128, 256] {
            let statement = Statement::parse(&stated("dealt", &buckets.to_string()));
            let statement = statement.expect("a statement");
            assert_eq!(statement.sides, Sides::Dealt);
            assert_eq!(statement.nic_buckets, Some(Stated { what: buckets, line: 3 }));
        }
        for buckets in ["257", "-1", "0.5", "nan"] {
            assert_eq!(
                refusals(&stated("dealt", buckets)),
                [format!(
                    "3: `nic-buckets = {buckets}` is not a whole number from 0 to 256; write a whole number from 0 \
                     (the NIC gets none) to 256 (it gets all)"
                )]
            );
        }
        for plan in ["split", "host-only", "nic-only", "best"] {
            assert_eq!(
                refusals(&stated(plan, "12")),
                [format!(
                    "3: `nic-buckets` is stated, but `{plan}` deals no stated number of buckets; remove the line, or \
                     write `use = \"dealt\"`"
                )]
            );
        }
        assert_eq!(refusals("[plan]\nnic-buckets = 12\n").len(), 1, "a split deals none");
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_line() {
        let refusals = refusals("[plan]\nuse = split\n");
        assert_eq!(refusals.len(), 1);
        assert!(refusals[0].starts_with("2: "), "{refusals:?}");
    }

    #[test]
    fn a_share_that_is_no_number_is_refused() {
        assert_eq!(refusals("[plan]\nnic-share = nan\n").len(), 1);
        assert_eq!(refusals("[plan]\nnic-share = true\n").len(), 1);
        assert_eq!(refusals("plan = 1\n").len(), 1);
    }
}
