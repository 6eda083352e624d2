//! A run of handlers that notes its steps.

use core::marker::PhantomData;

use crate::state::{Place, Reach};
use crate::trace::Run;

/// The same reach, of a run that is traced.
#[derive(Clone, Copy, Debug)]
pub struct Traced<R>(PhantomData<R>);

impl<R: Reach> Reach for Traced<R> {
    const PLACES: Option<&'static [(&'static str, Place)]> = R::PLACES;
    const TRACED: bool = true;
}

impl<R: Reach> Run for R {
    const IS_TRACED: bool = Self::TRACED;
}
