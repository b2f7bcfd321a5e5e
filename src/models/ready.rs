//! The components of a linear map as the rows meet them.

use crate::matrix::Element;
use crate::simd::Aligned;
use std::borrow::Cow;
use std::ops::Deref;

/// Rows from which on loads across two cache lines cost more than a copy of the components that begins on one.
const MANY: usize = 64;

/// Components, row-major, in the type of the rows.
pub(super) enum Ready<'a, T: Element> {
    /// As they are stored, or converted.
    Lines(Cow<'a, [T]>),
    /// Copied to where a cache line begins.
    Aligned(Aligned<T>),
}

impl<'a, T: Element> Ready<'a, T> {
    /// For `rows` rows in all.
    pub(super) fn new(lines: Cow<'a, [T]>, rows: usize) -> Self {
        if rows < MANY { Self::Lines(lines) } else { Self::Aligned(Aligned::from(&*lines)) }
    }
}

impl<T: Element> Deref for Ready<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Lines(lines) => lines,
            Self::Aligned(lines) => lines,
        }
    }
}
