//! Whether one unit of the element type holds what matters of the data, and what is done where it does not: one far row
//! must not cost the others their digits.

use super::{Extent, Kernel, Rate, Tiles};
use crate::matrix::{Element, MatrixView};
use crate::power;
use crate::simd::Lane;
use crate::simd::pairs::{Group, strip};
use pulp::Simd;

/// Exponents, of `f32` and `f64`, of the largest rate in one unit: the sums that matter are about 1 / rate, and eps of
/// these is a normal number, so that what underflows in however many terms is nothing beside them.
const REACH: [i32; 2] = [100, 960];

fn reach<T: Element>() -> f64 {
    power::power(REACH[usize::from(T::DOUBLE)])
}

/// Whether the kernel of these data can be computed in `T`, all of it in one unit. `extent`: that of both sets.
pub(super) fn holds<T: Element, U: Element>(
    x: MatrixView<U>,
    y: Option<MatrixView<U>>,
    kernel: &Kernel,
    extent: &Extent,
) -> bool {
    match *kernel {
        Kernel::Rbf { gamma } => gamma.in_units(2 * extent.spread_exponent()) <= reach::<T>(),
        Kernel::Laplacian { gamma } => gamma.in_units(extent.spread_exponent()) <= reach::<T>(),
        Kernel::Poly { gamma, coef0, .. } | Kernel::Sigmoid { gamma, coef0 } => {
            let (most, rate) = (reach::<T>(), gamma.in_units(2 * extent.size_exponent()));
            // What underflows is 1 / most of the largest product: nothing beside coef0, or else beside no row's own.
            let shifted = coef0 != 0.0 && (most.recip()..=most).contains(&coef0.abs());
            let even = || coef0 == 0.0 && (rate == 0.0 || rate * most >= 1.0) && rows_are_even::<T, U>(x, y, extent);
            rate <= most && (shifted && rate <= most * coef0.abs() || even())
        }
        Kernel::Linear { .. } | Kernel::Cosine | Kernel::Delta => true,
    }
}

/// Whether the products of the smallest rows are normal numbers in the unit of the largest.
fn rows_are_even<T: Element, U: Element>(x: MatrixView<U>, y: Option<MatrixView<U>>, extent: &Extent) -> bool {
    let smallest = |x: MatrixView<U>| {
        let mut smallest = f64::INFINITY;
        x.each_row(|row| {
            let largest = largest(row);
            smallest = if largest > 0.0 { smallest.min(largest) } else { smallest };
        });
        if smallest.is_finite() { power::exponent(smallest) } else { 0 }
    };
    let left = smallest(x);
    left + y.map_or(left, smallest) - 2 * extent.size_exponent() >= -REACH[usize::from(T::DOUBLE)]
}

/// The largest magnitude in a row.
pub(super) fn largest<U: Element>(row: &[U]) -> f64 {
    row.iter().fold(0.0, |most, &x| most.max(x.into().abs()))
}

/// The unit of distances, `order` of which (1 or 2) multiply the rate: that of the widest column where `T` holds the
/// rest in it. Otherwise that in which the rate is near 1, so that the distances that matter keep their digits and far
/// ones are infinite, but none in which a row is no number: two rows as far out may be near each other.
pub(super) fn unit_of_distances<T: Element>(gamma: Rate, order: i32, extent: &Extent) -> i32 {
    let spread = extent.spread_exponent();
    if gamma.in_units(order * spread) <= reach::<T>() {
        return spread;
    }
    (-gamma.exponent() / order).max(extent.least_unit())
}

/// Tiles of `T` whose values come from elsewhere.
#[derive(Debug)]
pub(super) enum Detour {
    /// From `f64`, which holds the data where `f32` does not.
    Wide(Box<Tiles<f64>>),
    /// From the products of rows in a unit of their own each.
    Rows(RowUnits),
}

/// The values of a group of blocks, each of them made of blocks of `f64`.
#[inline(always)]
pub(super) fn fill_narrowed<T: Lane, S: Simd>(simd: S, wide: &Tiles<f64>, group: &Group, blocks: &mut [T]) {
    let (size, part) = (strip::<T>(), strip::<f64>());
    let parts = size / part;
    let mut values = [0.0; strip::<f64>() * strip::<f64>()];
    for ((a, b), block) in group.blocks().zip(blocks.chunks_exact_mut(size * size)) {
        block.fill(T::of(0.0));
        let rows = (a * parts..(a + 1) * parts).take_while(|&row| row < wide.rows().strips());
        for (i, row) in rows.enumerate() {
            let cols = (b * parts..(b + 1) * parts).take_while(|&col| col < wide.cols().strips());
            for (j, col) in cols.enumerate() {
                wide.fill(simd, &Group { rows: row..row + 1, cols: col..col + 1, upper: false }, &mut values);
                let lines = block.chunks_exact_mut(size).skip(i * part);
                for (line, values) in lines.zip(values.chunks_exact(part)) {
                    line[j * part..].iter_mut().zip(values).for_each(|(k, &value)| *k = T::of(value));
                }
            }
        }
    }
}

