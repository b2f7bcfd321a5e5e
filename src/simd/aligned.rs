//! Scratch that starts on a cache line.

use crate::error::Result;
use crate::matrix::{Element, zeros};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};

/// Bytes of a cache line, and of the widest vector: rows that start on a line are loaded without crossing one.
pub(super) const CACHE_LINE: usize = 64;

/// A buffer of zeros whose first element lies on a cache line. Its length never changes.
#[derive(Debug)]
pub struct Aligned<T> {
    data: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Pod> Aligned<T> {
    /// `len` zeros.
    #[must_use]
    pub fn zeros(len: usize) -> Self {
        let slack = CACHE_LINE / size_of::<T>().max(1);
        Self::within(vec![T::zeroed(); len + slack], len)
    }

    /// The `len` elements of `data` from a cache line on; it has a line to spare.
    fn within(data: Vec<T>, len: usize) -> Self {
        let slack = data.len() - len;
        // `align_offset` may decline to answer; the buffer is then merely unaligned.
        let start = Some(data.as_ptr().align_offset(CACHE_LINE)).filter(|start| *start <= slack).unwrap_or(0);
        Self { data, start, len }
    }
}

impl<T: Element> Aligned<T> {
    /// `len` zeros for `what`, or a refusal where the machine has no room for them.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn room(len: usize, what: &'static str) -> Result<Self> {
        Ok(Self::within(zeros(len.saturating_add(CACHE_LINE / size_of::<T>()), what)?, len))
    }
}

impl<T: Pod> From<&[T]> for Aligned<T> {
    fn from(values: &[T]) -> Self {
        let mut copy = Self::zeros(values.len());
        copy.copy_from_slice(values);
        copy
    }
}

impl<T: Pod> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        Self::from(&**self)
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_line_and_keeps_its_length() {
        for len in [0, 1, 7, 64, 1000] {
            let buffer = Aligned::<f64>::zeros(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().align_offset(CACHE_LINE), 0);
            assert!(buffer.iter().all(|x| *x == 0.0));
        }
    }
}
