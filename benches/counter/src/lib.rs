//! Counts the instructions that a program executes under QEMU's user emulation, exactly: a TCG plugin.
//!
//! ```text
//! qemu-aarch64 -plugin libcora_counter.so,out=count.txt program words…
//! ```
//!
//! leaves in `count.txt` the instructions that `program` executed until it ended, system calls not
//! included.
//!
//! QEMU translates a program block by block and says of each how many instructions it has; whenever one
//! is about to run, that number is added. The few functions that this needs are declared in `qemu`.

mod qemu;

use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Instructions so far, of all threads.
static EXECUTED: AtomicU64 = AtomicU64::new(0);

/// Where the count is left.
static OUT: OnceLock<PathBuf> = OnceLock::new();

/// QEMU loaded the plugin, with these words behind its name; 0 if that is all right.
fn install(id: qemu::Id, words: &mut dyn Iterator<Item = &[u8]>) -> c_int {
    let mut outs = words.filter_map(|word| word.strip_prefix(b"out="));
    let Some(out) = outs.next().map(|out| PathBuf::from(OsStr::from_bytes(out))) else {
        qemu::say(c"cora-counter: where to? Write out=FILE behind the plugin's name\n");
        return 1;
    };
    if OUT.set(out).is_err() {
        return 1;
    }
    qemu::on_translation(id, count_block);
    qemu::on_exit(id, leave_count);
    0
}

/// A block was translated: each time it runs, its instructions are added.
extern "C" fn count_block(_: qemu::Id, block: &qemu::Block) {
    qemu::on_execution(block, add, qemu::instructions(block));
}

extern "C" fn add(_: c_uint, instructions: usize) {
    EXECUTED.fetch_add(instructions as u64, Ordering::Relaxed);
}

/// The program ended. Without a file, whoever wants the count sees that there is none.
extern "C" fn leave_count(_: qemu::Id, _: *mut c_void) {
    let count = format!("{}\n", EXECUTED.load(Ordering::Relaxed));
    if let Some(out) = OUT.get()
        && std::fs::write(out, count).is_err()
    {
        qemu::say(c"cora-counter: the count can't be written\n");
    }
}
