//! A fitted affine map made ready for services: `z = W ((x - mean) / scale)`, microseconds a row, and nothing
//! allocated after a thread's first row, unless it is a very long one.

use super::projection::LinearMap;
use super::whitening::beyond_range;
use super::wide_rows::{WideRow, are_plain};
use crate::error::{Error, Result};
use crate::matrix::MatrixView;
use crate::memory;
use crate::simd::affine::{project_prepared, scratch_len};
use crate::simd::{Aligned, Lane, Parts};
use crate::threads::Team;
use bytemuck::cast_slice_mut;
use std::cell::Cell;

/// Most numbers of the scratch that a thread keeps for its next call: 8 MB.
const KEPT: usize = 1 << 20;
/// Numbers a column beside the matrix: mean and deviation as they are and in parts, and an inverse.
const A_COLUMN: usize = 6;
/// What the scratch is called.
const SCRATCH_NAME: &str = "the rows about the mean";

/// Products in a piece of work for one thread: about 0.1 ms.
const PIECE_WORK: usize = 1 << 20;

thread_local! {
    /// Where a thread centres its rows; taken out during a call, so a call inside a call is safe.
    static SCRATCH: Cell<Option<Aligned<f64>>> = const { Cell::new(None) };
}

/// An immutable map of rows of d numbers to k scores.
#[derive(Clone, Debug)]
pub struct Frozen<T: Lane> {
    matrix: Aligned<T>,
    mean: Vec<f64>,
    scale: Option<Vec<f64>>,
    parts: Parts<'static, T>,
    /// Whether `T` holds the factors in `parts`.
    plain: bool,
}

impl<T: Lane> Frozen<T> {
    /// The map of a fitted model. Standard deviations that divide its scores go into the rows of the matrix; the mean
    /// stays apart, for an offset folded into the scores would lose digits.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::Value`] for a matrix without columns, a negative scale, or a whitening matrix
    /// that `T` cannot hold; [`Error::Memory`].
    pub fn of(map: &LinearMap<T>) -> Result<Self> {
        let (k, d) = (map.k(), map.d());
        if d == 0 {
            return Err(Error::value("matrix", format!("shape ({k}, 0)"), "of at least one column"));
        }
        let (mean, scale) = (map.mean(), map.scale());
        finite("mean", mean)?;
        finite("scale", scale.unwrap_or_default())?;
        if let Some(bad) = scale.into_iter().flatten().find(|&&s| s < 0.0) {
            return Err(Error::value("scale", bad, "at least 0 in every column"));
        }
        memory::check_matrices::<f64>(1, (A_COLUMN, d), "the mean of the transform, with its scale,")?;
        let mut matrix = Aligned::room(k.saturating_mul(d), "the matrix of the transform")?;
        matrix.iter_mut().zip(map.whitened_entries()).for_each(|(to, entry)| *to = entry);
        map.components().check_finite("matrix")?;
        if !matrix.iter().all(|&entry: &T| entry.into().is_finite()) {
            return Err(beyond_range::<T>());
        }
        let factor: Vec<f64> = if scale.is_some() { (0..d).map(|j| 1.0 / map.unit(j)).collect() } else { Vec::new() };
        let (parts, plain) = (Parts::new(mean, &[], &factor).into_owned(), are_plain::<T>(&factor));
        Ok(Self { matrix, mean: mean.to_vec(), scale: scale.map(<[f64]>::to_vec), parts, plain })
    }

    /// Number of scores.
    #[must_use]
    pub fn k(&self) -> usize {
        self.matrix.len() / self.d()
    }

    /// Number of columns of the rows.
    #[must_use]
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    /// k x d, row-major, roots of variances folded in.
    #[must_use]
    pub fn matrix(&self) -> &[T] {
        &self.matrix
    }

    /// What is subtracted from a row.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// What centred columns are divided by.
    #[must_use]
    pub fn scale(&self) -> Option<&[f64]> {
        self.scale.as_deref()
    }

    /// Writes the scores of the rows `x` (n x d) to `out` (n x k), both row-major: the same bits for one row and for
    /// many. Nothing is looked at: NaN in, NaN out.
    ///
    /// # Errors
    /// [`Error::Shape`] when the slices do not hold whole rows of as many, [`Error::Memory`], [`Error::Interrupted`].
    pub fn apply(&self, x: &[T], out: &mut [T], team: &Team) -> Result<()> {
        let (d, k) = (self.d(), self.k());
        let rows = x.len() / d;
        fits("x", x.len(), rows * d)?;
        fits("out", out.len(), rows * k)?;
        let each = (PIECE_WORK / (d * k).max(1)).max(1);
        if k == 0 || rows <= each {
            return self.piece(x, out);
        }
        let pieces = x.chunks(each * d).zip(out.chunks_mut(each * k)).collect();
        let done = team.map(pieces, |(x, out): (&[T], &mut [T])| {
            team.check()?;
            self.piece(x, out)
        });
        done.into_iter().collect()
    }

