//! A kernel over packed rows, given block by block: nothing of size n x n is held.

use super::cosine::{RAISE, inverse_lengths};
use super::range::{Detour, RowUnits, fill_narrowed, holds};
use super::recipe::{Meeting, Plan, Units, of_products, plan, uniform};
use super::{Extent, Kernel};
use crate::error::Result;
use crate::matrix::{Element, MatrixView};
use crate::memory;
use crate::simd::Lane;
use crate::simd::pairs::{Absolute, Group, Packing, Points, Product, Square, pair_sums, strip};
use crate::simd::profile::{Profile, Scale};
use pulp::{Simd, WithSimd};

/// Pieces into which work over all pairs is cut at most.
const PARTS: usize = 16;

/// Pieces into which work over all pairs of `strips` strips is cut, whatever the number of threads: their results are
/// merged in order. Each has two bands of rows, a long and a short one, or more.
#[must_use]
pub fn parts(strips: usize) -> usize {
    strips.div_ceil(2).clamp(1, PARTS)
}

/// k(x_i, y_j) for strips of rows x and y, or of one set of rows with itself.
#[derive(Debug)]
pub struct Tiles<T> {
    rows: Points<T>,
    cols: Option<Points<T>>,
    meeting: Meeting,
    profile: Profile<T>,
    /// Half squares of rows and columns, for distances made of products.
    halves: (Vec<T>, Vec<T>),
    /// The exact diagonal of a set with itself, padded; empty where the computed one is it.
    diagonal: Vec<T>,
    exponent: i32,
    /// Where values come from that no one unit of `T` holds.
    detour: Option<Detour>,
}

/// Numbers in `f64` a column that packing takes beside the rows: origin and factors, each of them twice.
const A_COLUMN: usize = 4;

/// Refuses the tiles of sets of so many `rows`, of `cols` columns, where there is no room for them: each set is filled
/// up to whole strips.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory).
pub fn check_room<T: Lane>(rows: &[usize], cols: usize) -> Result<()> {
    let strips: u128 = rows.iter().map(|n| n.div_ceil(strip::<T>()) as u128).sum();
    let column = strips * (strip::<T>() * size_of::<T>()) as u128 + (A_COLUMN * size_of::<f64>()) as u128;
    memory::check_bytes(column.saturating_mul(cols as u128), "a copy of the rows, packed in strips,")
}

impl<T: Lane> Tiles<T> {
    /// The kernel of `x` with itself. `extent` is that of `x`.
    #[must_use]
    pub fn square<U: Element>(x: MatrixView<U>, kernel: &Kernel, extent: &Extent, units: Units) -> Self {
        Self::new(x, None, kernel, extent, units)
    }

    /// The kernel of the rows of `x` with those of `y`. `extent` is that of `y` [`with`](Extent::with) that of `x`.
    #[must_use]
    pub fn cross<U: Element>(x: MatrixView<U>, y: MatrixView<U>, kernel: &Kernel, extent: &Extent) -> Self {
        Self::new(x, Some(y), kernel, extent, Units::Plain)
    }

    /// Squared (`l1` = false) or absolute distances of rows whose coordinates are multiplied by `factors`.
    #[must_use]
    pub fn distances<U: Element>(x: MatrixView<U>, factors: &[f64], l1: bool) -> Self {
        let plan = Plan {
            meeting: if l1 { Meeting::Absolute } else { Meeting::Square },
            profile: Profile::Scale(Scale(T::of(1.0))),
            origin: Vec::new(),
            factors: factors.to_vec(),
            exponent: 0,
            unit_diagonal: false,
        };
        Self::packed(x, None, plan, (&[], &[]))
    }

    fn new<U: Element>(
        x: MatrixView<U>,
        y: Option<MatrixView<U>>,
        kernel: &Kernel,
        extent: &Extent,
        units: Units,
    ) -> Self {
        if matches!(kernel, Kernel::Cosine) {
            let raise = if extent.size_exponent() < f64::MAX_EXP - 2 * RAISE { RAISE } else { 0 };
            let factors = uniform(-raise, x.cols());
            let plan = Plan { factors, unit_diagonal: true, ..of_products(Scale(T::of(1.0)), 0) };
            let (lengths, others) =
                (inverse_lengths(x, raise), y.map(|y| inverse_lengths(y, raise)).unwrap_or_default());
            return Self::packed(x, y, plan, (&lengths, &others));
        }
        // In a unit of their own, values are sums to be: what vanishes beside the largest is nothing to these.
        let held = T::DOUBLE && units == Units::Own || holds::<T, U>(x, y, kernel, extent);
        if !held && !T::DOUBLE {
            return Self::narrowed(Tiles::new(x, y, kernel, extent, units));
        }
        if !held && matches!(kernel, Kernel::Poly { .. } | Kernel::Sigmoid { .. }) {
            let own = RowUnits::of(x, y, *kernel);
            let (lengths, others) = own.factors();
            let tiles = Self::packed(x, y, of_products(Scale(T::of(1.0)), 0), (&lengths, &others));
            return Self { detour: Some(Detour::Rows(own)), ..tiles };
        }
        Self::packed(x, y, plan(x, y, kernel, extent, units), (&[], &[]))
    }

