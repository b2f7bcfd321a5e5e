//! gamma from the data: the total variance, or the exact median of all pairwise distances in O(n) memory.

use super::sampling::{bracket, unit_of_squares};
use super::{Extent, Rate, Tiles, parts};
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// gamma as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gamma {
    /// This number.
    Number(f64),
    /// This rate, of data that another call has seen.
    Known(Rate),
    /// 1 / d
    PerFeature,
    /// 1 / (sum of the column variances, divisor n); 1 where that sum is 0
    Scale,
    /// 1 / (2 m^2) for rbf, 1 / m for laplacian, m the median distance (L2, L1) over i < j; where that is 0, of the
    /// nonzero distances; where there are none, m^2 = 1/2 (m = 1): gamma is 1
    Median,
}

impl Gamma {
    /// For kernels of x'y.
    pub(super) fn of_products<T: Element>(self, x: MatrixView<T>, extent: &Extent) -> Result<Rate> {
        let no_median = || Err(Error::value("gamma", "\"median\"", "a number, None or \"scale\" for this kernel"));
        self.settled(x, extent, no_median)
    }

    /// For kernels of squared distances.
    pub(super) fn of_squares<T: Element>(self, x: MatrixView<T>, extent: &Extent, team: &Team) -> Result<Rate> {
        self.settled(x, extent, || {
            let unit = unit_of_squares(x, extent);
            Ok(match median(x, &extent.factors(unit), false, team)? {
                Some(m) => Rate::of(0.5 / (m * m), -2 * unit),
                None => Rate::of(1.0, 0),
            })
        })
    }

    /// For kernels of absolute distances.
    pub(super) fn of_distances<T: Element>(self, x: MatrixView<T>, extent: &Extent, team: &Team) -> Result<Rate> {
        self.settled(x, extent, || {
            let unit = extent.spread_exponent();
            Ok(match median(x, &extent.factors(unit), true, team)? {
                Some(m) => Rate::of(1.0 / m, -unit),
                None => Rate::of(1.0, 0),
            })
        })
    }

    /// `of_median`: what the kernel makes of the median distance.
    fn settled<T: Element>(
        self,
        x: MatrixView<T>,
        extent: &Extent,
        of_median: impl FnOnce() -> Result<Rate>,
    ) -> Result<Rate> {
        match self {
            Self::Number(value) => Rate::new(value),
            Self::Known(rate) => Ok(rate),
            Self::PerFeature => Rate::new(1.0 / x.cols() as f64),
            Self::Scale => {
                let unit = extent.spread_exponent();
                let variance = extent.squared_distances(x, unit).1;
                let constant = variance == 0.0;
                Ok(if constant { Rate::new(1.0)? } else { Rate::of(1.0 / variance, -2 * unit) })
            }
            Self::Median => of_median(),
        }
    }
}

/// The median distance of rows whose coordinates are multiplied by `factors`: two middle ones averaged, nonzero where
/// there is one.
fn median<T: Element>(x: MatrixView<T>, factors: &[f64], l1: bool, team: &Team) -> Result<Option<f64>> {
    let n = x.rows() as u64;
    let pairs = n * (n - 1) / 2;
    if pairs == 0 {
        return Ok(None);
    }
    let distances = Distances { tiles: Tiles::distances(x, factors, l1), team };
    let root = |d: f64| if l1 { d } else { d.sqrt() };
    let middle = |zeros: u64, guess| -> Result<f64> {
        let positive = pairs - zeros;
        let (low, high) = distances.ranked(zeros + (positive - 1) / 2, zeros + positive / 2, guess)?;
        Ok(0.5 * root(low) + 0.5 * root(high))
    };
    let found = middle(0, bracket(x, factors, l1))?;
    if found > 0.0 {
        return Ok(Some(found));
    }
    let smallest = f64::from_bits(1);
    let zeros = distances.census(smallest, smallest, 0)?.below;
    if zeros == pairs { Ok(None) } else { middle(zeros, (smallest, f64::MAX)).map(Some) }
}

/// Values a part keeps before it only counts: 16 parts hold at most 16 MB.
const KEPT: usize = 1 << 17;

/// Cells of the histogram that narrows a range of values.
const CELLS: usize = 1 << 12;

/// The distances of all pairs i < j, computed anew in each pass.
struct Distances<'a> {
    tiles: Tiles<f64>,
    team: &'a Team<'a>,
}

/// Where the distances lie in respect of a range.
#[derive(Default)]
struct Census {
    below: u64,
    inside: u64,
    /// All values inside, as long as there are few.
    values: Vec<f64>,
    /// Counts inside by cells of equal width in the order of the bits, where they were asked for.
    cells: Vec<u64>,
}

