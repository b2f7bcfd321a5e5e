//! The eigenvalues of `D + rho z z'`, D diagonal.
//!
//! With poles `d_0 < d_1 < ...` and weights `rho z_i^2 > 0`, the eigenvalues are the roots of the secular equation
//!
//! ```text
//! f(x) = 1 + sum_i rho z_i^2 / (d_i - x),   d_j < lambda_j < d_{j+1}
//! ```
//!
//! (the last one below `d_{k-1}` plus the sum of the weights).
//!
//! Each root is kept as `origin + shift` from its nearer pole, which keeps the differences `d_i - lambda_j` to full
//! relative accuracy. Several roots are found at once, one a lane.
//!
//! References: Cuppen (1981); Li (1993), "Solving secular equations stably and efficiently", LAPACK Working Note 89.

use pulp::{Simd, WithSimd};

/// The widest vector has this many lanes.
pub(super) const MAX_LANES: usize = 8;

/// Steps of the rational interpolation before bisection takes over; 3 to 6 are usual.
const RATIONAL_STEPS: usize = 30;

/// Halvings that bring any interval of doubles of one sign down to two neighbours.
const HALVINGS: usize = 64;

/// A root is accepted when |f| is below this many roundings of its own sum.
const ROUNDINGS: f64 = 8.0;

/// While a bracket still ends at the pole, where f is infinite, a rejected step moves the other end this far towards
/// it.
const TOWARDS_POLE: f64 = 1.0 / 32.0;

/// Roots `first ..` of the secular equation, as many as `shift` holds.
pub(super) struct Roots<'a> {
    /// All poles, strictly increasing.
    pub(super) poles: &'a [f64],
    /// `rho z_i^2`, all positive.
    pub(super) weights: &'a [f64],
    /// The first root wanted.
    pub(super) first: usize,
    /// The nearer pole of each root.
    pub(super) origin: &'a mut [f64],
    /// Root minus its origin.
    pub(super) shift: &'a mut [f64],
}

impl WithSimd for Roots<'_> {
    /// Whether every root was found.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { poles, weights, first, origin, shift } = self;
        assert!(weights.len() == poles.len() && origin.len() == shift.len() && first + shift.len() <= poles.len());
        let total: f64 = weights.iter().sum();
        let mut found = true;
        let groups = origin.chunks_mut(S::F64_LANES).zip(shift.chunks_mut(S::F64_LANES));
        for (group, (origin, shift)) in groups.enumerate() {
            let at = first + group * S::F64_LANES;
            let mut roots = [Root::new(poles, total, at); MAX_LANES];
            for (q, root) in roots[..shift.len()].iter_mut().enumerate() {
                *root = Root::new(poles, total, at + q);
            }
            found &= solve_group(simd, poles, weights, at, &mut roots, shift.len());
            for ((origin, shift), root) in origin.iter_mut().zip(shift).zip(&roots) {
                (*origin, *shift) = (root.origin, root.shift);
            }
        }
        found
    }
}

/// Iterates on the first `live` of `roots`, the roots `at ..`, until all are found or the budget is used up.
#[inline(always)]
fn solve_group<S: Simd>(
    simd: S,
    poles: &[f64],
    weights: &[f64],
    at: usize,
    roots: &mut [Root; MAX_LANES],
    live: usize,
) -> bool {
    for step in 0..RATIONAL_STEPS + HALVINGS {
        let sums = evaluate(simd, poles, weights, at, roots, live);
        let mut done = true;
        for (root, sums) in roots[..live].iter_mut().zip(&sums) {
            if !root.done {
                root.advance(sums, step);
                done &= root.done;
            }
        }
        if done {
            return true;
        }
    }
    false
}

/// One root on its way: `origin + shift`, bracketed by `origin + low` and `origin + high`.
#[derive(Clone, Copy)]
struct Root {
    /// The pole below the root.
    left: f64,
    /// The pole above; for the last root, which has none, the bound above.
    right: f64,
    last: bool,
    origin: f64,
    shift: f64,
    low: f64,
    high: f64,
    done: bool,
}

/// f at one point, in its parts.
#[derive(Clone, Copy, Default)]
struct Sums {
    value: f64,
    /// The slope from the poles up to the root's left one.
    left_slope: f64,
    /// The slope from the poles to the right of the root.
    right_slope: f64,
    /// 1 + |left part| + |right part|: the scale of the rounding in `value`.
    magnitude: f64,
}

impl Root {
    /// Starts in the middle of the interval, seen from the pole below.
    #[inline(always)]
    fn new(poles: &[f64], total_weight: f64, j: usize) -> Self {
        let (left, last) = (poles[j], j + 1 == poles.len());
        let right = if last { left + total_weight } else { poles[j + 1] };
        let gap = if last { total_weight } else { right - left };
        Self { left, right, last, origin: left, shift: 0.5 * gap, low: 0.0, high: gap, done: false }
    }

