//! One pass over the upper triangle of a symmetric matrix: pending rank-two updates and a product,
//! `A -= sum v w' + w v'`, `y = A x`.

use pulp::{Simd, WithSimd};
use std::array::from_fn;

/// Rows that go along the columns together where nothing is pending: x and y are loaded once for all of them, and four
/// running sums do not wait for each other. With updates pending, the multipliers of two rows fill 16 registers.
const ROWS: usize = 4;

/// The update `- v w' - w v'`.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) v: &'a [f64],
    pub(super) w: &'a [f64],
}

/// Some consecutive rows of the triangle and their share of the product: all entries of y from `first` on.
pub(super) struct Pass<'a, const PENDING: usize> {
    /// Padded rows, as long as x and zero in the padding; an even number of them unless they end the matrix.
    pub(super) rows: &'a mut [f64],
    /// The row of the matrix that comes first.
    pub(super) first: usize,
    /// Applied to `rows`; all vectors as long as x and zero in the padding.
    pub(super) pending: [Pair<'a>; PENDING],
    pub(super) x: &'a [f64],
    /// Overwritten from `first` on.
    pub(super) y: &'a mut [f64],
}

impl<const PENDING: usize> WithSimd for Pass<'_, PENDING> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        multiply(simd, self);
    }
}

/// [`Pass`] inside another loop.
#[inline(always)]
pub(super) fn multiply<S: Simd, const PENDING: usize>(simd: S, pass: Pass<PENDING>) {
    let Pass { rows, first, mut pending, x, y } = pass;
    let stride = x.len();
    assert!(y.len() == stride);
    y[first..].fill(0.0);
    if PENDING == 0 {
        let whole = rows.len() / (ROWS * stride) * ROWS;
        let (groups, rest) = rows.split_at(whole * stride);
        multiply_rows::<S, 1>(simd, rest, first + whole, x, y);
        multiply_rows::<S, ROWS>(simd, groups, first, x, y);
        return;
    }
    for pair in &mut pending {
        *pair = Pair { v: &pair.v[..stride], w: &pair.w[..stride] };
    }
    let mut twos = rows.chunks_exact_mut(2 * stride);
    let mut i = first;
    for two in &mut twos {
        let (upper, lower) = two.split_at_mut(stride);
        row_pair(simd, [upper, lower], i, &pending, x, y);
        i += 2;
    }
    if let Some(last) = twos.into_remainder().get_mut(i) {
        for Pair { v, w } in &pending {
            *last -= 2.0 * v[i] * w[i];
        }
        y[i] += *last * x[i];
    }
}

/// The product of the rows from `first` on with nothing pending, `R` at a time, the last first: they are what the pass
/// before, which went down, has left in the cache.
#[inline(always)]
fn multiply_rows<S: Simd, const R: usize>(simd: S, rows: &[f64], first: usize, x: &[f64], y: &mut [f64]) {
    for (g, group) in rows.chunks_exact(R * x.len()).enumerate().rev() {
        let mut lines = group.chunks_exact(x.len());
        multiply_group(simd, from_fn::<_, R, _>(|_| lines.next().unwrap_or_default()), first + g * R, x, y);
    }
}

/// Rows i .. i + R: the columns before the next full vector one by one, then vectors.
#[inline(always)]
fn multiply_group<S: Simd, const R: usize>(simd: S, rows: [&[f64]; R], i: usize, x: &[f64], y: &mut [f64]) {
    let full = (i + R).next_multiple_of(S::F64_LANES).min(x.len());
    let mut own = [0.0; R];
    for r in 0..R {
        let here = x[i + r];
        own[r] = rows[r][i + r] * here;
        for j in i + r + 1..full {
            own[r] += rows[r][j] * x[j];
            y[j] += rows[r][j] * here;
        }
    }
    let here: [_; R] = from_fn(|r| simd.splat_f64s(x[i + r]));
    let mut sums = [simd.splat_f64s(0.0); R];
    let (beside, beyond) = (S::as_simd_f64s(&x[full..]).0, S::as_mut_simd_f64s(&mut y[full..]).0);
    let rows: [_; R] = from_fn(|r| &S::as_simd_f64s(&rows[r][full..]).0[..beside.len()]);
    for (j, (&x, y)) in beside.iter().zip(beyond).enumerate() {
        let mut total = *y;
        for r in 0..R {
            let entries = rows[r][j];
            sums[r] = simd.mul_add_e_f64s(entries, x, sums[r]);
            total = simd.mul_add_e_f64s(entries, here[r], total);
        }
        *y = total;
    }
    for r in 0..R {
        y[i + r] += own[r] + simd.reduce_sum_f64s(sums[r]);
    }
}

