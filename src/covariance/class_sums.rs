//! Sums of the rows of each class, about a pilot row, in one read of the data and O(d C) memory.
//!
//! With s_c the sum of x - p over class c and s their total: the mean is p + s / n, and
//! n_c (mu_c - mu) = s_c - (n_c / n) s.

use super::classes::Classes;
use crate::error::{Error, Result};
use crate::matrix::MatrixView;
use crate::memory;
use crate::power::two_sum;
use crate::simd::{Lane, prefetch_all_second, run};
use crate::threads::{Team, split};
use nalgebra::DMatrix;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Rows whose mean is the pilot: it leaves at most a sixteenth of a standard deviation, so an offset costs no digits.
const PILOT_ROWS: usize = 256;
/// Values read between two looks at the stop flag: some milliseconds.
const BLOCK: usize = 1 << 21;
/// Rows copied at a time where they are not contiguous.
const COPIED: usize = 64;
/// Most groups of rows that are summed apart, and merged in order.
const GROUPS: usize = 16;
/// Rows of a group for each class: merging then costs a small share of the reading.
const ROWS_PER_CLASS: usize = 16;
/// Fewest values of a group: about 0.2 ms of work.
const GROUP_VALUES: usize = 1 << 18;
/// Numbers a column beside the sums of the classes: the pilot, what it is made of, their total, and the mean in two
/// parts.
const A_COLUMN: usize = 6;
/// Bytes between the row that is added and the one that is sent for: a fraction of the second cache.
const AHEAD_BYTES: usize = 1 << 14;
/// Elements added, and of the later row sent for, at a time: few enough to be on their way together. Shorter rows are
/// read ahead well enough without.
const PIECE: usize = 64;

/// The sums, and the pilot they are about.
#[derive(Clone, Debug)]
pub struct ClassSums {
    pilot: Vec<f64>,
    /// One line of d sums a class.
    sums: Vec<f64>,
    sizes: Vec<usize>,
}

impl ClassSums {
    /// Reads `x` (called `what` in errors) once; `classes` has one code a row. Sums are in `f64` whatever the data.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::Value`] where finite data have infinite sums, [`Error::Memory`],
    /// [`Error::Interrupted`].
    pub fn of<T: Lane>(x: MatrixView<T>, classes: &Classes, what: &'static str, team: &Team) -> Result<Self> {
        let (n, d, count) = (x.rows(), x.cols(), classes.sizes().len());
        debug_assert_eq!(n, classes.codes().len());
        let groups = (n / (ROWS_PER_CLASS * count.max(1))).min(n * d / GROUP_VALUES).clamp(1, GROUPS);
        if count > 1 {
            // One of each group, their total, and the deviations that it is there for.
            memory::check_matrices::<f64>(groups + 2, (count, d), "the sums of all classes")?;
        }
        memory::check_matrices::<f64>(1, (A_COLUMN, d), "the means of the columns")?;
        let pilot = pilot_of(x);
        let parts = team.map(split(0..n, groups), |rows| {
            let mut sums = vec![0.0; count * d];
            add_rows(x, rows, classes.codes(), &pilot, &mut sums, team)?;
            Ok(sums)
        });
        let mut sums = vec![0.0; count * d];
        for part in parts {
            sums.iter_mut().zip(part?).for_each(|(s, p): (&mut f64, f64)| *s += p);
        }
        if !sums.iter().all(|s| s.is_finite()) {
            x.check_finite(what)?;
            return Err(Error::value(
                what,
                "values whose sums leave the range of float64",
                "divided by a power of two",
            ));
        }
        Ok(Self { pilot, sums, sizes: classes.sizes().to_vec() })
    }

    /// The mean of all rows, rounded to `f64`, and what the rounding leaves.
    #[must_use]
    pub fn mean(&self) -> (Vec<f64>, Vec<f64>) {
        let n = self.sizes.iter().sum::<usize>() as f64;
        let total = self.total();
        self.pilot.iter().zip(total).map(|(&pilot, sum)| two_sum(pilot, sum / n)).unzip()
    }

