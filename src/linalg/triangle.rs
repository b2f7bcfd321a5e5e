//! One pass over the upper triangle of a symmetric matrix: pending rank-two updates and a product, `A -= sum v w' + w
//! v'`, `y = A x`.

use pulp::{Simd, WithSimd};

/// The update `- v w' - w v'`.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) v: &'a [f64],
    pub(super) w: &'a [f64],
}

/// Some consecutive rows of the triangle and their share of the product: all entries of y from `first` on.
pub(super) struct Pass<'a, const PENDING: usize> {
    /// Padded rows, as long as x; an even number of them unless they end the matrix.
    pub(super) rows: &'a mut [f64],
    /// The row of the matrix that comes first.
    pub(super) first: usize,
    /// Order of the matrix.
    pub(super) n: usize,
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
    let Pass { rows, first, n, mut pending, x, y } = pass;
    let stride = x.len();
    assert!(y.len() == stride && n <= stride);
    for pair in &mut pending {
        *pair = Pair { v: &pair.v[..stride], w: &pair.w[..stride] };
    }
    y[first..n].fill(0.0);
    let mut twos = rows.chunks_exact_mut(2 * stride);
    let mut i = first;
    for two in &mut twos {
        let (upper, lower) = two.split_at_mut(stride);
        row_pair(simd, [upper, lower], i, n, &pending, x, y);
        i += 2;
    }
    let row = twos.into_remainder();
    if i < n && !row.is_empty() {
        for Pair { v, w } in &pending {
            row[i] -= 2.0 * v[i] * w[i];
        }
        y[i] += row[i] * x[i];
    }
}

/// Rows i and i + 1 of the pass: the 2 x 2 corner, the columns before the next full vector, then vectors.
#[inline(always)]
fn row_pair<S: Simd, const PENDING: usize>(
    simd: S,
    [upper, lower]: [&mut [f64]; 2],
    i: usize,
    n: usize,
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
        for j in i + 2..full.min(n) {
            upper[j] -= v0 * w[j] + w0 * v[j];
            lower[j] -= v1 * w[j] + w1 * v[j];
        }
    }
    let [x0, x1] = [x[i], x[i + 1]];
    let mut sums = [upper[i] * x0 + upper[i + 1] * x1, upper[i + 1] * x0 + lower[i + 1] * x1];
    for j in i + 2..full.min(n) {
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
    assert!(upper.len() == len && lower.len() == len && y.len() == len);
    for pair in pairs {
        assert!(pair.v.len() == len && pair.w.len() == len);
    }
    // Two running sums for each row: one alone would wait for itself.
    let mut sums = [[simd.splat_f64s(0.0); 2]; 2];
    for j in 0..len / 2 {
        for half in 0..2 {
            step(simd, 2 * j + half, [&mut *upper, &mut *lower], pairs, here, x, y, &mut sums[half]);
        }
    }
    if len % 2 == 1 {
        step(simd, len - 1, [upper, lower], pairs, here, x, y, &mut sums[0]);
    }
    let [even, odd] = sums;
    [simd.reduce_sum_f64s(simd.add_f64s(even[0], odd[0])), simd.reduce_sum_f64s(simd.add_f64s(even[1], odd[1]))]
}

/// Vector j of both rows.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn step<S: Simd, const PENDING: usize>(
    simd: S,
    j: usize,
    [upper, lower]: [&mut [S::f64s]; 2],
    pairs: &[PairVectors<S>; PENDING],
    here: [S::f64s; 2],
    x: &[S::f64s],
    y: &mut [S::f64s],
    sums: &mut [S::f64s; 2],
) {
    let (mut a, mut b) = (upper[j], lower[j]);
    for pair in pairs {
        a = simd.mul_add_e_f64s(pair.minus_v[0], pair.w[j], a);
        b = simd.mul_add_e_f64s(pair.minus_v[1], pair.w[j], b);
        a = simd.mul_add_e_f64s(pair.minus_w[0], pair.v[j], a);
        b = simd.mul_add_e_f64s(pair.minus_w[1], pair.v[j], b);
    }
    if PENDING > 0 {
        (upper[j], lower[j]) = (a, b);
    }
    sums[0] = simd.mul_add_e_f64s(a, x[j], sums[0]);
    sums[1] = simd.mul_add_e_f64s(b, x[j], sums[1]);
    y[j] = simd.mul_add_e_f64s(b, here[1], simd.mul_add_e_f64s(a, here[0], y[j]));
}
