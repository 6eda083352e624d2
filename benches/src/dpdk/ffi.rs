//! DPDK's functions, and what makes them safe to call: each value here holds what they ask of their
//! caller.
#![expect(unsafe_code, reason = "calls a C library, which reads and writes through our pointers")]

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// What Linux makes huge pages of, and what DPDK is told that its memory consists of.
const PAGE: usize = 2 << 20;

/// What a ring carries: a cache line.
pub(crate) type Element = [u64; 8];
const ELEMENT_BYTES: c_uint = size_of::<Element>() as c_uint;

/// A key of 13 bytes as `rte_hash` likes it best: it compares whole multiples of 16 without
/// `memcmp`.
pub(crate) type PaddedKey = [u8; 16];

/// Most keys that are looked up together.
pub(crate) const BULK: usize = 32;

#[repr(C)]
struct Span {
    first: *mut c_void,
    second: *mut c_void,
    first_count: c_uint,
}

unsafe extern "C" {
    fn cora_eal_start(lcores: *const c_char) -> c_int;
    fn cora_heap_create(name: *const c_char, at: *mut c_void, bytes: usize, page: usize) -> c_int;
    fn cora_heap_bytes(socket: c_int) -> usize;
    fn cora_hash_create(name: *const c_char, entries: u32, key: u32, socket: c_int) -> *mut c_void;
    fn rte_hash_add_key(hash: *const c_void, key: *const c_void) -> i32;
    fn rte_hash_del_key(hash: *const c_void, key: *const c_void) -> i32;
    fn rte_hash_max_key_id(hash: *const c_void) -> i32;
    fn rte_hash_lookup_bulk(
        hash: *const c_void,
        keys: *mut *const c_void,
        count: u32,
        positions: *mut i32,
    ) -> c_int;
    fn cora_ring_create(
        name: *const c_char,
        bytes: c_uint,
        count: c_uint,
        socket: c_int,
    ) -> *mut c_void;
    fn cora_ring_enqueue(r: *mut c_void, from: *const c_void, bytes: c_uint, n: c_uint) -> c_uint;
    fn cora_ring_dequeue(r: *mut c_void, to: *mut c_void, bytes: c_uint, n: c_uint) -> c_uint;
    fn cora_ring_write_begin(r: *mut c_void, bytes: c_uint, n: c_uint, to: *mut Span) -> c_uint;
    fn cora_ring_write_end(r: *mut c_void, n: c_uint);
    fn cora_ring_read_begin(r: *mut c_void, bytes: c_uint, n: c_uint, to: *mut Span) -> c_uint;
    fn cora_ring_read_end(r: *mut c_void, n: c_uint);
}

/// DPDK's environment, started. It and what is made in it live as long as the process. All of it is
/// made by the thread that started it (the value is not `Send`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment(PhantomData<*const ()>);

impl Environment {
    /// Starts it; to be called once, before there are other threads.
    pub(crate) fn start() -> Result<Self, String> {
        let cores = sched_getaffinity(None).map_err(|error| error.to_string())?;
        let core = (0..CpuSet::MAX_CPU).find(|core| cores.is_set(*core)).unwrap_or_default();
        let lcores = name(&format!("0@{core}"));
        // SAFETY: a C string, which DPDK reads before it returns, and maybe later: it is leaked.
        let started = unsafe { cora_eal_start(lcores.as_ptr()) };
        // It has kept this thread to its core. The other rows choose their own.
        let _ignored = sched_setaffinity(None, &cores);
        if started < 0 { Err("rte_eal_init fails".to_owned()) } else { Ok(Self(PhantomData)) }
    }

    /// A hash table for so many keys, and its heap.
    pub(crate) fn hash(self, called: &str, entries: u32) -> Option<Hash> {
        // A key, its data, its place in a bucket and in the list of free places, twice; and some
        // for all.
        let heap = Heap::create(self, called, entries as usize * 96 + (16 << 20))?;
        let called = name(called).as_ptr();
        // SAFETY: `called` is a C string; what else DPDK reads is in the shim.
        let hash = unsafe {
            cora_hash_create(called, entries, size_of::<PaddedKey>() as u32, heap.socket)
        };
        Some(Hash { hash: NonNull::new(hash)?, heap })
    }

    /// A ring for one thread at each end, with room for `count` elements but one; a power of two.
    pub(crate) fn ring(self, called: &str, count: u32) -> Option<(Producer, Consumer)> {
        let heap = Heap::create(self, called, count as usize * size_of::<Element>() + PAGE)?;
        let called = name(called).as_ptr();
        // SAFETY: `called` is a C string.
        let ring = unsafe { cora_ring_create(called, ELEMENT_BYTES, count, heap.socket) };
        NonNull::new(ring).map(|ring| (Producer(ring), Consumer(ring)))
    }
}

/// A name for DPDK, leaked: whether it copies names is its own affair.
fn name(text: &str) -> &'static CStr {
    let text: String = text.chars().filter(|letter| *letter != '\0').collect();
    CString::new(text).map_or(c"", |text| Box::leak(text.into_boxed_c_str()))
}

#[derive(Debug)]
struct Heap {
    socket: c_int,
}

impl Heap {
    /// A heap of its own, in memory of this program's allocator: on the pages that the other
    /// contestants' memory is on.
    fn create(_: Environment, called: &str, bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.next_multiple_of(PAGE), PAGE).ok()?;
        // SAFETY: the size is not 0: somebody asks for some bytes, and rounded up.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let called = name(called).as_ptr();
        // SAFETY: that memory, which nobody else has and which is never freed; `called` is a C
        // string.
        let socket =
            unsafe { cora_heap_create(called, memory.as_ptr().cast(), layout.size(), PAGE) };
        (socket >= 0).then_some(Self { socket })
    }
}

