//! A TCG plugin that counts the instructions that a program executes under QEMU's user emulation,
//! exactly, and the branches that a simple predictor mispredicts.
//!
//! ```text
//! qemu-aarch64 -plugin libcora_counter.so,out=count.txt program words…
//! ```
//!
//! It writes to `count.txt` the number of instructions until the end of `program`, without system
//! calls, and the number of mispredicted branches: two numbers in a line.
//!
//! With `,mark=N,marks=FILE` behind it, `FILE` gets such a line, with the counts so far, whenever
//! the program makes the system call of number `N`. A program that makes a harmless call between
//! two packets thus gives the cost of each.
//!
//! QEMU translates a program block by block, and knows the number of instructions of each. Before a
//! block runs, the plugin adds its number. The next block shows the outcome of the branch at the
//! end of the last one: `branches` predicts it. `qemu` declares the few functions that this needs.

mod branches;
mod qemu;

use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use branches::Ending;

/// Instructions so far, of all threads.
static EXECUTED: AtomicU64 = AtomicU64::new(0);

/// Mispredicted branches so far, of all threads.
static MISPREDICTED: AtomicU64 = AtomicU64::new(0);

/// Classifies the last instruction of a block, for the emulated machine.
static ENDING: OnceLock<fn(&[u8]) -> Ending> = OnceLock::new();

/// The file for the count.
static OUT: OnceLock<PathBuf> = OnceLock::new();

/// The system call that marks, and the file for the counts at marks.
static MARK: OnceLock<(i64, PathBuf)> = OnceLock::new();

/// The counts at marks.
static MARKS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A block of the program.
#[repr(C)]
pub(crate) struct Block {
    instructions: u64,
    branches: branches::Block,
}

/// Receives the machine and the words behind the plugin's name from QEMU; returns 0 on success.
fn install(id: qemu::Id, machine: &[u8], words: &mut dyn Iterator<Item = &[u8]>) -> c_int {
    let ending: fn(&[u8]) -> Ending = match machine {
        b"aarch64" => branches::of_aarch64,
        b"x86_64" => branches::of_x86_64,
        _ => {
            qemu::say(c"cora-counter: branches are known of aarch64 and x86_64 only\n");
            return 1;
        }
    };
    let words: Vec<&[u8]> = words.collect();
    let word = |name: &[u8]| words.iter().find_map(|word| word.strip_prefix(name));
    let path = |name: &[u8]| word(name).map(|path| PathBuf::from(OsStr::from_bytes(path)));
    let Some(out) = path(b"out=") else {
        qemu::say(c"cora-counter: where to? Write out=FILE behind the plugin's name\n");
        return 1;
    };
    let number = word(b"mark=").map(|number| str::from_utf8(number).ok()?.parse().ok());
    let mark = match (number, path(b"marks=")) {
        (None, None) => None,
        (Some(Some(number)), Some(marks)) => Some((number, marks)),
        _ => {
            qemu::say(c"cora-counter: marks need mark=NUMBER (a system call's) and marks=FILE\n");
            return 1;
        }
    };
    if OUT.set(out).is_err() || ENDING.set(ending).is_err() {
        return 1;
    }
    if let Some(mark) = mark {
        if MARK.set(mark).is_err() {
            return 1;
        }
        qemu::on_system_call(id, mark_here);
    }
    qemu::on_translation(id, count_block);
    qemu::on_exit(id, leave_count);
    0
}

/// Prepares a translated block: each time it runs, its instructions are added.
extern "C" fn count_block(_: qemu::Id, block: &qemu::Block) {
    // A block without its bytes still counts, but its ending is unknown.
    let (start, last, instruction) = qemu::ends(block).unwrap_or_default();
    let ending = ENDING.get().map_or(Ending::Foretold, |ending| ending(instruction));
    let behind = last + instruction.len() as u64;
    let instructions = qemu::instructions(block) as u64;
    let branches = branches::Block { start, last, behind, ending };
    // QEMU may run it until the end.
    let block_of = Box::leak(Box::new(Block { instructions, branches }));
    qemu::on_execution(block, add, block_of);
}

extern "C" fn add(_: c_uint, block: &'static Block) {
    EXECUTED.fetch_add(block.instructions, Ordering::Relaxed);
    if branches::enter(&block.branches) {
        MISPREDICTED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the counts so far.
fn counted() -> (u64, u64) {
    (EXECUTED.load(Ordering::Relaxed), MISPREDICTED.load(Ordering::Relaxed))
}

/// Records a mark at a system call. Its instruction is counted already.
extern "C" fn mark_here(
    _: qemu::Id,
    _: c_uint,
    number: i64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    if MARK.get().is_some_and(|(mark, _)| *mark == number) {
        let mut marks = MARKS.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push(counted());
    }
}

/// Writes the counts at the end of the program. A missing file shows the caller that there is none.
extern "C" fn leave_count(_: qemu::Id, _: *mut c_void) {
    if let Some((_, path)) = MARK.get() {
        let mut text = String::new();
        for (executed, wrong) in MARKS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // Writing to a string does not fail.
            let _infallible = writeln!(text, "{executed} {wrong}");
        }
        if std::fs::write(path, text).is_err() {
            qemu::say(c"cora-counter: the marks can't be written\n");
        }
    }
    let (executed, wrong) = counted();
    let count = format!("{executed} {wrong}\n");
    if let Some(out) = OUT.get()
        && std::fs::write(out, count).is_err()
    {
        qemu::say(c"cora-counter: the count can't be written\n");
    }
}
