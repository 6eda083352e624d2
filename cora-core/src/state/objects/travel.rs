//! Objects on their way to the other side, with their flow.
//!
//! A flow's objects go as one stream of bytes: each object as its number, its length, its encoded
//! head and its bytes. Pieces of the stream are as long as a piece may be, wherever objects begin
//! and end, so small objects cost no message each, and large ones need no other way. The first
//! piece says whose they are. Objects leave the memory of their side as they go, and are in that of
//! the other one as they come.
//!
//! A side that has no room for the next piece sends back what came, and the pieces behind it: the
//! stream goes on where it was cut, be that amid an object.

use core::any::{Any, TypeId};

use super::super::table::transfer::ImportError;
use super::super::table::{InsertError, Travelling};
use super::super::{MAX_PIECE, Malformed, Memory, OutOfMemory};
use super::blocks::NOWHERE;
use super::owners::Owner;
use super::store::Store;
use super::{ObjectState, Objects};
use crate::bucket::Bucket;
use crate::plain::Plain;

/// The first byte of a piece: it says whose objects follow.
const OWNER: u8 = 0;
/// The first byte of a piece: it has the next bytes of the stream.
const BYTES: u8 = 1;
/// Bytes of the stream in a piece.
const ROOM: usize = MAX_PIECE - 1;
/// Bytes of the piece that says whose objects follow: key, last use, tag, next number.
const OWNER_PIECE: usize = 1 + 40 + 8 + 4 + 4;

/// Most bytes of an object's beginning in the stream.
pub(super) const BEGINNING: usize = 8 + super::LONGEST_HEAD;

/// The flow whose objects go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    pub(super) owner: u32,
    /// Bytes of its first object that went.
    sent: usize,
}

impl Going {
    pub(super) const NOBODY: Self = Self { owner: NOWHERE, sent: 0 };

    /// The same, or nobody if it is this flow.
    pub(super) fn unless(self, number: u32) -> Self {
        if self.owner == number { Self::NOBODY } else { self }
    }
}

/// The flow whose objects come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    pub(super) owner: u32,
    /// Bytes of the next object's beginning that came.
    begun: usize,
    /// The object whose bytes come, by its number, and how many came.
    object: Option<u32>,
    filled: usize,
    /// Bytes to come of an object that has no place here.
    skipped: usize,
    /// Objects that came in the current piece.
    fresh: u32,
}

impl Coming {
    pub(super) const NOBODY: Self =
        Self { owner: NOWHERE, begun: 0, object: None, filled: 0, skipped: 0, fresh: 0 };

    /// The same, or nobody if it is this flow.
    pub(super) fn unless(self, number: u32) -> Self {
        if self.owner == number { Self::NOBODY } else { self }
    }
}

/// How a piece is taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// As far as the state's bytes reach.
    Declared,
    /// Whatever it takes: the flow returns.
    All,
}

impl<S: ObjectState> Objects<S> {
    /// Bytes of a flow's stream.
    fn stream(&self, number: u32, owner: &Owner) -> u64 {
        let Coming { begun, object, filled, .. } = self.coming;
        if self.coming.owner != number {
            return owner.stream;
        }
        let missing = object
            .and_then(|serial| self.store.find(number, serial))
            .map_or(0, |place| self.store.blocks.head(place).length as usize - filled);
        owner.stream + begun as u64 - missing as u64
    }

    /// Pieces of a flow.
    fn pieces(&self, number: u32, owner: &Owner) -> u32 {
        1 + self.stream(number, owner).div_ceil(ROOM as u64) as u32
    }

    fn each_owner(&self, flow: u32, visit: &mut dyn FnMut(u32, &Owner)) {
        let mut number = self.by_flow.first(flow);
        while let Some(owner) = self.store.owners.get(number) {
            visit(number, owner);
            number = self.by_flow.next(number);
        }
    }