/// Rows i and i + 1 of the pass: the 2 x 2 corner, the columns before the next full vector, then vectors.
#[inline(always)]
fn row_pair<S: Simd, const PENDING: usize>(
    simd: S,
    [upper, lower]: [&mut [f64]; 2],
    i: usize,
    pending: &[Pair; PENDING],
    x: &[f64],
    y: &mut [f64],
) {
    let full = (i + 2).next_multiple_of(S::F64_LANES).min(x.len());
    for Pair { v, w } in pending {
        let ([v0, v1], [w0, w1]) = ([v[i], v[i + 1]], [w[i], w[i + 1]]);
        upper[i] -= 2.0 * v0 * w0;
        upper[i + 1] -= v0 * w1 + w0 * v1;
        lower[i + 1] -= 2.0 * v1 * w1;
        for j in i + 2..full {
            upper[j] -= v0 * w[j] + w0 * v[j];
            lower[j] -= v1 * w[j] + w1 * v[j];
        }
    }
    let [x0, x1] = [x[i], x[i + 1]];
    let mut sums = [upper[i] * x0 + upper[i + 1] * x1, upper[i + 1] * x0 + lower[i + 1] * x1];
    for j in i + 2..full {
        sums[0] += upper[j] * x[j];
        sums[1] += lower[j] * x[j];
        y[j] += upper[j] * x0 + lower[j] * x1;
    }
    let rows = [S::as_mut_simd_f64s(&mut upper[full..]).0, S::as_mut_simd_f64s(&mut lower[full..]).0];
    let pairs = vectors_of::<S, PENDING>(simd, pending, i, full);
    let here = [simd.splat_f64s(x0), simd.splat_f64s(x1)];
    let (x, beyond) = (S::as_simd_f64s(&x[full..]).0, S::as_mut_simd_f64s(&mut y[full..]).0);
    let vectors = row_pair_vectors(simd, rows, &pairs, here, x, beyond);
    y[i] += sums[0] + vectors[0];
    y[i + 1] += sums[1] + vectors[1];
}

/// A pending update as two rows see it: the columns' parts, and minus the rows' own entries in every lane.
#[derive(Clone, Copy)]
struct PairVectors<'a, S: Simd> {
    v: &'a [S::f64s],
    w: &'a [S::f64s],
    minus_v: [S::f64s; 2],
    minus_w: [S::f64s; 2],
}

#[inline(always)]
fn vectors_of<'a, S: Simd, const PENDING: usize>(
    simd: S,
    pending: &[Pair<'a>; PENDING],
    i: usize,
    full: usize,
) -> [PairVectors<'a, S>; PENDING] {
    let zero = [simd.splat_f64s(0.0); 2];
    let mut all = [PairVectors { v: &[], w: &[], minus_v: zero, minus_w: zero }; PENDING];
    for (to, Pair { v, w }) in all.iter_mut().zip(pending) {
        *to = PairVectors {
            v: S::as_simd_f64s(&v[full..]).0,
            w: S::as_simd_f64s(&w[full..]).0,
            minus_v: [simd.splat_f64s(-v[i]), simd.splat_f64s(-v[i + 1])],
            minus_w: [simd.splat_f64s(-w[i]), simd.splat_f64s(-w[i + 1])],
        };
    }
    all
}

/// Updates two rows, adds their multiples by `here` to y, and returns their products with x.
#[inline(always)]
fn row_pair_vectors<S: Simd, const PENDING: usize>(
    simd: S,
    rows: [&mut [S::f64s]; 2],
    pairs: &[PairVectors<S>; PENDING],
    here: [S::f64s; 2],
    x: &[S::f64s],
    y: &mut [S::f64s],
) -> [f64; 2] {
    let [upper, lower] = rows;
    let len = x.len();
    assert!(pairs.iter().all(|pair| pair.v.len() == len && pair.w.len() == len));
    let mut sums = [simd.splat_f64s(0.0); 2];
    for (j, (((upper, lower), &x), y)) in upper.iter_mut().zip(lower).zip(x).zip(y).enumerate() {
        let (mut a, mut b) = (*upper, *lower);
        for pair in pairs {
            a = simd.mul_add_e_f64s(pair.minus_v[0], pair.w[j], a);
            b = simd.mul_add_e_f64s(pair.minus_v[1], pair.w[j], b);
            a = simd.mul_add_e_f64s(pair.minus_w[0], pair.v[j], a);
            b = simd.mul_add_e_f64s(pair.minus_w[1], pair.v[j], b);
        }
        (*upper, *lower) = (a, b);
        sums[0] = simd.mul_add_e_f64s(a, x, sums[0]);
        sums[1] = simd.mul_add_e_f64s(b, x, sums[1]);
        *y = simd.mul_add_e_f64s(b, here[1], simd.mul_add_e_f64s(a, here[0], *y));
    }
    sums.map(|sum| simd.reduce_sum_f64s(sum))
}
