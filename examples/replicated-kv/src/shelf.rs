//! The tables' answers to questions, on `fjall`, or in a test on a map.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cora::prelude::*;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::learner::{NO_SESSIONS, Sessions};
use crate::tables::{Ask, Item, Said};
use crate::wire::{Told, Value};

/// Why tables fail.
pub type Failed = Box<dyn Error + Send + Sync>;
type Result<T> = std::result::Result<T, Failed>;
/// A key of the tables, and its value; without one it is removed.
pub type Change = (Vec<u8>, Option<Vec<u8>>);

/// Where keys have values.
pub trait Kept {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// Makes all changes, or none. `sure`: they outlive the machine.
    fn change(&mut self, changes: Vec<Change>, sure: bool) -> Result<()>;
}

/// Who hears of the answer.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum Answered {
    Client { to: Peer, number: u64, said: Told },
    Group(Said),
    Nobody,
}

/// Pieces of the flush that is under way, by group: its slot, and how many came.
pub type Counted = BTreeMap<u32, (u64, u32)>;

/// The key of a name's value.
fn key_of(group: u32, name: &[u8]) -> Vec<u8> {
    [b"n", &group.to_be_bytes()[..], name].concat()
}

/// The key of a group's record.
fn key_of_group(group: u32) -> Vec<u8> {
    [b"g", &group.to_be_bytes()[..]].concat()
}

/// A group's record: whether it may have voted, the slot of its seal, the last writes of clients.
fn encoded(began: bool, upto: u64, sessions: &Sessions) -> Vec<u8> {
    let mut bytes = vec![0; 16 + Sessions::SIZE];
    u64::from(began).put(&mut bytes);
    upto.put(&mut bytes[8..]);
    sessions.put(&mut bytes[16..]);
    bytes
}

/// A group's record.
fn known(tables: &impl Kept, group: u32) -> Result<(bool, u64, Sessions)> {
    let Some(bytes) = tables.get(&key_of_group(group))? else {
        return Ok((false, 0, NO_SESSIONS));
    };
    let read = || {
        Some((u64::get(&bytes)? != 0, u64::get(bytes.get(8..)?)?, Sessions::get(bytes.get(16..)?)?))
    };
    read().ok_or_else(|| format!("what is kept of group {group} is damaged").into())
}

/// Does a request.
pub fn answer(
    tables: &mut impl Kept,
    counted: &mut Counted,
    group: u32,
    ask: &Ask,
) -> Result<Answered> {
    match ask {
        Ask::Recall => {
            counted.remove(&group);
            let (began, upto, sessions) = known(tables, group)?;
            Ok(Answered::Group(Said::Recalled { began, upto, sessions }))
        }
        Ask::Begin => {
            let (_, upto, sessions) = known(tables, group)?;
            let change = (key_of_group(group), Some(encoded(true, upto, &sessions)));
            tables.change(vec![change], true)?;
            Ok(Answered::Group(Said::Began))
        }
        Ask::Find { name, number, to } => {
            let said = match tables.get(&key_of(group, name))? {
                Some(value) => Told::Is { value: Value::of(&value).map_err(|_| "a long value")? },
                None => Told::Nothing,
            };
            Ok(Answered::Client { to: *to, number: *number, said })
        }
        Ask::Piece { upto, count, items } => {
            let items = items.get(..usize::from(*count)).unwrap_or_default();
            let (Some(first), Some(last)) = (items.first(), items.last()) else {
                return Ok(Answered::Nobody);
            };
            let change = |item: &Item| {
                (key_of(group, &item.name), (!item.is_gone).then(|| item.value.to_vec()))
            };
            tables.change(items.iter().map(change).collect(), false)?;
            let under_way = counted.entry(group).or_default();
            let came = if under_way.0 == *upto { under_way.1 } else { 0 };
            *under_way = (*upto, came + 1);
            Ok(Answered::Group(Said::Kept { upto: *upto, first: first.name, last: last.name }))
        }
        Ask::Seal { upto, pieces, sessions } => {
            // Without lines there are no pieces.
            let came = counted.remove(&group).filter(|(of, _)| of == upto);
            if came.map_or(0, |(_, pieces)| pieces) != *pieces {
                // A piece was lost with a half: the flush is sent again.
                return Ok(Answered::Nobody);
            }
            let (began, before, _) = known(tables, group)?;
            if before < *upto {
                let change = (key_of_group(group), Some(encoded(began, *upto, sessions)));
                tables.change(vec![change], false)?;
            }
            Ok(Answered::Group(Said::Sealed { upto: *upto }))
        }
    }
}

/// Tables of `fjall`.
pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
}

impl Fjall {
    /// Opens those in a directory, which is made if need be.
    ///
    /// # Errors
    /// If the directory can't be used, or another process has it.
    pub fn open(directory: &Path) -> Result<Self> {
        let database = Database::builder(directory).open()?;
        let keyspace = database.keyspace("tables", KeyspaceCreateOptions::default)?;
        Ok(Self { database, keyspace })
    }
}