/// An `rte_hash`.
#[derive(Debug)]
pub(crate) struct Hash {
    hash: NonNull<c_void>,
    heap: Heap,
}

impl Hash {
    /// Bytes that it takes of its heap.
    pub(crate) fn bytes(&self) -> usize {
        // SAFETY: takes a number, checks it, and gives one.
        unsafe { cora_heap_bytes(self.heap.socket) }
    }

    /// One more than the largest position that it gives.
    pub(crate) fn positions(&self) -> usize {
        // SAFETY: a table that is never freed; it is read alone.
        let largest = unsafe { rte_hash_max_key_id(self.hash.as_ptr()) };
        usize::try_from(largest).map_or(0, |largest| largest + 1)
    }

    /// Puts a key in; its position. `None`: there is no room.
    pub(crate) fn add(&mut self, key: &PaddedKey) -> Option<usize> {
        // SAFETY: a table made for keys of this length, and no other thread is in it: `&mut self`.
        let position = unsafe { rte_hash_add_key(self.hash.as_ptr(), key.as_ptr().cast()) };
        usize::try_from(position).ok()
    }

    /// Takes a key out; the position that it had.
    pub(crate) fn remove(&mut self, key: &PaddedKey) -> Option<usize> {
        // SAFETY: as in `add`.
        let position = unsafe { rte_hash_del_key(self.hash.as_ptr(), key.as_ptr().cast()) };
        usize::try_from(position).ok()
    }

    /// The positions of so many keys; negative where there is none.
    pub(crate) fn find(&self, keys: &[PaddedKey; BULK]) -> [i32; BULK] {
        let mut places: [*const c_void; BULK] = keys.each_ref().map(|key| key.as_ptr().cast());
        let mut positions = [-1; BULK];
        // SAFETY: `BULK` keys of the table's length, and room for as many positions. No other
        // thread has the table, which is not `Sync`.
        unsafe {
            rte_hash_lookup_bulk(
                self.hash.as_ptr(),
                places.as_mut_ptr(),
                BULK as u32,
                positions.as_mut_ptr(),
            );
        }
        positions
    }
}

/// The writing end of an `rte_ring`.
#[derive(Debug)]
pub(crate) struct Producer(NonNull<c_void>);

/// The reading end.
#[derive(Debug)]
pub(crate) struct Consumer(NonNull<c_void>);

// SAFETY: a ring may be used by any thread; that one alone writes is held by `&mut self`, since
// there is one `Producer` of a ring, made with it.
unsafe impl Send for Producer {}
// SAFETY: as above, of reading.
unsafe impl Send for Consumer {}

impl Producer {
    /// Copies elements in; how many had room.
    pub(crate) fn push(&mut self, elements: &[Element]) -> usize {
        let (from, count) = (elements.as_ptr().cast(), elements.len() as c_uint);
        // SAFETY: `count` elements of the ring's size, and no other producer.
        unsafe { cora_ring_enqueue(self.0.as_ptr(), from, ELEMENT_BYTES, count) as usize }
    }

    /// Writes elements in place, made by their number; how many had room.
    pub(crate) fn write(&mut self, count: usize, make: impl Fn(usize) -> Element) -> usize {
        let ring = self.0.as_ptr();
        let mut span = Span { first: ring, second: ring, first_count: 0 };
        // SAFETY: a ring of elements of this size, and no other producer.
        let room =
            unsafe { cora_ring_write_begin(ring, ELEMENT_BYTES, count as c_uint, &raw mut span) };
        for at in 0..room {
            // SAFETY: `at` is below the `room` that the ring reserved there; it lies in one of its
            // two parts, which are aligned to 8 bytes, as the ring is to a line, and nobody else
            // touches it.
            unsafe { span.place(at).write(make(at as usize)) };
        }
        // SAFETY: as many as were begun.
        unsafe { cora_ring_write_end(ring, room) };
        room as usize
    }
}

impl Consumer {
    /// Copies elements out; how many there were.
    pub(crate) fn pop(&mut self, elements: &mut [Element]) -> usize {
        let (to, count) = (elements.as_mut_ptr().cast(), elements.len() as c_uint);
        // SAFETY: room for `count` elements of the ring's size, and no other consumer.
        unsafe { cora_ring_dequeue(self.0.as_ptr(), to, ELEMENT_BYTES, count) as usize }
    }

    /// Reads elements in place; how many there were.
    pub(crate) fn read(&mut self, count: usize, mut take: impl FnMut(&Element)) -> usize {
        let ring = self.0.as_ptr();
        let mut span = Span { first: ring, second: ring, first_count: 0 };
        // SAFETY: a ring of elements of this size, and no other consumer.
        let ready =
            unsafe { cora_ring_read_begin(ring, ELEMENT_BYTES, count as c_uint, &raw mut span) };
        for at in 0..ready {
            // SAFETY: `at` is below the `ready` that the ring has there, written by its producer,
            // who does not touch them before the end below.
            take(unsafe { &*span.place(at) });
        }
        // SAFETY: as many as were begun.
        unsafe { cora_ring_read_end(ring, ready) };
        ready as usize
    }
}

impl Span {
    /// Where the element with this number is.
    const fn place(&self, at: c_uint) -> *mut Element {
        let (part, at) = match at.checked_sub(self.first_count) {
            None => (self.first, at),
            Some(at) => (self.second, at),
        };
        // Computed without a promise; who dereferences it knows that it is inside.
        part.cast::<Element>().wrapping_add(at as usize)
    }
}
