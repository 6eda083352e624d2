//! What is used of QEMU's plugin interface, declared by hand: distributions ship QEMU without
//! `qemu-plugin.h` (version 1 of the interface, QEMU 4.2 to 8.2).
#![expect(unsafe_code, reason = "QEMU's plugin interface is a C interface")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::install;

/// The plugin, as QEMU knows it.
pub(crate) type Id = u64;

/// `struct qemu_plugin_tb`: a block of the program, translated. It lives while the callback runs that gets it.
#[repr(C)]
pub(crate) struct Block {
    _opaque: [u8; 0],
}

/// `enum qemu_plugin_cb_flags`: a callback does not read the program's registers.
const CB_NO_REGS: c_int = 0;

/// The version of the interface that this plugin speaks: QEMU refuses to load what it does not speak too.
#[unsafe(no_mangle)]
static qemu_plugin_version: c_int = 1;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: extern "C" fn(Id, &Block));
    fn qemu_plugin_tb_n_insns(block: &Block) -> usize;
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: &Block,
        callback: extern "C" fn(c_uint, usize),
        flags: c_int,
        data: usize,
    );
    fn qemu_plugin_register_atexit_cb(
        id: Id,
        callback: extern "C" fn(Id, *mut c_void),
        data: *mut c_void,
    );
    fn qemu_plugin_outs(text: *const c_char);
}

/// QEMU enters here.
///
/// # Safety
/// QEMU calls it, with `count` C strings at `words`.
#[unsafe(no_mangle)]
unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _: *const c_void,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    let mut words = (0..usize::try_from(count).unwrap_or(0)).map(|number| {
        // SAFETY: there are `count` pointers (caller's contract).
        let word = unsafe { words.add(number) };
        // SAFETY: as above.
        let word = unsafe { *word };
        // SAFETY: each is a C string that lives while this call does (caller's contract).
        unsafe { CStr::from_ptr(word) }.to_bytes()
    });
    install(id, &mut words)
}

/// From now on QEMU calls back for every block that it translates.
pub(crate) fn on_translation(id: Id, callback: extern "C" fn(Id, &Block)) {
    // SAFETY: `id` is what QEMU gave; the callback is never unloaded.
    unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, callback) }
}

/// How many instructions a block has.
pub(crate) fn instructions(block: &Block) -> usize {
    // SAFETY: QEMU handed the block to the callback that is running.
    unsafe { qemu_plugin_tb_n_insns(block) }
}

/// From now on QEMU calls back with `data` whenever this block is about to run. The interface can also add to a
/// number by itself, but how that is asked for differs between versions, and this does not.
pub(crate) fn on_execution(block: &Block, callback: extern "C" fn(c_uint, usize), data: usize) {
    // SAFETY: the block lives (above). QEMU does not look at `data`, which has the size of its `void *`.
    unsafe { qemu_plugin_register_vcpu_tb_exec_cb(block, callback, CB_NO_REGS, data) }
}

/// QEMU calls back when the program has ended.
pub(crate) fn on_exit(id: Id, callback: extern "C" fn(Id, *mut c_void)) {
    // SAFETY: as for translations; there is no data.
    unsafe { qemu_plugin_register_atexit_cb(id, callback, std::ptr::null_mut()) }
}

/// Says something where QEMU's own log goes.
pub(crate) fn say(text: &CStr) {
    // SAFETY: a C string, which QEMU reads before it returns.
    unsafe { qemu_plugin_outs(text.as_ptr()) }
}