    /// Writes the next bytes of a flow's stream, and frees the objects that went. Returns their
    /// number.
    fn read_stream(&mut self, number: u32, to: &mut [u8; ROOM]) -> usize {
        let mut at = 0;
        while let Some(room) = to.get_mut(at..).filter(|room| !room.is_empty()) {
            let Some(first) = self.store.owners.get(number).map(|owner| owner.first) else { break };
            if first == NOWHERE {
                at += self.read_begun(number, room);
                break;
            }
            let block = *self.store.blocks.head(first);
            let length = match self.coming {
                Coming { owner, object: Some(serial), filled, .. }
                    if (owner, serial) == (number, block.serial) =>
                {
                    filled
                }
                _ => block.length as usize,
            };
            let object = self.store.blocks.object(first);
            let sent = self.going.sent;
            let mut given = 0;
            if let Some(left) = Store::<S>::TRAVELS.checked_sub(sent).filter(|left| *left > 0) {
                let beginning = &mut self.beginning;
                beginning[..4].copy_from_slice(&block.serial.to_le_bytes());
                beginning[4..8].copy_from_slice(&block.length.to_le_bytes());
                object.head.put(&mut beginning[8..]);
                given = left.min(room.len());
                room[..given].copy_from_slice(&beginning[sent..sent + given]);
            }
            let from = (sent + given).saturating_sub(Store::<S>::TRAVELS);
            let bytes = object.bytes.get(from..length).unwrap_or_default();
            let some = bytes.len().min(room.len() - given);
            room[given..given + some].copy_from_slice(&bytes[..some]);
            given += some;
            at += given;
            self.going.sent = sent + given;
            if self.going.sent == Store::<S>::TRAVELS + length {
                self.going.sent = 0;
                if length < block.length as usize {
                    self.coming = Coming::NOBODY;
                }
                self.store.free(first);
            }
        }
        at
    }

    /// Behind all objects: what came of the beginning of one.
    fn read_begun(&mut self, number: u32, room: &mut [u8]) -> usize {
        let Coming { owner, begun, .. } = self.coming;
        if owner != number || begun <= self.going.sent {
            return 0;
        }
        let given = (begun - self.going.sent).min(room.len());
        let from = self.going.sent;
        room[..given].copy_from_slice(&self.arriving[from..from + given]);
        self.going.sent += given;
        given
    }

    /// Whether nothing of a flow's stream is left.
    fn has_gone(&self, number: u32) -> bool {
        let first = self.store.owners.get(number).map_or(NOWHERE, |owner| owner.first);
        let begun = if self.coming.owner == number { self.coming.begun } else { 0 };
        first == NOWHERE && self.going.sent >= begun
    }

    /// Says whose objects follow.
    fn say_owner(owner: &Owner, piece: &mut dyn FnMut(&[u8])) {
        let mut bytes = [0; OWNER_PIECE];
        bytes[0] = OWNER;
        owner.words.put(&mut bytes[1..]);
        owner.used.put(&mut bytes[41..]);
        owner.tag.put(&mut bytes[49..]);
        owner.next.put(&mut bytes[53..]);
        piece(&bytes);
    }

    /// A flow's objects begin to come.
    fn owner_comes(&mut self, piece: &[u8], flow: u32, room: Room) -> Result<u64, ImportError> {
        let malformed = ImportError::Malformed(Malformed);
        let Ok([_, bytes @ ..]) = <&[u8; OWNER_PIECE]>::try_from(piece) else {
            return Err(malformed);
        };
        self.coming = Coming::NOBODY;
        let words = <[u64; 5]>::get(bytes).ok_or(malformed)?;
        let used = u64::get(&bytes[40..]).ok_or(malformed)?;
        let tag = u32::get(&bytes[48..]).ok_or(malformed)?;
        let next = u32::get(&bytes[52..]).ok_or(malformed)?;
        if let Some(other) = self.store.owners.find(&words) {
            if !self.has_expired(other, used) {
                return Err(ImportError::Refused(InsertError::KeyTaken));
            }
            self.end(other);
        }
        if room == Room::Declared && self.store.owners.len() >= S::FLOWS {
            self.end_expired();
            if self.store.owners.len() >= S::FLOWS {
                return Err(ImportError::Refused(InsertError::Full));
            }
        }
        let mut number = self.store.owners.add(words, used, tag, next);
        if number.is_none() && room == Room::All && self.evict(NOWHERE) {
            number = self.store.owners.add(words, used, tag, next);
        }
        let number = number.ok_or(ImportError::Refused(InsertError::Full))?;
        self.by_flow.join(number, flow);
        self.coming = Coming { owner: number, ..Coming::NOBODY };
        Ok(used)
    }

