//! Versions of read-mostly states: read from files, built, and put in force between two packets.
//!
//! A change is placed on the wire between two frames. The NIC puts it in force there, and forwards
//! it to the host, which finds it between the same two packets. So each packet is judged by one
//! version, on either side, and results don't depend on the plan. If a side dies before a change is
//! in force at both, the change is sent again ([`WireEnd`](crate::ingress::feed::WireEnd)).

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use cora_core::app::App;
use cora_core::config::File as _;
use cora_core::state::{Generation, Kind};
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::message::{Control, Message};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::ingress::door::Services;
use crate::ingress::rows::Rows;

/// One version: the text of each configured state. The others are their `Default`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) number: u32,
    /// Number of the first version, which applies to states that never changed.
    first: u32,
    texts: BTreeMap<String, Text>,
}

/// The source text of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Text {
    path: PathBuf,
    contents: String,
    /// The first version with this text.
    since: u32,
}

impl Version {
    /// The initial version of a run, from these files.
    pub(crate) fn first(number: u32, files: &[(String, PathBuf)]) -> Result<Self, RunError> {
        let texts = files.iter().map(|(state, path)| {
            let text = Text { path: path.clone(), contents: read(path)?, since: number };
            Ok((state.clone(), text))
        });
        Ok(Self { number, first: number, texts: texts.collect::<Result<_, RunError>>()? })
    }

    /// The version after this one, if these files have changed.
    pub(crate) fn next(&self, files: &[(String, PathBuf)]) -> Result<Option<Self>, RunError> {
        let number = self.number + 1;
        let mut next = Self { number, ..self.clone() };
        for (state, path) in files {
            let contents = read(path)?;
            if self.texts.get(state).is_none_or(|before| before.contents != contents) {
                let text = Text { path: path.clone(), contents, since: number };
                next.texts.insert(state.clone(), text);
            }
        }
        Ok((next.texts != self.texts).then_some(next))
    }

    /// Whether a state's text is new in it.
    fn is_new(&self, text: &Text) -> bool {
        text.since == self.number
    }

    /// The states that are new in it.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &str> {
        let new = self.texts.iter().filter(|(_, text)| self.is_new(text));
        new.map(|(state, _)| state.as_str())
    }

    /// Puts it in force here.
    pub(crate) fn put_in_force<A: App>(&self, app: &mut A) -> Result<(), RunError> {
        for number in read_mostly(app) {
            app.described(number).begin_generation(Generation::new(self.first));
        }
        self.configure(app, |_| true)
    }

    /// Configures the states whose text is wanted.
    fn configure<A: App>(
        &self,
        app: &mut A,
        is_wanted: impl Fn(&Text) -> bool,
    ) -> Result<(), RunError> {
        let mut faults = Vec::new();
        for (state, text) in self.texts.iter().filter(|(_, text)| is_wanted(text)) {
            let Text { path, contents, since } = text;
            let mut file = Rows::new(contents);
            if !app.configure(state, &mut file) {
                let numbers = read_mostly(app).into_iter();
                let known = numbers.map(|number| A::PLACES[number].0).collect();
                return Err(RunError::NoSuchState { name: state.clone(), known });
            }
            if !file.is_sound() {
                faults.extend(file.faults(&path.display()));
                continue;
            }
            if let Some(number) = A::PLACES.iter().position(|(name, _)| name == state) {
                app.described(number).begin_generation(Generation::new(*since));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(RunError::Configuration(faults)) }
    }
}

fn read(path: &Path) -> Result<String, RunError> {
    std::fs::read_to_string(path).map_err(|cause| RunError::File { path: path.into(), cause })
}

/// The numbers of a program's read-mostly states.
pub(crate) fn read_mostly<A: App>(app: &mut A) -> Vec<usize> {
    (0..A::STATES).filter(|number| app.state(*number).kind() == Kind::ReadMostly).collect()
}

/// The change from one version to the next: the new states, encoded in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) number: u32,
    pieces: Vec<(u16, Vec<u8>)>,
    /// The services from then on.
    pub(crate) services: Services,
}

impl Change {
    /// The change from the previous version to `version`. Its new states are configured in `app`;
    /// the files of the others, which may be long, are not read again.
    pub(crate) fn make<A: App>(app: &mut A, version: &Version) -> Result<Self, RunError> {
        version.configure(app, |text| version.is_new(text))?;
        let changed: Vec<_> = version.changed().collect();
        let is_new = |number: &usize| changed.contains(&A::PLACES[*number].0);
        let numbers = read_mostly(app).into_iter().filter(is_new).collect();
        let pieces = pieces(app, numbers);
        Ok(Self { number: version.number, pieces, services: Services::of(app) })
    }

    /// Puts it in force here.
    pub(crate) fn put_in_force<A: App>(&self, app: &mut A) -> Result<(), RunError> {
        Ok(merge(app, &self.pieces)?)
    }

    /// Its form on the wire: kinds of messages, and their bytes.
    pub(crate) fn records(&self) -> impl Iterator<Item = (u16, Vec<u8>)> {
        let version = self.number;
        let pieces = self.pieces.iter();
        let pieces = pieces.map(|(state, piece)| Control::Piece { state: *state, piece });
        let end = Control::Changed { version, pieces: self.pieces.len() as u32 };
        [Control::Change { version }]
            .into_iter()
            .chain(pieces)
            .chain([end])
            .map(|message| Message::from(message).encode(|kind, parts| (kind, parts.concat())))
    }