    /// `X'HD` (d x C) for the one-hot columns D of the classes: column c is n_c (mu_c - mu).
    #[must_use]
    pub fn deviations(&self) -> DMatrix<f64> {
        let (d, n) = (self.pilot.len(), self.sizes.iter().sum::<usize>() as f64);
        let total = self.total();
        let mut out = DMatrix::from_column_slice(d, self.sizes.len(), &self.sums);
        for (mut column, &size) in out.column_iter_mut().zip(&self.sizes) {
            // A single class has the share 1 exactly, and deviates by 0 exactly.
            let share = size as f64 / n;
            column.iter_mut().zip(&total).for_each(|(x, t)| *x -= share * t);
        }
        out
    }

    fn total(&self) -> Vec<f64> {
        let mut total = vec![0.0; self.pilot.len()];
        for line in self.sums.chunks_exact(total.len().max(1)) {
            total.iter_mut().zip(line).for_each(|(t, s)| *t += s);
        }
        total
    }
}

/// The mean of the first rows, as a distance from the first one: of equal values it is that value.
fn pilot_of<T: Lane>(x: MatrixView<T>) -> Vec<f64> {
    let rows = x.rows().min(PILOT_ROWS);
    let mut first: Vec<f64> = Vec::new();
    let mut apart = vec![0.0; x.cols()];
    x.rows_in(0..rows).each_row(|row| {
        if first.is_empty() {
            first.extend(row.iter().map(|&x| x.into()));
        }
        apart.iter_mut().zip(row).zip(&first).for_each(|((sum, &x), first)| *sum += x.into() - first);
    });
    first.iter().zip(apart).map(|(first, sum)| first + sum / rows as f64).collect()
}

/// Adds the rows in `range` to the lines of their classes.
fn add_rows<T: Lane>(
    x: MatrixView<T>,
    range: Range<usize>,
    codes: &[u32],
    pilot: &[f64],
    sums: &mut [f64],
    team: &Team,
) -> Result<()> {
    let d = x.cols();
    let plain = x.has_contiguous_rows();
    let step = if plain { (BLOCK / d.max(1)).max(1) } else { COPIED };
    let mut copy = if plain { Vec::new() } else { vec![T::of(0.0); COPIED * d] };
    for (block, start) in range.clone().step_by(step).enumerate() {
        if plain || block % (BLOCK / (COPIED * d.max(1))).max(1) == 0 {
            team.check()?;
        }
        let rows = start..range.end.min(start + step);
        let codes = &codes[rows.clone()];
        if plain {
            run(Add { rows: x.rows_in(start..x.rows()), codes, pilot, sums });
        } else {
            let copy = &mut copy[..rows.len() * d];
            x.copy_rows(rows.clone(), copy);
            run(Add { rows: MatrixView::new(copy, rows.len(), d)?, codes, pilot, sums });
        }
    }
    Ok(())
}

/// `sums[code of row i] += row i - pilot`, for contiguous rows. Meanwhile the memory is asked for later ones: of itself
/// it reads too little ahead.
struct Add<'a, T> {
    /// At least as many as there are codes.
    rows: MatrixView<'a, T>,
    codes: &'a [u32],
    pilot: &'a [f64],
    sums: &'a mut [f64],
}