/// k(x, y) as a function of the product of 2^-e_x x and 2^-e_y y.
#[derive(Debug)]
pub(super) struct RowUnits {
    kernel: Kernel,
    rows: Vec<i32>,
    cols: Option<Vec<i32>>,
}

impl RowUnits {
    /// Of kernels of products: the exponents that bound the rows.
    pub(super) fn of<U: Element>(x: MatrixView<U>, y: Option<MatrixView<U>>, kernel: Kernel) -> Self {
        let exponents = |x: MatrixView<U>| {
            let mut exponents = Vec::with_capacity(x.rows());
            x.each_row(|row| exponents.push(power::unit(largest(row))));
            exponents
        };
        Self { kernel, rows: exponents(x), cols: y.map(exponents) }
    }

    /// What multiplies the rows on the left, and those on the right.
    pub(super) fn factors(&self) -> (Vec<f64>, Vec<f64>) {
        let factors = |units: &[i32]| units.iter().map(|e| power::power(-e)).collect();
        (factors(&self.rows), self.cols.as_deref().map(factors).unwrap_or_default())
    }

    /// Products become kernel values, in block (a, b); padding stays as it is.
    pub(super) fn apply<T: Element>(&self, (a, b): (usize, usize), block: &mut [T]) {
        let size = strip::<T>();
        let strip_of =
            |units: &[i32], s: usize| -> Vec<i32> { units.iter().skip(s * size).take(size).copied().collect() };
        let cols = strip_of(self.cols.as_deref().unwrap_or(&self.rows), b);
        for (line, row) in block.chunks_exact_mut(size).zip(strip_of(&self.rows, a)) {
            for (k, col) in line.iter_mut().zip(&cols) {
                *k = T::of(self.value((*k).into(), row + col));
            }
        }
    }

    /// The kernel of rows whose product is s 2^e.
    fn value(&self, s: f64, e: i32) -> f64 {
        match self.kernel {
            Kernel::Poly { gamma, degree, coef0 } => {
                let base = gamma.times(s, e);
                let outside = base.is_infinite() || coef0 == 0.0 && base < f64::MIN_POSITIVE;
                // A root may be a number where its base is none.
                if outside && s > 0.0 && degree < 1.0 { gamma.root(s, e, degree) } else { (base + coef0).powf(degree) }
            }
            Kernel::Sigmoid { gamma, coef0 } => (gamma.times(s, e) + coef0).tanh(),
            _ => s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kernel_matrix;
    use crate::threads::Team;

    fn rate(value: f64) -> Rate {
        Rate::new(value).unwrap()
    }

    #[test]
    fn ordinary_data_take_the_ordinary_road() {
        let data: Vec<f32> = (0..60).map(|i| ((i * 37 % 61) as f32 - 30.0) * 1e6).collect();
        let x = MatrixView::new(&data, 20, 3).unwrap();
        let extent = Extent::of(x, "X").unwrap();
        for gamma in [1e-9, 1.0, 1e9].map(rate) {
            let poly = |coef0| Kernel::Poly { gamma, degree: 3.0, coef0 };
            for kernel in [Kernel::Rbf { gamma }, Kernel::Laplacian { gamma }, poly(1.0), poly(0.0)] {
                assert!(holds::<f32, f32>(x, None, &kernel, &extent), "{kernel:?}");
            }
        }
    }

    #[test]
    fn values_of_f32_come_from_f64_strip_by_strip() {
        // More rows than a strip of f32, and no multiple of one of f64.
        let mut data: Vec<f32> = (0..2 * 77).map(|i| (i * 37 % 61) as f32 / 16.0).collect();
        data[20] = -3e38;
        let (x, kernel) = (MatrixView::new(&data, 77, 2).unwrap(), Kernel::Laplacian { gamma: rate(0.5) });
        assert!(!holds::<f32, f32>(x, None, &kernel, &Extent::of(x, "X").unwrap()));
        let found = kernel_matrix(x, None, &kernel, &Team::solo()).unwrap();
        for (at, found) in found.into_iter().enumerate() {
            let (i, j) = (at / 77, at % 77);
            let sum: f64 = (0..2).map(|c| (x.at(i, c) - x.at(j, c)).abs()).sum();
            assert!((f64::from(found) - (-0.5 * sum).exp()).abs() <= 1e-7, "{i} {j}");
        }
    }

    #[test]
    fn a_root_of_what_is_no_number_is_one() {
        let big =
            RowUnits { kernel: Kernel::Poly { gamma: rate(4.0), degree: 0.5, coef0: 0.0 }, rows: vec![], cols: None };
        assert_eq!(big.value(1.0, 1200), power::power(601));
        assert_eq!(big.value(0.25, -1200), power::power(-600));
        assert!((big.value(0.5, 1201) / power::power(601) - 1.0).abs() < 1e-13);
        assert!(big.value(-1.0, 0).is_nan());
    }
}