    /// The number of the change that begins with this record, if any.
    pub(crate) fn begins(kind: u16, record: &[u8]) -> Option<u32> {
        match Message::decode(kind, record) {
            Some(Message::Control(Control::Change { version })) => Some(version),
            _ => None,
        }
    }
}

/// Changes, in order, each to be placed before the packet with this number, or at the end of a
/// shorter wire.
pub(crate) type Changes = VecDeque<(u64, Change)>;

/// The changes of a run that begins with version `first`, from packet numbers and files per state.
/// Those before the same packet are combined.
pub(crate) fn changes<A: App>(
    app: &mut A,
    first: &Version,
    files: &[(u64, String, PathBuf)],
) -> Result<Changes, RunError> {
    if files.is_empty() {
        return Ok(Changes::new());
    }
    let mut by_packet: BTreeMap<u64, Vec<(String, PathBuf)>> = BTreeMap::new();
    for (packet, state, path) in files {
        by_packet.entry(*packet).or_default().push((state.clone(), path.clone()));
    }
    let numbers = read_mostly(app);
    let before = pieces(app, numbers);
    let (mut version, mut changes) = (first.clone(), Changes::new());
    for (packet, files) in by_packet {
        let Some(next) = version.next(&files)? else { continue };
        changes.push_back((packet, Change::make(app, &next)?));
        version = next;
    }
    merge(app, &before)?;
    Ok(changes)
}

fn pieces<A: App>(app: &mut A, states: Vec<usize>) -> Vec<(u16, Vec<u8>)> {
    let mut pieces = Vec::new();
    for state in states {
        app.state(state).export(0, &mut |piece| pieces.push((state as u16, piece.to_vec())));
    }
    pieces
}

fn merge<A: App>(app: &mut A, pieces: &[(u16, Vec<u8>)]) -> Result<(), ProtocolError> {
    for (state, piece) in pieces {
        let bad = ProtocolError::BadPiece(*state);
        let number = usize::from(*state);
        if number >= A::STATES || app.state(number).kind() != Kind::ReadMostly {
            return Err(bad);
        }
        app.state(number).merge(piece).map_err(|_| bad)?;
    }
    Ok(())
}

/// Limit of the bytes of pieces that a NIC may send, including the memory to keep them. The
/// encoding of its states takes at most twice their memory.
pub(crate) const fn most_told<A: App>() -> usize {
    2 * A::MEMORY + (1 << 20)
}

/// A change that arrives from the NIC, piece by piece.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arriving {
    pieces: Vec<(u16, Vec<u8>)>,
    bytes: usize,
    /// The latest version that arrived completely, if any.
    pub(crate) in_force: Option<u32>,
}

impl Arriving {
    /// Takes the next piece.
    pub(crate) fn take<A: App>(&mut self, state: u16, piece: &[u8]) -> Result<(), ProtocolError> {
        // Pieces without bytes take memory too.
        self.bytes += size_of::<(u16, Vec<u8>)>() + piece.len();
        // The total size of the states is the limit.
        if self.bytes > most_told::<A>() {
            return Err(ProtocolError::BadPiece(state));
        }
        self.pieces.push((state, piece.to_vec()));
        Ok(())
    }

    /// Puts the change in force, if all its pieces arrived.
    pub(crate) fn end<A: App>(
        &mut self,
        app: &mut A,
        version: u32,
        pieces: u32,
    ) -> Result<(), ProtocolError> {
        let came = std::mem::take(&mut self.pieces);
        self.bytes = 0;
        if pieces as usize == came.len() {
            merge(app, &came)?;
            self.in_force = Some(version);
        }
        Ok(())
    }

    /// Discards an incomplete change: the NIC is gone, or the change is sent again, since another
    /// host or NIC read its beginning.
    pub(crate) fn forget(&mut self) {
        self.pieces.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use cora_runtime::link::message::Kind as MessageKind;

    use super::*;

    #[test]
    fn only_states_whose_text_is_another_are_new() {
        let room = tempfile::tempdir().expect("a directory");
        let path = |name: &str| room.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("it is ours");
        write("rules", "a");
        write("rates", "b");
        let files = [("Rules".to_owned(), path("rules")), ("Rates".to_owned(), path("rates"))];
        let first = Version::first(5, &files).expect("both are there");
        assert_eq!(first.next(&files).expect("they are"), None, "they say nothing else");
        write("rates", "c");
        let next = first.next(&files).expect("they are").expect("one is new");
        assert_eq!((next.number, next.changed().collect::<Vec<_>>()), (6, vec!["Rates"]));
        assert_eq!(next.texts["Rules"].since, 5);
        std::fs::remove_file(path("rules")).expect("it was there");
        assert!(next.next(&files).is_err_and(|error| error.to_string().contains("rules")));
    }

    #[test]
    fn a_change_stands_between_two_marks() {
        let pieces = vec![(2, vec![0, 0, 0, 0, 9])];
        let change = Change { number: 7, pieces, services: Services::default() };
        let records: Vec<_> = change.records().collect();
        assert!(records.iter().all(|(kind, _)| MessageKind::is_of_change(*kind)));
        let begins = |(kind, record): &(u16, Vec<u8>)| Change::begins(*kind, record);
        let begins: Vec<_> = records.iter().map(begins).collect();
        assert_eq!(begins, [Some(7), None, None], "only the first one begins it");
        let decoded = |at: usize| Message::decode(records[at].0, &records[at].1);
        let piece = Control::Piece { state: 2, piece: &[0, 0, 0, 0, 9] };
        assert_eq!(decoded(1), Some(piece.into()));
        assert_eq!(decoded(2), Some(Control::Changed { version: 7, pieces: 1 }.into()));
    }
}
