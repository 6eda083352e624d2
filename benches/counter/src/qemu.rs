//! What is used of QEMU's plugin interface, declared by hand: distributions ship QEMU without
//! `qemu-plugin.h`.
//!
//! QEMU reads which version of the interface a plugin speaks when it has loaded it, and refuses
//! what it does not speak too: version 1 alone up to QEMU 8.2, 2 and later ones from 9.0 on. What
//! is used here is the same in all of them, so the plugin says what the QEMU around it wants to
//! hear.
#![expect(unsafe_code, reason = "QEMU's plugin interface is a C interface")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::install;

/// The plugin, as QEMU knows it.
pub(crate) type Id = u64;

/// `struct qemu_plugin_tb`: a block of the program, translated. It lives while the callback runs
/// that gets it.
#[repr(C)]
pub(crate) struct Block {
    _opaque: [u8; 0],
}

/// `struct qemu_plugin_insn`: an instruction of it, which lives as long.
#[repr(C)]
pub(crate) struct Instruction {
    _opaque: [u8; 0],
}

/// `qemu_info_t`, of which the first member alone is read: what machine is emulated.
#[repr(C)]
pub(crate) struct Info {
    target_name: *const c_char,
}

/// `qemu_plugin_vcpu_syscall_cb_t`: which processor, the call's number, and its eight arguments.
pub(crate) type OnSystemCall =
    extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// `enum qemu_plugin_cb_flags`: a callback does not read the program's registers.
const CB_NO_REGS: c_int = 0;

/// The version of the interface that this plugin speaks: to QEMU, an `int`.
#[unsafe(no_mangle)]
static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// What the loader calls before it hands the plugin to QEMU.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = choose_version;

/// Says version 2 to a QEMU that has a function of that version.
extern "C" fn choose_version() {
    // SAFETY: a C string, searched for among the symbols of the process (a null handle: in the
    // order of loading). The address is looked at, not called.
    let of_version_2 = unsafe { dlsym(std::ptr::null_mut(), c"qemu_plugin_num_vcpus".as_ptr()) };
    if !of_version_2.is_null() {
        qemu_plugin_version.store(2, Ordering::Relaxed);
    }
}

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: extern "C" fn(Id, &Block));
    fn qemu_plugin_tb_n_insns(block: &Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: &Block, number: usize) -> Option<&Instruction>;
    fn qemu_plugin_insn_vaddr(instruction: &Instruction) -> u64;
    fn qemu_plugin_insn_size(instruction: &Instruction) -> usize;
    fn qemu_plugin_insn_haddr(instruction: &Instruction) -> *const u8;
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: &Block,
        callback: extern "C" fn(c_uint, &'static crate::Block),
        flags: c_int,
        data: &'static crate::Block,
    );
    fn qemu_plugin_register_vcpu_syscall_cb(id: Id, callback: OnSystemCall);
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
    info: &Info,
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
    // SAFETY: QEMU says there what it emulates, in a C string that it never frees.
    let machine = unsafe { CStr::from_ptr(info.target_name) };
    install(id, machine.to_bytes(), &mut words)
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

/// Addresses of the first instruction of a block and of its last one, and the last one's bytes;
/// none of a block without any. A block's instructions lie one behind the other.
pub(crate) fn ends(block: &Block) -> Option<(u64, u64, &[u8])> {
    let get = |number| {
        // SAFETY: QEMU handed the block to the callback that is running, and answers null for what
        // it has not.
        unsafe { qemu_plugin_tb_get_insn(block, number) }
    };
    let (first, last) = (get(0)?, get(instructions(block).checked_sub(1)?)?);
    let address = |instruction| {
        // SAFETY: it is QEMU's, and lives as long as the block.
        unsafe { qemu_plugin_insn_vaddr(instruction) }
    };
    // SAFETY: as above.
    let size = unsafe { qemu_plugin_insn_size(last) };
    // SAFETY: as above.
    let bytes = unsafe { qemu_plugin_insn_haddr(last) };
    if bytes.is_null() {
        return None;
    }
    // SAFETY: where the program runs under user emulation, its memory is this process's; QEMU has
    // just read so many bytes there, and the program, which can change them, does not run
    // meanwhile: it waits for this translation.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, size) };
    Some((address(first), address(last), bytes))
}

/// From now on QEMU calls back with `data` whenever this block is about to run. The interface can
/// also add to a number by itself, but how that is asked for differs between versions, and this
/// does not.
pub(crate) fn on_execution(
    block: &Block,
    callback: extern "C" fn(c_uint, &'static crate::Block),
    data: &'static crate::Block,
) {
    // SAFETY: the block lives (above). QEMU does not look at `data`, a reference that stands where
    // its `void *` does.
    unsafe { qemu_plugin_register_vcpu_tb_exec_cb(block, callback, CB_NO_REGS, data) }
}

/// From now on QEMU calls back before each system call of the program.
pub(crate) fn on_system_call(id: Id, callback: OnSystemCall) {
    // SAFETY: as for translations.
    unsafe { qemu_plugin_register_vcpu_syscall_cb(id, callback) }
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
