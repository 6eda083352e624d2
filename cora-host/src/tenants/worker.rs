//! The process that works for a tenant: one of its own, or a room in one that it shares.

use std::cell::RefCell;
use std::rc::Rc;

use cora_runtime::link::region::exit::EXIT_LINK;
use cora_runtime::link::region::{NicStatus, Region, wake};

use crate::tenants::image::Image;
use crate::tenants::process::Process;
use crate::{RunError, SharedFutex};

/// Exit statuses of a half that ended well, and of one that broke its rings.
const ENDED: u8 = 0;
const BROKEN: u8 = EXIT_LINK as u8;

/// The worker.
#[derive(Debug)]
pub(super) enum Worker {
    Own(Process),
    Room(Rc<RefCell<Image>>, u16),
}

impl Worker {
    /// The time that its process took of a processor so far (ns).
    pub(super) fn time(&self) -> u64 {
        match self {
            Self::Own(process) => process.time(),
            Self::Room(image, _) => image.borrow().time(),
        }
    }

    /// Has the half on this region work.
    pub(super) fn call(&self, region: &Region) {
        match self {
            Self::Own(_) => wake(&region.nic_bell(SharedFutex)),
            Self::Room(image, room) => image.borrow_mut().call(*room),
        }
    }

    /// Whether it is this half that its process works for, or whether others come before.
    pub(super) fn is_at_it(&self) -> bool {
        match self {
            Self::Own(_) => true,
            Self::Room(image, room) => image.borrow().is_at(*room),
        }
    }

    /// The half's turn is over.
    pub(super) fn rests(&self) {
        if let Self::Room(image, room) = self {
            image.borrow_mut().rests(*room);
        }
    }

    /// Whether it works for somebody else now.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Own(_) => false,
            Self::Room(image, room) => image.borrow().is_busy_for_others(*room),
        }
    }

    /// The process that it shares, if it does.
    pub(super) fn image(&self) -> Option<&Rc<RefCell<Image>>> {
        match self {
            Self::Own(_) => None,
            Self::Room(image, _) => Some(image),
        }
    }

    /// How the half on this region ended, if it has.
    pub(super) fn look(&mut self, region: &Region) -> Result<Option<u8>, RunError> {
        match self {
            Self::Own(process) => process.look(),
            Self::Room(image, _) => {
                let of_process = image.borrow_mut().process().look()?;
                Ok(of_process.or(match region.nic_status() {
                    Some(NicStatus::Done) => Some(ENDED),
                    Some(NicStatus::Refused(_)) | None => Some(BROKEN),
                    Some(_) => None,
                }))
            }
        }
    }

    /// Ends the half.
    pub(super) fn end(&mut self) {
        match self {
            Self::Own(process) => process.end(),
            Self::Room(image, room) => image.borrow_mut().leave(*room),
        }
    }
}
