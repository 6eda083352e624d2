//! Switches off the offloads that distinguish captured frames from those on a wire: checksums left
//! to hardware, and segments larger than the wire takes.
#![expect(
    unsafe_code,
    reason = "rustix knows no ethtool request, so its argument is laid out here"
)]

use std::ffi::c_void;

use rustix::ioctl::{self, Ioctl, IoctlOutput, Opcode};
use rustix::net::{AddressFamily, SocketType, socket};

use super::setup;
use crate::TrafficError;

const SIOCETHTOOL: Opcode = 0x8946;
/// ETHTOOL_SRXCSUM is not needed: it does not change captured frames.
const SWITCHES: [(u32, &str); 3] = [
    (0x17, "transmit checksum offload"), // ETHTOOL_STXCSUM
    (0x2c, "generic receive offload"),   // ETHTOOL_SGRO
    (0x19, "scatter-gather"),            // ETHTOOL_SSG
];
const SEGMENTATION: [(u32, &str); 2] = [
    (0x1f, "TCP segmentation offload"), // ETHTOOL_STSO
    (0x24, "generic segmentation"),     // ETHTOOL_SGSO
];

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` of linux/if.h: a name, and a union of 24 octets that begins with the pointer.
#[repr(C)]
struct Request {
    name: [u8; 16],
    value: *mut Value,
    rest: [u8; 16],
}

// SAFETY: SIOCETHTOOL takes a pointer to `struct ifreq` (netdevice(7)), which `Request` mirrors
// field by field, 40 octets on 64-bit machines, and 16 + 4 + 16 >= 32 on others. Its `value` points
// to a live `Value` that outlives the call (see `switch`), and commands of the ETHTOOL_S* kind
// only read it.
unsafe impl Ioctl for Request {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        SIOCETHTOOL
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// Switches off all offloads of an interface in this thread's namespace: checksums left to
/// hardware, and segments larger than the wire takes.
///
/// # Errors
/// If there is no such interface, or its driver can't.
pub fn switch_off(interface: &str) -> Result<(), TrafficError> {
    switch(interface, &SWITCHES)?;
    switch_segmentation_off(interface)
}

/// Switches off what makes segments larger than the wire takes; checksums stay with hardware.
///
/// # Errors
/// If there is no such interface, or its driver can't.
pub(super) fn switch_segmentation_off(interface: &str) -> Result<(), TrafficError> {
    switch(interface, &SEGMENTATION)
}

fn switch(interface: &str, switches: &[(u32, &str)]) -> Result<(), TrafficError> {
    let what = "switching offloads off";
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|error| setup(what, &error.to_string()))?;
    let mut name = [0; 16];
    for (place, octet) in name.iter_mut().zip(interface.bytes().take(15)) {
        *place = octet;
    }
    for (command, title) in switches {
        let mut value = Value { command: *command, data: 0 };
        let request = Request { name, value: &raw mut value, rest: [0; 16] };
        // SAFETY: the descriptor is an open socket, the request is the one that `Ioctl` for
        // `Request` argues for, and `value`, to which it points, lives to the end of this turn of
        // the loop.
        let done = unsafe { ioctl::ioctl(&socket, request) };
        done.map_err(|error| setup(&format!("switching {title} off"), &error.to_string()))?;
    }
    Ok(())
}