impl Kept for Fjall {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.keyspace.get(key)?.map(|value| value.to_vec()))
    }

    fn change(&mut self, changes: Vec<Change>, sure: bool) -> Result<()> {
        let mut batch = self.database.batch();
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(&self.keyspace, key, value),
                None => batch.remove(&self.keyspace, key),
            }
        }
        batch.commit()?;
        if sure {
            self.database.persist(PersistMode::SyncAll)?;
        }
        Ok(())
    }
}

/// The tables of a node, and what it counts.
type Opened = (Fjall, Counted);

/// The tables of this run, which are opened when a group asks first: by the number of the node,
/// since one process may be several nodes to measure them.
static TABLES: Mutex<BTreeMap<u8, Opened>> = Mutex::new(BTreeMap::new());

/// A number that this node of this run alone has, whichever of its halves starts again: made of
/// the supervisor's process, its start, and that of the machine.
fn mark(node: u8) -> u64 {
    let supervisor = std::os::unix::process::parent_id();
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let stat = read(&format!("/proc/{supervisor}/stat"));
    // Behind the name of the program, which may have blanks: state, and 18 more before the start.
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
    let boot = read("/proc/sys/kernel/random/boot_id");
    let text = format!("{node} {supervisor} {start:?} {boot}");
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(text.as_bytes().chunks(8)) {
        bytes.iter().for_each(|byte| *word = *word << 8 | u64::from(*byte));
    }
    sip_hash([0; 2], &words)
}

/// The directory of the node's tables.
fn directory(node: u8) -> PathBuf {
    let named = std::env::var_os("REPLICATED_KV_TABLES").map(PathBuf::from);
    let own = || std::env::temp_dir().join(format!("replicated-kv-{:016x}", mark(node)));
    named.unwrap_or_else(own)
}

/// Asks the tables that this node has in this run.
pub fn of_this_run(
    node: u8,
    ask: impl FnOnce(&mut Fjall, &mut Counted) -> Result<Answered>,
) -> Result<Answered> {
    let mut all = TABLES.lock().map_err(|_| "a panic while the tables were in use")?;
    let answered = (|| {
        let (tables, counted) = match all.entry(node) {
            Entry::Occupied(opened) => opened.into_mut(),
            Entry::Vacant(free) => free.insert((Fjall::open(&directory(node))?, Counted::new())),
        };
        ask(tables, counted)
    })();
    if let Err(error) = &answered {
        let at = directory(node);
        eprintln!(
            "replicated-kv: the tables in {} fail: {error}; say another directory by \
             REPLICATED_KV_TABLES",
            at.display()
        );
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Session;
    use crate::tables::PIECE;
    use crate::wire::Name;

    /// A directory of this process, which is removed at the end.
    struct Room(PathBuf);

    impl Room {
        fn new(name: &str) -> Self {
            let own = format!("replicated-kv-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(own))
        }
    }

    impl Drop for Room {
        fn drop(&mut self) {
            let _was_there = std::fs::remove_dir_all(&self.0);
        }
    }

    fn group(answered: Answered) -> Option<Said> {
        if let Answered::Group(said) = answered { Some(said) } else { None }
    }

    fn piece(upto: u64, name: &[u8], value: Option<&[u8]>) -> Ask {
        let mut items = [Item::NONE; PIECE];
        let (name, is_gone) = (Name::of(name).unwrap(), value.is_none());
        items[0] = Item { name, is_gone, value: Value::of(value.unwrap_or_default()).unwrap() };
        Ask::Piece { upto, count: 1, items }
    }

    /// A seal's state is there when the tables are opened again, and no group has another's.
    #[test]
    fn what_is_sealed_is_there_again() {
        let room = Room::new("sealed");
        let mut sessions = NO_SESSIONS;
        sessions[3] = Session { client: 7, number: 2, slot: 9 };
        {
            let (mut tables, mut counted) = (Fjall::open(&room.0).unwrap(), Counted::new());
            let mut ask = |of, ask| answer(&mut tables, &mut counted, of, &ask).unwrap();
            let said = group(ask(1, Ask::Recall)).unwrap();
            assert_eq!(said, Said::Recalled { began: false, upto: 0, sessions: NO_SESSIONS });
            assert_eq!(group(ask(1, Ask::Begin)), Some(Said::Began));
            ask(1, piece(8, b"gone", Some(b"1")));
            ask(1, piece(8, b"kept", Some(b"2")));
            // A piece is missing, so there is no seal.
            assert_eq!(group(ask(1, Ask::Seal { upto: 8, pieces: 3, sessions })), None);
            ask(1, piece(9, b"gone", None));
            let sealed = group(ask(1, Ask::Seal { upto: 9, pieces: 1, sessions }));
            assert_eq!(sealed, Some(Said::Sealed { upto: 9 }));
        }
        let mut tables = Fjall::open(&room.0).unwrap();
        let mut of =
            |of| group(answer(&mut tables, &mut Counted::new(), of, &Ask::Recall).unwrap());
        assert_eq!(of(1), Some(Said::Recalled { began: true, upto: 9, sessions }));
        let other = Said::Recalled { began: false, upto: 0, sessions: NO_SESSIONS };
        assert_eq!(of(2), Some(other));
        let get = |of, name| tables.get(&key_of(of, name)).unwrap();
        assert_eq!(
            [get(1, b"kept"), get(1, b"gone"), get(2, b"kept")],
            [Some(b"2".to_vec()), None, None]
        );
    }
}
