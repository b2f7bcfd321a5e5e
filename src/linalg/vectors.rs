//! A few long vectors, laid out for the hot loops.

use crate::simd::skinny::{Lines, panel_stride};
use crate::simd::{Aligned, Lane};

/// Vectors that each begin on a cache line, so that few of their loads cross one.
pub(super) struct Vectors<T> {
    pub(super) count: usize,
    pub(super) len: usize,
    /// Distance between the starts of two vectors.
    pub(super) stride: usize,
    pub(super) data: Aligned<T>,
}

impl<T: Lane> Vectors<T> {
    pub(super) fn zeros(count: usize, len: usize) -> Self {
        let stride = panel_stride::<T>(len);
        Self { count, len, stride, data: Aligned::zeros(count * stride) }
    }

    /// Copies vectors that lie one after the other.
    pub(super) fn of(packed: &[f64], len: usize) -> Self {
        let mut vectors = Self::zeros(packed.len().checked_div(len).unwrap_or(0), len);
        let stride = vectors.stride;
        for (copy, vector) in vectors.data.chunks_exact_mut(stride).zip(packed.chunks_exact(len.max(1))) {
            copy.iter_mut().zip(vector).for_each(|(to, &from)| *to = T::of(from));
        }
        vectors
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &[T]> {
        self.data.chunks_exact(self.stride).map(|vector| &vector[..self.len])
    }

    pub(super) fn lines(&self) -> Lines<'_, T> {
        self.piece(0, self.len)
    }

    /// Entries j, j + 1, ... of all.
    pub(super) fn piece(&self, j: usize, len: usize) -> Lines<'_, T> {
        Lines::new(&self.data[j..], self.count, self.stride, len)
    }
}
