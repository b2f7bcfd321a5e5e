//! Linear and delta kernels without pairs: tr(K H L H) = |Xc'Yc|^2 of feature columns, where one-hot columns of labels
//! turn products into class sums.

use super::source::Sample;
use super::statistic::Sums;
use crate::covariance::Classes;
use crate::error::Result;
use crate::kernel::{Extent, Kernel};
use crate::matrix::{Element, MatrixView, zeros};
use crate::memory;
use crate::simd::pairs::{Group, Packing, Points, Product, SHARED, pair_sums, strip};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::collections::HashMap;

/// Rows packed at a time for products of columns: a block of 24 x 24 columns then lasts some 0.3 ms.
const ROWS: usize = 4096;
/// Terms that are added at a time in sums over the rows: of equal ones a sum may be wrong by as many roundings.
/// Products are summed over the rows packed at a time, and so is what is subtracted from them.
pub(super) const TERMS: usize = ROWS;

/// A side whose kernel is an inner product of few features.
#[derive(Debug)]
pub(super) enum Features<'a, T> {
    Columns(Columns<'a, T>),
    Classes(Classes),
}

/// Columns about their means, in units of 2^exponent.
#[derive(Debug)]
pub(super) struct Columns<'a, T> {
    x: MatrixView<'a, T>,
    /// Rounded: the columns about it do not sum to 0.
    mean: Vec<f64>,
    /// What rounding took from the means, in the unit; padded with zeros to whole strips.
    rest: Vec<f64>,
    factors: Vec<f64>,
    exponent: i32,
}

impl<'a, T: Element> Features<'a, T> {
    /// Whether both sides have features, and fewer operations than all pairs take.
    pub(super) fn cheaper<U: Element>(x: &Sample<T>, y: &Sample<U>, own: bool) -> bool {
        // Class sums cost one addition a row and column, like a single feature.
        let width = |linear: bool, cols: usize| if linear { cols as f64 } else { 1.0 };
        let (Some((linear_x, cols_x)), Some((linear_y, cols_y))) = (x.features(), y.features()) else { return false };
        let (d, e) = (width(linear_x, cols_x), width(linear_y, cols_y));
        let products = d * e + if own { d * d + e * e } else { 0.0 };
        // All pairs: n / 2 of them a row, d + e operations each.
        products < 0.5 * x.len() as f64 * (d + e)
    }

    /// The features of a side that has them. Time O(n d).
    pub(super) fn of(sample: &Sample<'a, T>, what: &'static str) -> Result<Option<Self>> {
        Ok(match *sample {
            Sample::Rows(x, Kernel::Linear { .. }) => {
                let extent = Extent::of(x, what)?;
                let exponent = extent.spread_exponent();
                let factors = extent.factors(exponent);
                let mut rest: Vec<f64> = extent.rest().iter().zip(&factors).map(|(rest, f)| rest * f).collect();
                rest.resize(x.cols().next_multiple_of(strip::<f64>()), 0.0);
                Some(Self::Columns(Columns { x, mean: extent.mean().to_vec(), rest, factors, exponent }))
            }
            Sample::Rows(x, Kernel::Delta) => {
                Extent::of(x, what)?;
                Some(Self::Classes(Classes::of_rows(x)))
            }
            _ => None,
        })
    }

    /// The kernel is 2^exponent times as large.
    fn exponent(&self) -> i32 {
        match self {
            Self::Columns(columns) => 2 * columns.exponent,
            Self::Classes(_) => 0,
        }
    }