    fn piece(&self, x: &[T], out: &mut [T]) -> Result<()> {
        let len = scratch_len::<T>(x.len() / self.d(), self.d());
        let wanted = (len * size_of::<T>()).div_ceil(size_of::<f64>());
        let mut scratch = match SCRATCH.take().filter(|scratch| scratch.len() >= wanted) {
            Some(known) => known,
            None => Aligned::room(wanted, SCRATCH_NAME)?,
        };
        project_prepared(x, &self.parts, &self.matrix, &mut cast_slice_mut(&mut scratch)[..len], out);
        if scratch.len() <= KEPT {
            SCRATCH.set(Some(scratch));
        }
        // What `T` cannot hold in a row makes every score of the row NaN or infinite.
        let k = self.k().max(1);
        if !(self.plain && out.iter().step_by(k).all(|&z| z.into().is_finite())) {
            self.widely(x, out)?;
        }
        Ok(())
    }

    /// Writes the scores of finite rows again where `T` had no numbers on the way to them.
    #[cold]
    fn widely(&self, x: &[T], out: &mut [T]) -> Result<()> {
        let d = self.d();
        WideRow::check_room(d)?;
        for (x, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(self.k().max(1))) {
            if self.plain && out.iter().all(|&z| z.into().is_finite()) {
                continue;
            }
            let Some(row) = WideRow::new(|j| x[j].into(), &self.mean, self.scale()) else { continue };
            for (z, component) in out.iter_mut().zip(self.matrix.chunks_exact(d)) {
                *z = row.score(|j| component[j].into(), None);
            }
        }
        Ok(())
    }
}

fn fits(what: &'static str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(Error::Shape { what, found, wanted }) }
}

fn finite(what: &'static str, values: &[f64]) -> Result<()> {
    MatrixView::new(values, 1, values.len())?.check_finite(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frozen(matrix: &[f64], k: usize, scale: Option<&[f64]>, whitening: Option<[&[f64]; 2]>) -> Frozen<f64> {
        let d = matrix.len() / k;
        let mean = vec![1.0; d];
        let matrix = MatrixView::new(matrix, k, d).unwrap();
        Frozen::of(&LinearMap::new(&mean, matrix, scale, whitening).unwrap()).unwrap()
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let mut out = [0.0; 4];
        let map = frozen(&[1.0, 2.0, 0.5, -1.0], 2, Some(&[2.0, 4.0]), None);
        map.apply(&[3.0, 5.0, 1.0, 9.0], &mut out, &Team::solo()).unwrap();
        // (2, 4) / (2, 4) = (1, 1); (0, 8) / (2, 4) = (0, 2)
        assert_eq!(out, [3.0, -0.5, 4.0, -2.0]);
    }

    #[test]
    fn dead_columns_and_dead_scores_give_nothing() {
        let map = frozen(&[1.0, 2.0, 0.5, -1.0], 2, Some(&[0.0, 1.0]), Some([&[4.0, 0.0], &[2.0, 0.0]]));
        assert_eq!(map.matrix(), [0.0, 1.0, 0.0, 0.0]);
        let mut out = [f64::NAN; 2];
        map.apply(&[1e300, 4.0], &mut out, &Team::solo()).unwrap();
        assert_eq!(out, [3.0, 0.0]);
    }

    #[test]
    fn a_batch_of_many_pieces_has_the_bits_of_its_rows() {
        let (d, k, n) = (512, 64, 70);
        let numbers = |len: usize| (0..len).map(|i| (i * 7919 % 1009) as f64 / 1009.0).collect::<Vec<f64>>();
        let (map, x) = (frozen(&numbers(d * k), k, None, None), numbers(n * d));
        let (mut all, mut alone) = (vec![0.0; n * k], vec![0.0; k]);
        map.apply(&x, &mut all, &Team::solo()).unwrap();
        for (row, scores) in x.chunks_exact(d).zip(all.chunks_exact(k)) {
            map.apply(row, &mut alone, &Team::solo()).unwrap();
            assert_eq!(alone, scores);
        }
    }

    #[test]
    fn slices_of_broken_rows_are_refused() {
        let map = frozen(&[1.0, 2.0], 1, None, None);
        assert!(map.apply(&[1.0, 2.0, 3.0], &mut [0.0], &Team::solo()).is_err());
        assert!(map.apply(&[1.0, 2.0], &mut [0.0; 2], &Team::solo()).is_err());
        assert!(map.apply(&[], &mut [], &Team::solo()).is_ok());
    }

    #[test]
    fn what_cannot_be_a_map_is_refused() {
        let matrix = [1.0, f64::NAN];
        let map = |scale| LinearMap::new(&[0.0, 0.0], MatrixView::new(&matrix, 1, 2).unwrap(), scale, None).unwrap();
        assert_eq!(Frozen::of(&map(None)).unwrap_err(), Error::NotFinite { what: "matrix", nan: true });
        assert!(Frozen::of(&map(Some(&[1.0, -1.0]))).unwrap_err().to_string().contains("scale must be at least 0"));
    }
}