    /// Narrows the bracket by the sign of f (which increases), then moves to the next point.
    #[inline(always)]
    fn advance(&mut self, sums: &Sums, step: usize) {
        if step == 0 && !self.last && sums.value < 0.0 {
            // The root lies in the upper half: the pole above is the nearer one.
            let half = 0.5 * (self.right - self.left);
            (self.origin, self.shift, self.low, self.high) = (self.right, -half, -half, 0.0);
        } else if sums.value < 0.0 {
            self.low = self.shift;
        } else {
            self.high = self.shift;
        }
        let width = self.high - self.low;
        self.done = sums.value.abs() <= ROUNDINGS * f64::EPSILON * sums.magnitude
            || width <= f64::EPSILON * self.low.abs().min(self.high.abs());
        if self.done {
            return;
        }
        let next = if step < RATIONAL_STEPS { self.rational_step(sums) } else { self.halve() };
        self.done = next == self.shift;
        self.shift = next;
    }

    /// The root of the rational function with the two neighbouring poles that matches the value and both slopes of f
    /// here (Li's middle way); inside the bracket, or a cautious point of it.
    #[inline(always)]
    fn rational_step(&self, sums: &Sums) -> f64 {
        let Sums { value: f, left_slope, right_slope, .. } = *sums;
        let to_left = (self.left - self.origin) - self.shift;
        let step = if self.last {
            // f ~ c + a / (left - x)
            let c = f - to_left * left_slope;
            if c > 0.0 { to_left + to_left * to_left * left_slope / c } else { f64::NAN }
        } else {
            // f ~ c + a / (left - x) + b / (right - x): a quadratic for the step, in its form without cancellation
            let to_right = (self.right - self.origin) - self.shift;
            let c = f - to_left * left_slope - to_right * right_slope;
            let linear = (to_left + to_right) * f - to_left * to_right * (left_slope + right_slope);
            let constant = to_left * to_right * f;
            let root = (linear * linear - 4.0 * constant * c).max(0.0).sqrt();
            if linear <= 0.0 { (linear - root) / (2.0 * c) } else { 2.0 * constant / (linear + root) }
        };
        let next = self.shift + step;
        if next > self.low && next < self.high { next } else { self.cautious() }
    }

    /// A point inside the bracket: near the pole while the bracket ends there, the geometric mean of a wide bracket.
    #[inline(always)]
    fn cautious(&self) -> f64 {
        let (low, high) = (self.low, self.high);
        if low == 0.0 {
            high * TOWARDS_POLE
        } else if high == 0.0 {
            low * TOWARDS_POLE
        } else if (low > 0.0 && high > 8.0 * low) || (high < 0.0 && low < 8.0 * high) {
            (low * high).sqrt().copysign(low)
        } else {
            0.5 * (low + high)
        }
    }

    /// The double halfway between the ends in the order of doubles: 64 of these finish any bracket. (Both ends have one
    /// sign, or one is the pole, 0.)
    #[inline(always)]
    fn halve(&self) -> f64 {
        let (low, high) = (self.low.abs().to_bits(), self.high.abs().to_bits());
        f64::from_bits(low.midpoint(high)).copysign(self.low + self.high)
    }
}

/// f and its slopes at every root of a group. Poles outside the group lie on one side of all its roots and are summed
/// one root a lane; the few inside are summed root by root.
#[inline(always)]
fn evaluate<S: Simd>(
    simd: S,
    poles: &[f64],
    weights: &[f64],
    at: usize,
    roots: &[Root; MAX_LANES],
    live: usize,
) -> [Sums; MAX_LANES] {
    let end = at + live;
    let origin: [f64; MAX_LANES] = roots.map(|root| root.origin);
    let shift: [f64; MAX_LANES] = roots.map(|root| root.shift);
    let point = [simd.partial_load_f64s(&origin[..S::F64_LANES]), simd.partial_load_f64s(&shift[..S::F64_LANES])];
    let below = far_poles(simd, &poles[..at], &weights[..at], point);
    let above = far_poles(simd, &poles[end..], &weights[end..], point);
    let mut lanes = [[0.0; MAX_LANES]; 4];
    for (lanes, sum) in lanes.iter_mut().zip([below[0], below[1], above[0], above[1]]) {
        simd.partial_store_f64s(&mut lanes[..S::F64_LANES], sum);
    }
    let mut all = [Sums::default(); MAX_LANES];
    for (q, sums) in all[..live].iter_mut().enumerate() {
        let [mut left, mut left_slope, mut right, mut right_slope] =
            [lanes[0][q], lanes[1][q], lanes[2][q], lanes[3][q]];
        for i in at..end {
            let inverse = 1.0 / ((poles[i] - origin[q]) - shift[q]);
            let term = weights[i] * inverse;
            if i <= at + q {
                left += term;
                left_slope += term * inverse;
            } else {
                right += term;
                right_slope += term * inverse;
            }
        }
        let magnitude = 1.0 + left.abs() + right.abs();
        *sums = Sums { value: 1.0 + left + right, left_slope, right_slope, magnitude };
    }
    all
}