    /// Squared length of each centred row of features.
    fn diagonal(&self) -> Vec<f64> {
        match self {
            Self::Columns(columns) => {
                let mut squares = Vec::with_capacity(columns.x.rows());
                columns.x.each_row(|row| squares.push(columns.centred(row).map(|x| x * x).sum()));
                squares
            }
            Self::Classes(classes) => {
                // |e_c - p|^2 = 1 - 2 p_c + |p|^2 with p the shares of the classes.
                let n = classes.codes().len() as f64;
                let shares: Vec<f64> = classes.sizes().iter().map(|&s| s as f64 / n).collect();
                let square: f64 = shares.iter().map(|p| p * p).sum();
                classes.codes().iter().map(|&c| 1.0 - 2.0 * shares[c as usize] + square).collect()
            }
        }
    }

    /// |Xc'Yc|^2, the sum of squares of all products of a feature of `self` with one of `other`.
    fn products<U: Element>(&self, other: &Features<U>, team: &Team) -> Result<f64> {
        match (self, other) {
            (Self::Columns(x), Features::Columns(y)) => x.products(y, false, team),
            (Self::Columns(x), Features::Classes(y)) => class_sums(y, x),
            (Self::Classes(x), Features::Columns(y)) => class_sums(x, y),
            (Self::Classes(x), Features::Classes(y)) => Ok(contingency(x, y)),
        }
    }

    /// The same of `self` with itself.
    fn own_products(&self, team: &Team) -> Result<f64> {
        match self {
            Self::Columns(x) => x.products(x, true, team),
            Self::Classes(x) => Ok(contingency(x, x)),
        }
    }
}

impl<T: Element> Sample<'_, T> {
    /// Whether the kernel is linear (else delta), and the number of columns; `None` for other kernels.
    fn features(&self) -> Option<(bool, usize)> {
        match self {
            Self::Rows(x, Kernel::Linear { .. }) => Some((true, x.cols())),
            Self::Rows(x, Kernel::Delta) => Some((false, x.cols())),
            _ => None,
        }
    }
}

/// The sums for kernels of centred features: row sums over all j are 0, so those over j != i are minus the diagonal.
pub(super) fn feature_sums<T: Element, U: Element>(
    x: &Features<T>,
    y: &Features<U>,
    own: bool,
    team: &Team,
) -> Result<Sums> {
    let (d, e) = (x.diagonal(), y.diagonal());
    let dot = |(d, e): (&[f64], &[f64])| d.iter().zip(e).map(|(d, e)| d * e).sum::<f64>();
    let on_diagonal = |d: &[f64], e: &[f64]| d.chunks(TERMS).zip(e.chunks(TERMS)).map(dot).sum::<f64>();
    let own = if own { (x.own_products(team)?, y.own_products(team)?) } else { (0.0, 0.0) };
    Ok(Sums {
        cross: x.products(y, team)? - on_diagonal(&d, &e),
        squares: (own.0 - on_diagonal(&d, &d), own.1 - on_diagonal(&e, &e)),
        reduced: own,
        rows: (d.iter().map(|d| -d).collect(), e.iter().map(|e| -e).collect()),
        diagonals: (d, e),
        exponents: (x.exponent(), y.exponent()),
        pilots: (0.0, 0.0),
    })
}