impl Distances<'_> {
    /// The distances of rank `first` and `second` (equal or neighbours), counted from 0. Exact: the guess costs time
    /// only.
    fn ranked(&self, first: u64, second: u64, (mut low, mut high): (f64, f64)) -> Result<(f64, f64)> {
        loop {
            let mut census = self.census(low, high, 0)?;
            let within = census.below..census.below + census.inside;
            if within.contains(&first) {
                if low.to_bits() >= high.to_bits() {
                    let next = if second < within.end { low } else { self.ranked(second, second, (low, f64::MAX))?.0 };
                    return Ok((low, next));
                }
                if census.values.len() as u64 == census.inside {
                    let at = usize::try_from(first - census.below).unwrap_or(0);
                    let (_, value, above) = census.values.select_nth_unstable_by(at, f64::total_cmp);
                    let value = *value;
                    if second == first {
                        return Ok((value, value));
                    }
                    let next = above.iter().copied().min_by(f64::total_cmp);
                    let next = next.map_or_else(|| Ok(self.ranked(second, second, (high, f64::MAX))?.0), Ok)?;
                    return Ok((value, next));
                }
                (low, high) = cell_of(first, &self.census(low, high, CELLS)?, low, high);
            } else if first < census.below {
                (low, high) = (0.0, f64::from_bits(low.to_bits() - 1));
            } else {
                (low, high) = (f64::from_bits(high.to_bits() + 1), f64::INFINITY);
            }
        }
    }

    fn census(&self, low: f64, high: f64, cells: usize) -> Result<Census> {
        let parts = self.team.map((0..parts(self.tiles.rows().strips())).collect(), |part| {
            self.team.check()?;
            Ok(run(Pass { tiles: &self.tiles, part, low, high, cells }))
        });
        let mut total = Census { cells: vec![0; cells], ..Census::default() };
        for part in parts {
            let part: Census = part?;
            total.below += part.below;
            total.inside += part.inside;
            total.values.extend(part.values);
            total.cells.iter_mut().zip(part.cells).for_each(|(t, c)| *t += c);
        }
        Ok(total)
    }
}

/// Bits of distance that one cell of the range spans, as a shift.
fn cell_shift(low: f64, high: f64) -> u32 {
    let span = high.to_bits() - low.to_bits();
    (u64::BITS - span.leading_zeros()).saturating_sub(CELLS.trailing_zeros())
}

/// The range of the cell that holds the value of this rank.
fn cell_of(rank: u64, census: &Census, low: f64, high: f64) -> (f64, f64) {
    let shift = cell_shift(low, high);
    let mut before = census.below;
    for (cell, count) in census.cells.iter().enumerate() {
        if rank < before + count {
            let start = low.to_bits() + ((cell as u64) << shift);
            let end = (start + (1 << shift) - 1).min(high.to_bits());
            return (f64::from_bits(start), f64::from_bits(end));
        }
        before += count;
    }
    (low, high)
}

/// One part of a census.
struct Pass<'a> {
    tiles: &'a Tiles<f64>,
    part: usize,
    low: f64,
    high: f64,
    cells: usize,
}

impl WithSimd for Pass<'_> {
    type Output = Census;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Census {
        let Self { tiles, part, low, high, cells } = self;
        let (points, size) = (tiles.rows(), strip::<f64>());
        let mut census = Census { cells: vec![0; cells], ..Census::default() };
        let mut blocks = Aligned::zeros(points.group() * points.group() * size * size);
        for group in Group::triangle(points.strips(), points.group(), part, parts(points.strips())) {
            tiles.fill(simd, &group, &mut blocks);
            for ((a, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                for (i, row) in block.chunks_exact(size).enumerate().take(points.rows_in(a)) {
                    let from = if a == b { i + 1 } else { 0 };
                    let row = row.get(from..points.rows_in(b)).unwrap_or_default();
                    let (below, inside) = counts(simd, row, low, high);
                    census.below += below;
                    if inside > 0 {
                        census.keep(row, low, high);
                    }
                }
            }
        }
        census
    }
}

/// How many values lie below the range, and how many inside.
#[inline(always)]
fn counts<S: Simd>(simd: S, row: &[f64], low: f64, high: f64) -> (u64, u64) {
    let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
    let (l, h) = (simd.splat_f64s(low), simd.splat_f64s(high));
    let (mut below, mut inside) = (zero, zero);
    let (vectors, rest) = S::as_simd_f64s(row);
    for &d in vectors {
        let under = f64::if_less(simd, d, l, one, zero);
        let over = f64::if_less(simd, h, d, one, zero);
        below = simd.add_f64s(below, under);
        inside = simd.add_f64s(inside, simd.sub_f64s(one, simd.add_f64s(under, over)));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts below 100
    let (mut below, mut inside) = (simd.reduce_sum_f64s(below) as u64, simd.reduce_sum_f64s(inside) as u64);
    for d in rest {
        below += u64::from(*d < low);
        inside += u64::from(*d >= low && *d <= high);
    }
    (below, inside)
}

impl Census {
    /// Takes in the values of a row of a block that lie inside. Without branches: which ones do is chance.
    fn keep(&mut self, row: &[f64], low: f64, high: f64) {
        let (mut found, mut count) = ([0.0; strip::<f64>()], 0);
        for &d in row {
            found[count.min(strip::<f64>() - 1)] = d;
            count += usize::from(d >= low && d <= high);
        }
        let found = &found[..count];
        self.inside += count as u64;
        if self.values.len() < KEPT {
            self.values.extend_from_slice(found);
        }
        if !self.cells.is_empty() {
            let shift = cell_shift(low, high);
            for d in found {
                let cell = usize::try_from((d.to_bits() - low.to_bits()) >> shift).unwrap_or(usize::MAX);
                if let Some(count) = self.cells.get_mut(cell) {
                    *count += 1;
                }
            }
        }
    }
}