impl<T: Lane> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, codes, pilot, sums } = self;
        let d = pilot.len();
        let ahead = (AHEAD_BYTES / size_of::<T>()).div_ceil(d.max(1));
        for (i, &code) in codes.iter().enumerate() {
            let Some(row) = rows.row(i) else { return };
            let mut next = rows.row(i + ahead).filter(|_| d >= PIECE).unwrap_or_default().chunks(PIECE);
            let line = &mut sums[code as usize * d..][..d];
            for ((line, row), pilot) in line.chunks_mut(PIECE).zip(row.chunks(PIECE)).zip(pilot.chunks(PIECE)) {
                prefetch_all_second(next.next().unwrap_or_default());
                for ((sum, &x), p) in line.iter_mut().zip(row).zip(pilot) {
                    let x: f64 = x.into();
                    *sum += x - p;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    #[test]
    fn two_classes_by_hand() {
        // Classes {(0, 1), (2, 3)} and {(7, 5)}: means (1, 2) and (7, 5), all: (3, 3).
        let data = [0.0, 1.0, 7.0, 5.0, 2.0, 3.0];
        let x = MatrixView::new(&data, 3, 2).unwrap();
        let sums = ClassSums::of(x, &Classes::new(vec![0, 1, 0]), "X", &Team::solo()).unwrap();
        assert_eq!(sums.mean().0, [3.0, 3.0]);
        assert_eq!(sums.deviations().as_slice(), [-4.0, -2.0, 4.0, 2.0]);
        let one = ClassSums::of(x, &Classes::single(3), "X", &Team::solo()).unwrap();
        assert_eq!(one.deviations().as_slice(), [0.0, 0.0]);
    }

    #[test]
    fn an_offset_or_a_layout_changes_nothing() {
        let (n, d) = (1000, 3);
        let codes = Classes::new((0..n).map(|i| u32::try_from(i * i % 7).unwrap()).collect());
        let value = |i: usize, j: usize| ((i * 31 + j * 17) % 101) as f64;
        for offset in [0.0, 2f64.powi(30)] {
            let data: Vec<f64> = (0..n * d).map(|at| value(at / d, at % d) + offset).collect();
            let columns: Vec<f64> = (0..n * d).map(|at| value(at % n, at / n) + offset).collect();
            let c = ClassSums::of(MatrixView::new(&data, n, d).unwrap(), &codes, "X", &Team::solo()).unwrap();
            let f = MatrixView::with_strides(&columns, (n, d), (1, n)).unwrap();
            let f = ClassSums::of(f, &codes, "X", &Team::solo()).unwrap();
            assert_eq!((c.deviations(), c.mean()), (f.deviations(), f.mean()));
            let right = (0..n).map(|i| value(i, 1)).sum::<f64>() / n as f64 + offset;
            assert!((c.mean().0[1] - right).abs() <= f64::EPSILON * right);
            for class in 0..codes.sizes().len() {
                let mine = |i: &usize| codes.codes()[*i] as usize == class;
                let own: f64 = (0..n).filter(mine).map(|i| value(i, 2)).sum();
                let all: f64 = (0..n).map(|i| value(i, 2)).sum();
                let right = own - codes.sizes()[class] as f64 / n as f64 * all;
                assert!((c.deviations()[(2, class)] - right).abs() <= 1e-11 * all);
            }
        }
    }

    #[test]
    fn bad_values_are_named() {
        let refused = |data: &[f64]| {
            let x = MatrixView::new(data, 2, 1).unwrap();
            ClassSums::of(x, &Classes::single(2), "X", &Team::solo()).unwrap_err()
        };
        assert_eq!(refused(&[1.0, f64::NAN]), Error::NotFinite { what: "X", nan: true });
        assert_eq!(refused(&[f64::INFINITY, 1.0]), Error::NotFinite { what: "X", nan: false });
        assert!(matches!(refused(&[f64::MAX, -f64::MAX]), Error::Value { .. }));
    }

    #[test]
    fn every_level_gives_the_sums() {
        let data: Vec<f32> = (0..5 * 37).map(|i| (i % 13) as f32).collect();
        let (codes, pilot) = ([1, 0, 1, 1, 0], vec![2.0; 37]);
        for level in Level::available() {
            let mut sums = vec![0.0; 2 * 37];
            let rows = MatrixView::new(&data, 5, 37).unwrap();
            run_at(level, Add { rows, codes: &codes, pilot: &pilot, sums: &mut sums }).unwrap();
            for j in 0..37 {
                let at = |i: usize| f64::from(data[i * 37 + j]) - 2.0;
                assert_eq!((sums[j], sums[37 + j]), (at(1) + at(4), at(0) + at(2) + at(3)), "{level:?}");
            }
        }
    }
}
