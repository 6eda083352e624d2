//! DPDK's functions in safe wrappers: each value here upholds the requirements on their caller.
#![expect(unsafe_code, reason = "calls a C library, which reads and writes through our pointers")]

use std::alloc::{Layout, alloc_zeroed};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Size of Linux's huge pages, and of the pages that DPDK is told of.
const PAGE: usize = 2 << 20;

/// An element of a ring: a cache line.
pub(crate) type Element = [u64; 8];
const ELEMENT_BYTES: c_uint = size_of::<Element>() as c_uint;

/// A key of 13 bytes in the form that suits `rte_hash`: it compares whole multiples of 16 without
/// `memcmp`.
pub(crate) type PaddedKey = [u8; 16];

/// Largest number of keys in one look-up.
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

/// DPDK's environment, started. It and everything made in it live as long as the process. One
/// thread makes all of it, the one that started it (the value is not `Send`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment(PhantomData<*const ()>);

impl Environment {
    /// Starts the environment; called once, before there are other threads.
    pub(crate) fn start() -> Result<Self, String> {
        let cores = sched_getaffinity(None).map_err(|error| error.to_string())?;
        let core = (0..CpuSet::MAX_CPU).find(|core| cores.is_set(*core)).unwrap_or_default();
        let lcores = name(&format!("0@{core}"));
        // SAFETY: a C string, which DPDK reads before it returns, and maybe later: it is leaked.
        let started = unsafe { cora_eal_start(lcores.as_ptr()) };
        // DPDK has pinned this thread to its core. The other rows choose their own.
        let _ignored = sched_setaffinity(None, &cores);
        if started < 0 { Err("rte_eal_init fails".to_owned()) } else { Ok(Self(PhantomData)) }
    }

    /// Makes a hash table for `entries` keys, and its heap.
    pub(crate) fn hash(self, called: &str, entries: u32) -> Option<Hash> {
        // A key, its data, its place in a bucket and in the list of free places, twice; and a
        // constant part.
        let heap = Heap::create(self, called, entries as usize * 96 + (16 << 20))?;
        let called = name(called).as_ptr();
        // SAFETY: `called` is a C string; the shim has DPDK's other input.
        let hash = unsafe {
            cora_hash_create(called, entries, size_of::<PaddedKey>() as u32, heap.socket)
        };
        Some(Hash { hash: NonNull::new(hash)?, heap })
    }

    /// Makes a ring for one thread at each end, with room for `count` - 1 elements; `count` is a
    /// power of two.
    pub(crate) fn ring(self, called: &str, count: u32) -> Option<(Producer, Consumer)> {
        let heap = Heap::create(self, called, count as usize * size_of::<Element>() + PAGE)?;
        let called = name(called).as_ptr();
        // SAFETY: `called` is a C string.
        let ring = unsafe { cora_ring_create(called, ELEMENT_BYTES, count, heap.socket) };
        NonNull::new(ring).map(|ring| (Producer(ring), Consumer(ring)))
    }
}

/// Returns a name for DPDK, leaked: DPDK may or may not copy it.
fn name(text: &str) -> &'static CStr {
    let text: String = text.chars().filter(|letter| *letter != '\0').collect();
    CString::new(text).map_or(c"", |text| Box::leak(text.into_boxed_c_str()))
}

#[derive(Debug)]
struct Heap {
    socket: c_int,
}

impl Heap {
    /// Makes a heap in memory of this program's allocator: it has the pages of the other
    /// contestants' memory.
    fn create(_: Environment, called: &str, bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.next_multiple_of(PAGE), PAGE).ok()?;
        // SAFETY: the size is not 0: callers ask for some bytes, and it is rounded up.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let called = name(called).as_ptr();
        // SAFETY: that memory has no other owner and is never freed; `called` is a C string.
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
    /// Returns the bytes that it takes of its heap.
    pub(crate) fn bytes(&self) -> usize {
        // SAFETY: takes a number, checks it, and returns one.
        unsafe { cora_heap_bytes(self.heap.socket) }
    }