impl<T: Element> Columns<'_, T> {
    fn centred(&self, row: &[T]) -> impl Iterator<Item = f64> {
        let steps = self.mean.iter().zip(&self.factors).zip(&self.rest);
        row.iter().zip(steps).map(|(&x, ((m, f), rest))| (x.into() - m) * f - rest)
    }

    /// Columns about their rounded means as points, some rows at a time as their coordinates.
    fn points(&self, rows: std::ops::Range<usize>) -> Points<f64> {
        let packing = Packing { row_origin: &self.mean, rows: &self.factors, ..Packing::default() };
        Points::pack(self.x.rows_in(rows).transpose(), &packing)
    }

    /// |Xc'Yc|^2; `same`: `other` is `self`, and half of it will do.
    ///
    /// Columns about a and b have products n (mean x - a) (mean y - b) larger than those about their means.
    fn products<U: Element>(&self, other: &Columns<U>, same: bool, team: &Team) -> Result<f64> {
        let (n, size) = (self.x.rows(), strip::<f64>());
        let strips = (self.x.cols().div_ceil(size), other.x.cols().div_ceil(size));
        let groups: Vec<Group> = Group::cover(0..strips.0, 0..strips.1, same, SHARED).collect();
        let blocks = |group: &Group| group.blocks().count() * size * size;
        let entries = groups.iter().map(blocks).fold(0, usize::saturating_add);
        memory::check::<f64>(entries, "the products of the columns")?;
        let mut totals: Vec<Vec<f64>> = groups.iter().map(|group| vec![0.0; blocks(group)]).collect();
        for rows in (0..n).step_by(ROWS).map(|from| from..n.min(from + ROWS)) {
            let (x, y) = (self.points(rows.clone()), (!same).then(|| other.points(rows)));
            let (x, y) = (&x, y.as_ref().unwrap_or(&x));
            let jobs: Vec<_> =
                groups.iter().zip(&mut totals).map(|(group, total)| Add { x, y, group, total }).collect();
            let done = team.map(jobs, |job| {
                team.check()?;
                run(job);
                Ok(())
            });
            done.into_iter().collect::<Result<()>>()?;
        }
        let mut sum = 0.0;
        for (group, total) in groups.iter().zip(&totals) {
            for ((a, b), block) in group.blocks().zip(total.chunks_exact(size * size)) {
                let (rows, cols) = (&self.rest[a * size..][..size], &other.rest[b * size..][..size]);
                // The padding is zero.
                let mut square = 0.0;
                for (line, row) in block.chunks_exact(size).zip(rows) {
                    let apart = line.iter().zip(cols).map(|(x, col)| x - n as f64 * row * col);
                    square += apart.map(|x| x * x).sum::<f64>();
                }
                sum += if same && a != b { 2.0 * square } else { square };
            }
        }
        Ok(sum)
    }
}

/// total += the products of a group of strips of columns.
struct Add<'a> {
    x: &'a Points<f64>,
    y: &'a Points<f64>,
    group: &'a Group,
    total: &'a mut [f64],
}

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut blocks = Aligned::zeros(self.total.len());
        pair_sums::<Product, f64, S>(simd, (self.x, self.y), self.group, &mut blocks);
        self.total.iter_mut().zip(blocks.iter()).for_each(|(t, b)| *t += b);
    }
}

/// |Xc'Y|^2 = sum over classes of |sum of the centred rows in the class|^2; centring Y too would change nothing.
fn class_sums<T: Element>(classes: &Classes, columns: &Columns<T>) -> Result<f64> {
    let d = columns.x.cols();
    let mut sums = zeros::<f64>(classes.sizes().len().saturating_mul(d), "the sums of all classes")?;
    let mut codes = classes.codes().iter();
    columns.x.each_row(|row| {
        if let Some(&code) = codes.next() {
            sums[code as usize * d..][..d].iter_mut().zip(columns.centred(row)).for_each(|(s, x)| *s += x);
        }
    });
    Ok(sums.iter().map(|s| s * s).sum())
}

/// sum_ab (n_ab - n_a n_b / n)^2, in whole numbers until the end.
fn contingency(x: &Classes, y: &Classes) -> f64 {
    let mut cells: HashMap<(u32, u32), u64> = HashMap::new();
    for (&a, &b) in x.codes().iter().zip(y.codes()) {
        *cells.entry((a, b)).or_insert(0) += 1;
    }
    let square = |classes: &Classes| classes.sizes().iter().map(|&s| s as i128 * s as i128).sum::<i128>();
    let n = x.codes().len() as i128;
    let mut sum = square(x) * square(y);
    for ((a, b), &count) in &cells {
        let expected = x.sizes()[*a as usize] as i128 * y.sizes()[*b as usize] as i128;
        sum += n * i128::from(count) * (n * i128::from(count) - 2 * expected);
    }
    sum as f64 / (n as f64 * n as f64)
}