    /// The next bytes of the stream come. All of them are taken in, or none.
    fn bytes_come(&mut self, bytes: &[u8], room: Room) -> Result<u64, ImportError> {
        let number = self.coming.owner;
        let Some(used) = self.store.owners.get(number).map(|owner| owner.used) else {
            return Err(ImportError::Refused(InsertError::KeyTaken));
        };
        let before = Coming { fresh: 0, ..self.coming };
        self.coming.fresh = 0;
        let mut kept = [0; BEGINNING];
        kept[..before.begun].copy_from_slice(&self.arriving[..before.begun]);
        let mut rest = bytes;
        while !rest.is_empty() {
            let result = self.take_in(rest, room);
            match result {
                Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
                Err(error) => {
                    for _ in 0..self.coming.fresh {
                        if let Some(owner) = self.store.owners.get(number) {
                            self.store.free(owner.last);
                        }
                    }
                    self.coming = before;
                    self.arriving[..before.begun].copy_from_slice(&kept[..before.begun]);
                    return Err(error);
                }
            }
        }
        Ok(used)
    }

    /// Takes in some of the bytes, and returns how many.
    fn take_in(&mut self, bytes: &[u8], room: Room) -> Result<usize, ImportError> {
        if self.coming.skipped > 0 {
            let skipped = self.coming.skipped.min(bytes.len());
            self.coming.skipped -= skipped;
            return Ok(skipped);
        }
        if let Some(serial) = self.coming.object {
            return Ok(self.fill(serial, bytes));
        }
        let begun = self.coming.begun;
        let taken = (Store::<S>::TRAVELS - begun).min(bytes.len());
        self.arriving[begun..begun + taken].copy_from_slice(&bytes[..taken]);
        self.coming.begun += taken;
        if self.coming.begun == Store::<S>::TRAVELS {
            self.object_comes(room)?;
        }
        Ok(taken)
    }

    /// The beginning of an object is here.
    fn object_comes(&mut self, room: Room) -> Result<(), ImportError> {
        let malformed = ImportError::Malformed(Malformed);
        let serial = u32::get(&self.arriving).ok_or(malformed)?;
        let length = u32::get(&self.arriving[4..]).ok_or(malformed)? as usize;
        let head = S::get(&self.arriving[8..8 + S::SIZE]).ok_or(malformed)?;
        if length > Self::LONGEST {
            return Err(malformed);
        }
        let id = (self.coming.owner, serial);
        let most = if room == Room::All { Self::MOST_PAGES } else { Self::PAGES };
        let mut place = self.store.insert(id, head, length, most);
        if place.is_none() {
            self.end_expired();
            place = self.store.insert(id, head, length, most);
        }
        while place.is_none() && room == Room::All && self.evict(id.0) {
            place = self.store.insert(id, head, length, most);
        }
        if place.is_none() && room == Room::Declared {
            return Err(ImportError::Refused(InsertError::Full));
        }
        self.coming.begun = 0;
        if place.is_some() {
            self.coming.fresh += 1;
            (self.coming.object, self.coming.filled) = ((length > 0).then_some(serial), 0);
        } else {
            self.lost += 1;
            self.coming.skipped = length;
        }
        Ok(())
    }

