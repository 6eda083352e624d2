//! Handwritten declarations of the used part of QEMU's plugin interface: distributions ship QEMU
//! without `qemu-plugin.h`.
//!
//! QEMU reads the interface version of a loaded plugin, and refuses unsupported ones: up to QEMU
//! 8.2 it supports version 1 alone, and from 9.0 on version 2 and later ones. The used part is the
//! same in all of them, so the plugin declares the version that its QEMU supports.
#![expect(unsafe_code, reason = "QEMU's plugin interface is a C interface")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::install;

/// The plugin's identifier in QEMU.
pub(crate) type Id = u64;

/// `struct qemu_plugin_tb`: a translated block of the program. It lives during the callback that
/// gets it.
#[repr(C)]
pub(crate) struct Block {
    _opaque: [u8; 0],
}

/// `struct qemu_plugin_insn`: an instruction of a block, with the same lifetime.
#[repr(C)]
pub(crate) struct Instruction {
    _opaque: [u8; 0],
}

/// `qemu_info_t`; only its first member is read: the emulated machine.
#[repr(C)]
pub(crate) struct Info {
    target_name: *const c_char,
}

/// `qemu_plugin_vcpu_syscall_cb_t`: the processor, the call's number, and its eight arguments.
pub(crate) type OnSystemCall =
    extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// `enum qemu_plugin_cb_flags`: a callback does not read the program's registers.
const CB_NO_REGS: c_int = 0;

/// The interface version of this plugin: to QEMU, an `int`.
#[unsafe(no_mangle)]
static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// The loader calls this function before it hands the plugin to QEMU.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = choose_version;

/// Declares version 2 to a QEMU with a function of that version.
extern "C" fn choose_version() {
    // SAFETY: a C string, looked up among the symbols of the process (a null handle: in load
    // order). The address is compared, not called.
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

/// The entry point for QEMU.
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
    // SAFETY: QEMU stores the machine's name there, in a C string that it never frees.
    let machine = unsafe { CStr::from_ptr(info.target_name) };
    install(id, machine.to_bytes(), &mut words)
}

/// Registers a callback for every block that QEMU translates from now on.
pub(crate) fn on_translation(id: Id, callback: extern "C" fn(Id, &Block)) {
    // SAFETY: `id` comes from QEMU; the callback is never unloaded.
    unsafe { qemu_plugin_register_vcpu_tb_trans_cb(id, callback) }
}

/// Returns the number of instructions of a block.
pub(crate) fn instructions(block: &Block) -> usize {
    // SAFETY: QEMU handed the block to the callback that is running.
    unsafe { qemu_plugin_tb_n_insns(block) }
}

/// Returns the addresses of a block's first and last instruction, and the bytes of the last one;
/// `None` for an empty block. A block's instructions are contiguous.
pub(crate) fn ends(block: &Block) -> Option<(u64, u64, &[u8])> {
    let get = |number| {
        // SAFETY: QEMU handed the block to the running callback, and returns null for a missing
        // instruction.
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
    // SAFETY: under user emulation the program's memory is this process's. QEMU has just read so
    // many bytes there, and the program, which can change them, does not run meanwhile: it waits
    // for this translation.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, size) };
    Some((address(first), address(last), bytes))
}

/// Registers a callback with `data` before each run of this block. The interface can also add to a
/// number by itself, but that call differs between versions, and this one does not.
pub(crate) fn on_execution(
    block: &Block,
    callback: extern "C" fn(c_uint, &'static crate::Block),
    data: &'static crate::Block,
) {
    // SAFETY: the block lives (above). QEMU does not look at `data`, a reference in the place of
    // its `void *`.
    unsafe { qemu_plugin_register_vcpu_tb_exec_cb(block, callback, CB_NO_REGS, data) }
}

/// Registers a callback before each system call of the program.
pub(crate) fn on_system_call(id: Id, callback: OnSystemCall) {
    // SAFETY: as for translations.
    unsafe { qemu_plugin_register_vcpu_syscall_cb(id, callback) }
}

/// Registers a callback at the end of the program.
pub(crate) fn on_exit(id: Id, callback: extern "C" fn(Id, *mut c_void)) {
    // SAFETY: as for translations; there is no data.
    unsafe { qemu_plugin_register_atexit_cb(id, callback, std::ptr::null_mut()) }
}

/// Prints text to QEMU's own log.
pub(crate) fn say(text: &CStr) {
    // SAFETY: a C string, which QEMU reads before it returns.
    unsafe { qemu_plugin_outs(text.as_ptr()) }
}
