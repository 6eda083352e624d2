//! The tables of docs/json.md, and whether JSON is as they say.
//!
//! | written | read as |
//! | --- | --- |
//! | `text`, `integer`, `number`, `boolean` | a value of this type |
//! | `anything` | any JSON: it is a type of the program's |
//! | `integer or text` | either |
//! | `x or null`, `list of x`, `map of x` | null, an array or an object of such |
//! | `[part](#part)` | an object with the table under this heading |
//! | `all of [part](#part)` as a field | the fields of that table |
//! | *optional* behind a field's name | it may be missing |

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

/// A page with tables.
#[derive(Debug)]
pub(crate) struct Page {
    /// The rows of each table, by its heading.
    tables: BTreeMap<String, Vec<Row>>,
}

#[derive(Clone, Debug)]
struct Row {
    field: String,
    is_optional: bool,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Any,
    Text,
    Integer,
    Number,
    Boolean,
    IntegerOrText,
    OrNull(Box<Self>),
    List(Box<Self>),
    Map(Box<Self>),
    Part(String),
}

/// The rows that some JSON had, by table and field.
type Seen = BTreeSet<(String, String)>;

impl Page {
    pub(crate) fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md");
        let text = fs::read_to_string(path).expect("the page");
        let mut tables = BTreeMap::new();
        for section in text.split("\n### ").skip(1) {
            let (heading, rest) = section.split_once('\n').expect("a table");
            let mut lines = rest.lines().skip_while(|line| !line.starts_with('|'));
            let head = [lines.next(), lines.next()];
            assert_eq!(
                head,
                [Some("| field | type | unit | meaning |"), Some("| --- | --- | --- | --- |")],
                "{heading}"
            );
            let rows =
                lines.take_while(|line| line.starts_with('|')).map(|line| row(heading, line));
            let there = tables.insert(heading.to_owned(), rows.collect());
            assert!(there.is_none(), "two tables of {heading}");
        }
        Self { tables }
    }

    /// The headings of all tables.
    pub(crate) fn headings(&self) -> BTreeSet<&str> {
        self.tables.keys().map(String::as_str).collect()
    }

    /// The rows of a table, with those of tables that are in it as a whole.
    fn rows(&self, heading: &str) -> Vec<(&str, &Row)> {
        let (name, rows) = self.tables.get_key_value(heading).unwrap_or_else(|| {
            panic!("docs/json.md has no table `{heading}`");
        });
        let mut all = Vec::new();
        for row in rows {
            match &row.kind {
                Kind::Part(whole) if row.field.is_empty() => all.extend(self.rows(whole)),
                _ => all.push((name.as_str(), row)),
            }
        }
        all
    }

    /// Fails unless each value is as its table says, and each row is in one of them but for those
    /// in `unshown`. Returns the tables that were read.
    #[track_caller]
    pub(crate) fn check(
        &self,
        heading: &str,
        values: &[Value],
        unshown: &[(&str, &str)],
    ) -> BTreeSet<String> {
        let (mut seen, mut wrong) = (Seen::new(), Vec::new());
        for value in values {
            self.object(heading, value, heading, &mut seen, &mut wrong);
        }
        assert!(wrong.is_empty(), "not as in docs/json.md:\n  {}", wrong.join("\n  "));
        let mut reached = BTreeSet::new();
        self.reach(heading, unshown, &mut reached);
        let missing: Vec<&(String, String)> = reached.difference(&seen).collect();
        assert!(missing.is_empty(), "docs/json.md has what was not printed: {missing:?}");
        reached.into_iter().map(|(table, _)| table).collect()
    }

    /// All rows of a table and of the tables that it leads to.
    fn reach(&self, heading: &str, unshown: &[(&str, &str)], into: &mut Seen) {
        for (table, row) in self.rows(heading) {
            let is_shown = !unshown.contains(&(table, row.field.as_str()));
            if is_shown
                && into.insert((table.to_owned(), row.field.clone()))
                && let Some(part) = row.kind.part()
            {
                self.reach(part, unshown, into);
            }
        }
    }

    fn object(
        &self,
        heading: &str,
        value: &Value,
        place: &str,
        seen: &mut Seen,
        wrong: &mut Vec<String>,
    ) {
        let Some(fields) = value.as_object() else {
            return wrong.push(format!("{place}: {value} is no object"));
        };
        let rows = self.rows(heading);
        for name in fields.keys().filter(|name| rows.iter().all(|(_, row)| row.field != **name)) {
            wrong.push(format!("{place}: no row of `{heading}` has `{name}`"));
        }
        for (table, row) in rows {
            match fields.get(&row.field) {
                None if row.is_optional => {}
                None => wrong.push(format!("{place}: `{}` is missing", row.field)),
                Some(value) => {
                    seen.insert((table.to_owned(), row.field.clone()));
                    let place = format!("{place}.{}", row.field);
                    self.value(&row.kind, value, &place, seen, wrong);
                }
            }
        }
    }

    fn value(
        &self,
        kind: &Kind,
        value: &Value,
        place: &str,
        seen: &mut Seen,
        wrong: &mut Vec<String>,
    ) {
        let fits = match (kind, value) {
            (Kind::Any, _)
            | (Kind::Text | Kind::IntegerOrText, Value::String(_))
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::OrNull(_), Value::Null) => true,
            (Kind::Integer | Kind::IntegerOrText, Value::Number(number)) => number.is_u64(),
            (Kind::OrNull(kind), _) => return self.value(kind, value, place, seen, wrong),
            (Kind::List(kind), Value::Array(values)) => {
                return values.iter().for_each(|it| self.value(kind, it, place, seen, wrong));
            }
            (Kind::Map(kind), Value::Object(values)) => {
                return values.values().for_each(|it| self.value(kind, it, place, seen, wrong));
            }
            (Kind::Part(part), _) => return self.object(part, value, place, seen, wrong),
            _ => false,
        };
        if !fits {
            wrong.push(format!("{place}: {value} is no {kind:?}"));
        }
    }
}