/// `sum w_i / (d_i - x)` and `sum w_i / (d_i - x)^2`, one x a lane, in two running sums.
#[inline(always)]
fn far_poles<S: Simd>(simd: S, poles: &[f64], weights: &[f64], point: [S::f64s; 2]) -> [S::f64s; 2] {
    let mut sums = [[simd.splat_f64s(0.0); 2]; 2];
    let ((poles, pole), (weights, weight)) = (poles.as_chunks::<2>(), weights.as_chunks::<2>());
    for (poles, weights) in poles.iter().zip(weights) {
        for q in 0..2 {
            add_pole(simd, poles[q], weights[q], point, &mut sums[q]);
        }
    }
    for (pole, weight) in pole.iter().zip(weight) {
        add_pole(simd, *pole, *weight, point, &mut sums[0]);
    }
    [simd.add_f64s(sums[0][0], sums[1][0]), simd.add_f64s(sums[0][1], sums[1][1])]
}

#[inline(always)]
fn add_pole<S: Simd>(simd: S, pole: f64, weight: f64, point: [S::f64s; 2], sums: &mut [S::f64s; 2]) {
    let [origin, shift] = point;
    let distance = simd.sub_f64s(simd.sub_f64s(simd.splat_f64s(pole), origin), shift);
    let inverse = simd.div_f64s(simd.splat_f64s(1.0), distance);
    let term = simd.mul_f64s(simd.splat_f64s(weight), inverse);
    sums[0] = simd.add_f64s(sums[0], term);
    sums[1] = simd.mul_add_e_f64s(term, inverse, sums[1]);
}

#[cfg(test)]
mod tests {
    use super::super::testing::rank_one_problem;
    use super::*;
    use crate::simd::{Level, run_at};

    /// The trace, which is exact, and the interlacing of roots and poles.
    #[test]
    fn roots_interlace_and_keep_the_trace_at_every_level() {
        for k in [1, 2, 3, 7, 8, 9, 33, 100] {
            let (poles, weights) = rank_one_problem(k);
            let trace: f64 = poles.iter().chain(&weights).sum();
            for level in Level::available() {
                let (mut origin, mut shift) = (vec![0.0; k], vec![0.0; k]);
                let roots =
                    Roots { poles: &poles, weights: &weights, first: 0, origin: &mut origin, shift: &mut shift };
                assert!(run_at(level, roots).unwrap());
                let found: Vec<f64> = origin.iter().zip(&shift).map(|(o, s)| o + s).collect();
                let sum: f64 = found.iter().sum();
                assert!((sum - trace).abs() <= 10.0 * k as f64 * f64::EPSILON * trace, "k = {k}, {}", level.name());
                assert!((0..k).all(|j| poles[j] <= found[j] && poles.get(j + 1).is_none_or(|next| found[j] <= *next)));
            }
        }
    }

    /// 1 + 1/(0 - x) + 1/(1 - x) = 0 has the roots (3 -+ sqrt 5) / 2.
    #[test]
    fn two_poles_by_hand() {
        let (mut origin, mut shift) = ([0.0; 2], [0.0; 2]);
        let roots =
            Roots { poles: &[0.0, 1.0], weights: &[1.0, 1.0], first: 0, origin: &mut origin, shift: &mut shift };
        assert!(crate::simd::run(roots));
        for (j, sign) in [(0, -0.5), (1, 0.5)] {
            assert!((origin[j] + shift[j] - (1.5 + sign * 5f64.sqrt())).abs() <= 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn halving_alone_ends_every_bracket() {
        for (low, high) in [(0.0, 1.0), (-2.0, 0.0), (1e-300, 1e300), (-1e10, -1e-10)] {
            for target in [low, high, 0.3 * low + 0.7 * high] {
                let mut root = Root::new(&[0.0, 1.0], 1.0, 0);
                (root.low, root.high) = (low, high);
                let mut steps = 0;
                while root.high.abs().to_bits().abs_diff(root.low.abs().to_bits()) > 1 {
                    let middle = root.halve();
                    assert!(root.low <= middle && middle <= root.high);
                    *(if middle < target { &mut root.low } else { &mut root.high }) = middle;
                    steps += 1;
                }
                assert!(steps <= HALVINGS);
            }
        }
    }
}