    /// The values of `wide` in `T`.
    fn narrowed(wide: Tiles<f64>) -> Self {
        let outline = |points: &Points<f64>| Points::outline(points.count(), points.dim());
        Self {
            rows: outline(&wide.rows),
            cols: wide.cols.as_ref().map(outline),
            meeting: wide.meeting,
            profile: Profile::Scale(Scale(T::of(1.0))),
            halves: (Vec::new(), Vec::new()),
            diagonal: Vec::new(),
            exponent: wide.exponent,
            detour: Some(Detour::Wide(Box::new(wide))),
        }
    }

    fn packed<U: Element>(
        x: MatrixView<U>,
        y: Option<MatrixView<U>>,
        plan: Plan<T>,
        (x_rows, y_rows): (&[f64], &[f64]),
    ) -> Self {
        let Plan { meeting, profile, origin, factors, exponent, unit_diagonal } = plan;
        let packing = Packing { origin: &origin, row_origin: &[], factors: &factors, rows: x_rows };
        let rows = Points::pack(x, &packing);
        let cols = y.map(|y| Points::pack(y, &Packing { rows: y_rows, ..packing }));
        let halves = match profile {
            Profile::DecayOfProducts(_) => {
                (rows.half_squares(), cols.as_ref().map(Points::half_squares).unwrap_or_default())
            }
            _ => (Vec::new(), Vec::new()),
        };
        let mut diagonal = Vec::new();
        if unit_diagonal && cols.is_none() {
            diagonal.resize(rows.strips() * strip::<T>(), T::of(1.0));
            // A zero row has no direction: its cosine is 0 with itself too.
            for (one, _) in diagonal.iter_mut().zip(x_rows).filter(|(_, f)| **f == 0.0) {
                *one = T::of(0.0);
            }
        }
        Self { rows, cols, meeting, profile, halves, diagonal, exponent, detour: None }
    }

    /// The strips on the left.
    #[must_use]
    pub fn rows(&self) -> &Points<T> {
        &self.rows
    }

    /// The strips on the right.
    #[must_use]
    pub fn cols(&self) -> &Points<T> {
        self.cols.as_ref().unwrap_or(&self.rows)
    }

    /// Values are in units of 2^exponent.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The kernel values of a group of blocks, in the order of [`Group::blocks`]. Padding holds finite numbers in the
    /// columns and anything in the rows. A block of a strip with itself is exactly symmetric.
    #[inline(always)]
    pub fn fill<S: Simd>(&self, simd: S, group: &Group, blocks: &mut [T]) {
        // Compiled once for all its callers.
        simd.vectorize(Fill { tiles: self, group, blocks });
    }
}

struct Fill<'a, T> {
    tiles: &'a Tiles<T>,
    group: &'a Group,
    blocks: &'a mut [T],
}

impl<T: Lane> WithSimd for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tiles, group, blocks } = self;
        if let Some(Detour::Wide(wide)) = &tiles.detour {
            return fill_narrowed(simd, wide, group, blocks);
        }
        let sets = (&tiles.rows, tiles.cols());
        match tiles.meeting {
            Meeting::Product => pair_sums::<Product, T, S>(simd, sets, group, blocks),
            Meeting::Square => pair_sums::<Square, T, S>(simd, sets, group, blocks),
            Meeting::Absolute => pair_sums::<Absolute, T, S>(simd, sets, group, blocks),
        }
        let size = strip::<T>();
        let other = if tiles.cols.is_some() { &tiles.halves.1 } else { &tiles.halves.0 };
        for ((a, b), block) in group.blocks().zip(blocks.chunks_exact_mut(size * size)) {
            let halves = (strip_of(&tiles.halves.0, a), strip_of(other, b));
            let height = tiles.rows.rows_in(a);
            tiles.profile.apply(simd, &mut block[..height * size], halves);
            if let Some(Detour::Rows(own)) = &tiles.detour {
                own.apply((a, b), &mut block[..height * size]);
            }
            if a == b && !tiles.diagonal.is_empty() {
                for (entry, one) in block.iter_mut().step_by(size + 1).zip(&tiles.diagonal[a * size..]) {
                    *entry = *one;
                }
            }
        }
    }
}

/// What `values` hold for strip `s`; nothing where they are not kept.
#[inline(always)]
fn strip_of<T>(values: &[T], s: usize) -> &[T] {
    values.get(s * strip::<T>()..(s + 1) * strip::<T>()).unwrap_or_default()
}