impl Kind {
    fn of(text: &str) -> Self {
        let inner = |text: &str| Box::new(Self::of(text));
        if let Some(of) = text.strip_prefix("list of ") {
            return Self::List(inner(of));
        }
        if let Some(of) = text.strip_prefix("map of ") {
            return Self::Map(inner(of));
        }
        if let Some(of) = text.strip_suffix(" or null") {
            return Self::OrNull(inner(of));
        }
        match text {
            "anything" => Self::Any,
            "text" => Self::Text,
            "integer" => Self::Integer,
            "integer or text" => Self::IntegerOrText,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => Self::Part(linked(text).to_owned()),
        }
    }

    /// The table that it leads to.
    fn part(&self) -> Option<&str> {
        match self {
            Self::OrNull(kind) | Self::List(kind) | Self::Map(kind) => kind.part(),
            Self::Part(part) => Some(part),
            Self::Any
            | Self::Text
            | Self::Integer
            | Self::IntegerOrText
            | Self::Number
            | Self::Boolean => None,
        }
    }
}

/// The name in a link to a heading of the page.
fn linked(text: &str) -> &str {
    let link = text.strip_prefix('[').and_then(|text| text.strip_suffix(')'));
    let (name, anchor) = link
        .and_then(|link| link.split_once("](#"))
        .unwrap_or_else(|| panic!("`{text}` is no type of docs/json.md"));
    // As GitHub names headings.
    assert_eq!(name.replace('/', ""), anchor, "the link leads elsewhere");
    name
}

fn row(heading: &str, line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [field, kind, _unit, meaning] = cells[..] else {
        panic!("{heading}: four cells are expected in {line}")
    };
    if let Some(whole) = field.strip_prefix("all of ") {
        return Row { field: String::new(), is_optional: false, kind: Kind::of(whole) };
    }
    let (name, rest) = field.strip_prefix('`').and_then(|it| it.split_once('`')).expect(line);
    assert!(matches!(rest, "" | " optional") && !meaning.is_empty(), "{heading}: {line}");
    Row { field: name.to_owned(), is_optional: !rest.is_empty(), kind: Kind::of(kind) }
}
