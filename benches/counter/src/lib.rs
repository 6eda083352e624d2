//! Counts the instructions that a program executes under QEMU's user emulation, exactly, and the
//! branches that a processor would foretell wrongly, as a simple one does: a TCG plugin.
//!
//! ```text
//! qemu-aarch64 -plugin libcora_counter.so,out=count.txt program words…
//! ```
//!
//! leaves in `count.txt` the instructions that `program` executed until it ended, system calls not
//! included, and the branches that were foretold wrongly: two numbers in a line.
//!
//! With `,mark=N,marks=FILE` behind it, such a line is left in that file whenever the program made
//! the system call of number `N`: of all until then. A program that makes a harmless one between
//! two packets thus tells what each cost.
//!
//! QEMU translates a program block by block and says of each how many instructions it has; whenever
//! one is about to run, that number is added. Which block follows tells what the branch at the end
//! of the one before did: `branches` has what foretells that. The few functions that this needs are
//! declared in `qemu`.

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

/// Branches foretold wrongly so far, of all threads.
static MISPREDICTED: AtomicU64 = AtomicU64::new(0);

/// What is told of an instruction's bytes by the machine that they are of.
static ENDING: OnceLock<fn(&[u8]) -> Ending> = OnceLock::new();

/// Where the count is left.
static OUT: OnceLock<PathBuf> = OnceLock::new();

/// The system call that marks, and where the counts at marks are left.
static MARK: OnceLock<(i64, PathBuf)> = OnceLock::new();

/// The counts at marks.
static MARKS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A block of the program.
#[repr(C)]
pub(crate) struct Block {
    instructions: u64,
    branches: branches::Block,
}

/// QEMU loaded the plugin for a machine, with these words behind its name; 0 if that is all right.
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

/// A block was translated: each time it runs, its instructions are added.
extern "C" fn count_block(_: qemu::Id, block: &qemu::Block) {
    // Without its bytes, a block counts all the same; how it ends is not known.
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

/// All that was counted so far.
fn counted() -> (u64, u64) {
    (EXECUTED.load(Ordering::Relaxed), MISPREDICTED.load(Ordering::Relaxed))
}

/// The program makes a system call. The instruction that makes it is counted already.
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

/// The program ended. Without a file, whoever wants the count sees that there is none.
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