    /// The next bytes of the object are here. Returns how many are its.
    fn fill(&mut self, serial: u32, bytes: &[u8]) -> usize {
        let Coming { owner, filled, .. } = self.coming;
        let Some(place) = self.store.find(owner, serial) else {
            self.coming.object = None;
            return 0;
        };
        let to = self.store.blocks.object_mut(place).bytes.get_mut(filled..).unwrap_or_default();
        let taken = to.len().min(bytes.len());
        to[..taken].copy_from_slice(&bytes[..taken]);
        self.coming.filled += taken;
        if taken == to.len() {
            self.coming.object = None;
        }
        taken
    }

    fn import(&mut self, piece: &[u8], flow: u32, room: Room) -> Result<u64, ImportError> {
        match piece {
            [OWNER, ..] => self.owner_comes(piece, flow, room),
            [BYTES, bytes @ ..] => self.bytes_come(bytes, room),
            _ => Err(ImportError::Malformed(Malformed)),
        }
    }
}

impl<S: ObjectState> Travelling for Objects<S> {
    fn attach(&mut self, memory: &mut Memory, flows: u32) -> Result<(), OutOfMemory> {
        let room = self.store.owners.capacity();
        self.by_flow.attach(memory, flows, room, room)
    }

    fn attached_bytes(&self, flows: u32) -> usize {
        super::ByFlow::bytes(flows, self.store.owners.capacity())
    }

    fn capacity(&self) -> u32 {
        S::FLOWS
    }

    fn filled(&self) -> u32 {
        self.store.owners.len()
    }

    fn idle(&self) -> u64 {
        S::IDLE
    }

    /// No key finds a flow by its objects.
    fn key_type(&self) -> TypeId {
        TypeId::of::<Self>()
    }

    fn flow_of(&mut self, _: (&dyn Any, Option<Bucket>), _: u64, _: u8) -> Option<u32> {
        None
    }

    fn look_back(&mut self, flow: u32) -> (bool, bool) {
        (self.by_flow.first(flow) != NOWHERE, self.by_flow.take_joined())
    }

    fn each_key(&self, _: u32, _: &mut dyn FnMut(&[u64; 5])) {}

    fn strays(&self) -> u32 {
        self.by_flow.strays
    }

    fn count_flow(&self, flow: u32, now: u64) -> u32 {
        let mut pieces = 0;
        self.each_owner(flow, &mut |number, owner| {
            if !self.has_expired(number, now) {
                pieces += self.pieces(number, owner);
            }
        });
        pieces
    }

    fn take_out(&mut self, flow: u32, now: u64, most: u32, piece: &mut dyn FnMut(&[u8])) -> u32 {
        let mut given = 0;
        while given < most {
            let number = self.by_flow.first(flow);
            let Some(owner) = self.store.owners.get(number) else { break };
            if self.going.owner == number {
                let mut bytes = [BYTES; MAX_PIECE];
                let room = bytes.last_chunk_mut::<ROOM>();
                let length = room.map_or(0, |room| self.read_stream(number, room));
                if length > 0 {
                    piece(&bytes[..=length]);
                    given += 1;
                }
            } else if self.has_expired(number, now) {
                self.expire(number);
                continue;
            } else {
                Self::say_owner(owner, piece);
                given += 1;
                self.going = Going { owner: number, sent: 0 };
            }
            if self.has_gone(number) {
                self.end(number);
            }
        }
        given
    }

    fn prefetch_new(&self, _: &dyn Any) {}

    fn import_entry(&mut self, piece: &[u8], flow: u32, _: u32) -> Result<u64, ImportError> {
        self.import(piece, flow, Room::Declared)
    }

    fn take_back(&mut self, piece: &[u8], flow: u32) -> Result<u64, ImportError> {
        // Only the host half calls this. Saves code size in the NIC's program.
        if cfg!(target_os = "none") {
            return Err(ImportError::Refused(InsertError::Full));
        }
        self.import(piece, flow, Room::All)
    }

    fn evicted(&self) -> u64 {
        self.evicted
    }

    fn expired(&self) -> u64 {
        self.expired
    }

    fn remove_flow(&mut self, flow: u32) {
        while self.by_flow.first(flow) != NOWHERE {
            self.end(self.by_flow.first(flow));
        }
    }
}