    /// Returns one more than the largest position.
    pub(crate) fn positions(&self) -> usize {
        // SAFETY: a table that is never freed; the call only reads it.
        let largest = unsafe { rte_hash_max_key_id(self.hash.as_ptr()) };
        usize::try_from(largest).map_or(0, |largest| largest + 1)
    }

    /// Inserts a key, and returns its position; `None` if there is no room.
    pub(crate) fn add(&mut self, key: &PaddedKey) -> Option<usize> {
        // SAFETY: a table made for keys of this length, and no other thread is in it: `&mut self`.
        let position = unsafe { rte_hash_add_key(self.hash.as_ptr(), key.as_ptr().cast()) };
        usize::try_from(position).ok()
    }

    /// Removes a key, and returns its old position.
    pub(crate) fn remove(&mut self, key: &PaddedKey) -> Option<usize> {
        // SAFETY: as in `add`.
        let position = unsafe { rte_hash_del_key(self.hash.as_ptr(), key.as_ptr().cast()) };
        usize::try_from(position).ok()
    }

    /// Returns the positions of `BULK` keys; negative for absent keys.
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

// SAFETY: any thread may use a ring; `&mut self` ensures a single writer, because a ring is made
// with one `Producer`.
unsafe impl Send for Producer {}
// SAFETY: as above, for reading.
unsafe impl Send for Consumer {}

impl Producer {
    /// Copies elements in, and returns the number that had room.
    pub(crate) fn push(&mut self, elements: &[Element]) -> usize {
        let (from, count) = (elements.as_ptr().cast(), elements.len() as c_uint);
        // SAFETY: `count` elements of the ring's size, and no other producer.
        unsafe { cora_ring_enqueue(self.0.as_ptr(), from, ELEMENT_BYTES, count) as usize }
    }

    /// Writes elements in place, made by their number, and returns the number that had room.
    pub(crate) fn write(&mut self, count: usize, make: impl Fn(usize) -> Element) -> usize {
        let ring = self.0.as_ptr();
        let mut span = Span { first: ring, second: ring, first_count: 0 };
        // SAFETY: a ring of elements of this size, and no other producer.
        let room =
            unsafe { cora_ring_write_begin(ring, ELEMENT_BYTES, count as c_uint, &raw mut span) };
        for at in 0..room {
            // SAFETY: `at` is below the `room` that the ring reserved there; it lies in one of its
            // two parts, which are aligned to 8 bytes, as the ring is to a line, and nothing else
            // touches it.
            unsafe { span.place(at).write(make(at as usize)) };
        }
        // SAFETY: as many as were begun.
        unsafe { cora_ring_write_end(ring, room) };
        room as usize
    }
}

impl Consumer {
    /// Copies elements out, and returns their number.
    pub(crate) fn pop(&mut self, elements: &mut [Element]) -> usize {
        let (to, count) = (elements.as_mut_ptr().cast(), elements.len() as c_uint);
        // SAFETY: room for `count` elements of the ring's size, and no other consumer.
        unsafe { cora_ring_dequeue(self.0.as_ptr(), to, ELEMENT_BYTES, count) as usize }
    }

    /// Reads elements in place, and returns their number.
    pub(crate) fn read(&mut self, count: usize, mut take: impl FnMut(&Element)) -> usize {
        let ring = self.0.as_ptr();
        let mut span = Span { first: ring, second: ring, first_count: 0 };
        // SAFETY: a ring of elements of this size, and no other consumer.
        let ready =
            unsafe { cora_ring_read_begin(ring, ELEMENT_BYTES, count as c_uint, &raw mut span) };
        for at in 0..ready {
            // SAFETY: `at` is below the `ready` that the ring has there, written by its producer,
            // which does not touch them before the end below.
            take(unsafe { &*span.place(at) });
        }
        // SAFETY: as many as were begun.
        unsafe { cora_ring_read_end(ring, ready) };
        ready as usize
    }
}

impl Span {
    /// Returns the address of the element with this number.
    const fn place(&self, at: c_uint) -> *mut Element {
        let (part, at) = match at.checked_sub(self.first_count) {
            None => (self.first, at),
            Some(at) => (self.second, at),
        };
        // Wrapping arithmetic makes no promise; a caller that dereferences it knows that it is
        // inside.
        part.cast::<Element>().wrapping_add(at as usize)
    }
}
