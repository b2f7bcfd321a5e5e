//! Transposes, in registers where vectors of 256 bits can shuffle four rows.

use super::{Lane, run_narrow};
use crate::matrix;
use bytemuck::cast_slice;
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::slice::from_ref;

/// Rows that are shuffled together.
const ROWS: usize = 4;

/// Bytes of the vectors whose shuffles are known to keep halves apart.
const VECTOR: usize = 32;

/// Writes the transpose of a rows x cols matrix: entry (i, j) at `i * stride + j` of `from` goes to `j * step + i` of
/// `to`. What does not fill the registers is left to [`matrix::transpose`].
pub fn transpose<T: Lane>(from: (&[T], usize), to: (&mut [T], usize), size: (usize, usize)) {
    run_narrow(Transpose { from, to, size });
}

/// [`transpose`] for use inside a hot loop.
#[derive(Debug)]
pub struct Transpose<'a, T> {
    /// The entries, and the distance between the starts of two rows.
    pub from: (&'a [T], usize),
    /// Their places, and the distance between the starts of two columns.
    pub to: (&'a mut [T], usize),
    /// Number of rows and of columns.
    pub size: (usize, usize),
}

impl<T: Lane> WithSimd for Transpose<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { from: (from, stride), to: (to, step), size: (rows, cols) } = self;
        let lanes = T::lanes::<S>();
        match lanes * size_of::<T>() {
            VECTOR => {}
            ..VECTOR => return matrix::transpose((from, stride), (to, step), (rows, cols)),
            _ => return transpose((from, stride), (to, step), (rows, cols)), // at the narrower level
        }
        let (down, along) = (rows / ROWS * ROWS, cols / lanes * lanes);
        for i in (0..down).step_by(ROWS) {
            let lines: [&[T::V<S>]; ROWS] = from_fn(|r| T::vectors::<S>(&from[(i + r) * stride..][..along]).0);
            for v in 0..along / lanes {
                let quads = T::quads(simd, from_fn(|r| lines[r][v]));
                for c in 0..ROWS {
                    for (g, column) in cast_slice::<_, T>(from_ref(&quads[c])).chunks_exact(ROWS).enumerate() {
                        to[(v * lanes + g * ROWS + c) * step + i..][..ROWS].copy_from_slice(column);
                    }
                }
            }
        }
        if along < cols {
            matrix::transpose((&from[along..], stride), (&mut to[along * step..], step), (down, cols - along));
        }
        if down < rows {
            matrix::transpose((&from[down * stride..], stride), (&mut to[down..], step), (rows - down, cols));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Level, run_at};
    use super::*;

    fn entries_change_places<T: Lane>() {
        for (rows, cols) in [(0, 3), (1, 1), (3, 9), (4, 8), (5, 17), (8, 16), (13, 30)] {
            let (stride, step) = (cols + 3, rows + 2);
            let from: Vec<T> = (0..rows * stride).map(|at| T::of(at as f64)).collect();
            for level in Level::available() {
                let mut to = vec![T::of(-1.0); cols * step];
                let size = (rows, cols);
                run_at(level, Transpose { from: (&from, stride), to: (&mut to, step), size }).unwrap();
                for (at, &x) in to.iter().enumerate() {
                    let (j, i) = (at / step, at % step);
                    let right = if i < rows { from[i * stride + j] } else { T::of(-1.0) };
                    assert!(x == right, "{rows} x {cols} ({i}, {j}) {level:?}");
                }
            }
        }
    }

    #[test]
    fn entries_change_places_at_every_level() {
        entries_change_places::<f32>();
        entries_change_places::<f64>();
    }
}
