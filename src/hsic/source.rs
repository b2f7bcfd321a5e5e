//! One side of the criterion: rows with a kernel, or a kernel matrix, as blocks of `f64`.

use crate::error::Result;
use crate::kernel::{Extent, Gamma, Kernel, Tiles, Units, check_room};
use crate::linalg::check_symmetric;
use crate::matrix::{Element, MatrixView};
use crate::power;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// What is observed of the n samples on one side.
#[derive(Clone, Copy, Debug)]
pub enum Sample<'a, T> {
    /// n x d rows (labels: one column of codes) and the kernel that compares them.
    Rows(MatrixView<'a, T>, Kernel<Gamma>),
    /// The n x n kernel matrix itself, symmetric.
    Precomputed(MatrixView<'a, T>),
}

/// Rows (evenly spaced) from whose pairs the pilot constant of a kernel is read: one strip.
const PILOT_ROWS: usize = strip::<f64>();

/// A kernel on the n samples, ready to be read block by block, and a value amid its own.
pub(super) struct Source<'a> {
    blocks: Blocks<'a>,
    pilot: f64,
    /// Values are in units of 2^exponent.
    exponent: i32,
}

enum Blocks<'a> {
    Tiles(Box<Tiles<f64>>),
    /// A matrix of either element type: the passes over pairs are compiled once.
    Given(Box<dyn CopyBlocks + Sync + 'a>),
}

/// A stored matrix as blocks of `f64`, times a factor.
trait CopyBlocks {
    fn copy_blocks(&self, factor: f64, group: &Group, blocks: &mut [f64]);
}

impl<T: Element> Sample<'_, T> {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(x, _) | Self::Precomputed(x) => x.rows(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> Source<'a> {
    /// Settles gamma, packs the rows or checks the matrix, and finds the pilot constant.
    pub(super) fn of<T: Element>(sample: &Sample<'a, T>, what: &'static str, team: &Team) -> Result<Self> {
        match *sample {
            Sample::Rows(x, kernel) => {
                let extent = Extent::of(x, what)?;
                let kernel = match kernel.resolve_within(x, &extent, team)? {
                    // H removes the mean anyway; removed here, it costs no digits.
                    Kernel::Linear { .. } => Kernel::Linear { centered: true },
                    other => other,
                };
                let tiles_of = |x| Tiles::square(x, &kernel, &extent, Units::Own);
                let few = x.every(x.rows().div_ceil(PILOT_ROWS));
                check_room::<f64>(&[few.rows(), x.rows()], x.cols())?;
                let (few, tiles) = (tiles_of(few), tiles_of(x));
                let exponent = tiles.exponent();
                let pilot = power::scale(run(Pilot { tiles: &few }), few.exponent() - exponent);
                Ok(Self { blocks: Blocks::Tiles(Box::new(tiles)), pilot, exponent })
            }
            Sample::Precomputed(matrix) => {
                let exponent = power::unit(check_symmetric(matrix, what)?);
                let down = power::power(-exponent);
                let step = matrix.rows().div_ceil(PILOT_ROWS).max(1);
                let at: Vec<usize> = (0..matrix.rows()).step_by(step).collect();
                let pairs = at.iter().flat_map(|&i| at.iter().filter(move |&&j| j > i).map(move |&j| (i, j)));
                let pilot = mean(pairs.map(|(i, j)| matrix.at(i, j) * down));
                Ok(Self { pilot, blocks: Blocks::Given(Box::new(matrix)), exponent })
            }
        }
    }

    /// Strips on each side of a group.
    pub(super) fn group(&self) -> usize {
        match &self.blocks {
            Blocks::Tiles(tiles) => tiles.rows().group(),
            Blocks::Given(_) => 1,
        }
    }

    /// A value amid those of the kernel.
    pub(super) fn pilot(&self) -> f64 {
        self.pilot
    }

    /// Values are in units of 2^exponent.
    pub(super) fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The kernel values of a group of blocks, in the order of [`Group::blocks`]; padding holds finite numbers in the
    /// columns and anything in the rows.
    #[inline(always)]
    pub(super) fn fill<S: Simd>(&self, simd: S, group: &Group, blocks: &mut [f64]) {
        match &self.blocks {
            Blocks::Tiles(tiles) => tiles.fill(simd, group, blocks),
            Blocks::Given(matrix) => matrix.copy_blocks(power::power(-self.exponent), group, blocks),
        }
    }
}

impl<T: Element> CopyBlocks for MatrixView<'_, T> {
    fn copy_blocks(&self, factor: f64, group: &Group, blocks: &mut [f64]) {
        let (n, size) = (self.rows(), strip::<f64>());
        for ((a, b), block) in group.blocks().zip(blocks.chunks_exact_mut(size * size)) {
            let cols = b * size..n.min((b + 1) * size);
            for (i, line) in (a * size..n).zip(block.chunks_exact_mut(size)) {
                line.fill(0.0);
                match self.row(i).and_then(|row| row.get(cols.clone())) {
                    Some(row) => line.iter_mut().zip(row).for_each(|(out, &k)| *out = k.into() * factor),
                    None => line.iter_mut().zip(cols.clone()).for_each(|(out, j)| *out = self.at(i, j) * factor),
                }
            }
        }
    }
}

/// The mean, about the first value: that of equal values is this value.
fn mean(mut values: impl Iterator<Item = f64>) -> f64 {
    let Some(first) = values.next() else { return 0.0 };
    let (mut count, mut sum) = (1.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value - first;
    }
    first + sum / count
}

/// The mean of the kernel over pairs i < j of one strip of rows.
struct Pilot<'a> {
    tiles: &'a Tiles<f64>,
}

impl WithSimd for Pilot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (rows, size) = (self.tiles.rows().rows_in(0), strip::<f64>());
        let mut block = Aligned::zeros(size * size);
        self.tiles.fill(simd, &Group { rows: 0..1, cols: 0..1, upper: true }, &mut block);
        let above = block.chunks_exact(size).take(rows).enumerate().map(|(i, row)| &row[i + 1..rows]);
        mean(above.flatten().copied())
    }
}
