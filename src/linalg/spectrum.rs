//! Order, signs, rank, ratios: what every decomposition is passed through before anybody sees it.

use super::unit::largest;
use crate::matrix::Element;
use nalgebra::DMatrix;

/// Singular values (descending) of some centred matrix with right singular vectors as columns.
#[derive(Clone, Debug)]
pub struct Singular {
    /// sigma_j, descending, never negative.
    pub values: Vec<f64>,
    /// d x k, orthonormal columns.
    pub vectors: DMatrix<f64>,
}

impl Singular {
    /// Keeps the first `k` pairs.
    #[must_use]
    pub fn truncated(mut self, k: usize) -> Self {
        self.values.truncate(k);
        let k = self.values.len();
        let vectors = self.vectors.resize_horizontally(k, 0.0);
        Self { values: self.values, vectors }
    }

    /// Puts the pairs in descending order. Equals keep the order that they came in, which an eigenproblem has given
    /// them by a rule of its own.
    #[must_use]
    pub fn sorted(self) -> Self {
        if self.values.is_sorted_by(|a, b| a >= b) {
            return self;
        }
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&a, &b| self.values[b].total_cmp(&self.values[a]));
        let values = order.iter().map(|&j| self.values[j]).collect();
        Self { values, vectors: self.vectors.select_columns(&order) }
    }
}

/// A negative eigenvalue of a matrix given in `T` beyond this share of the largest is no rounding: the matrix is not
/// positive semidefinite.
#[must_use]
pub fn negative_share<T: Element>() -> f64 {
    if T::DOUBLE { 1e-5 } else { 5e-3 }
}

/// Turns each column so that its entry of largest magnitude is positive.
///
/// The first entry within a share sqrt(eps) of the largest decides, so that two equal loadings which rounding has made
/// unequal (1/sqrt 2 and its neighbour) give the same sign on every road.
pub fn fix_signs(vectors: &mut DMatrix<f64>, eps: f64) {
    let rows = vectors.nrows().max(1);
    for column in vectors.as_mut_slice().chunks_exact_mut(rows) {
        let Ok(largest) = largest(column, "a vector") else { continue };
        let decides = column.iter().find(|x| x.abs() >= largest * (1.0 - eps.sqrt()));
        if decides.is_some_and(|&x| x < 0.0) {
            for x in column {
                *x = -*x;
            }
        }
    }
}

/// How many directions live: sigma_j > p eps sigma_1, the backward error of a singular value.
#[must_use]
pub fn rank(values: &[f64], p: usize, eps: f64) -> usize {
    let floor = values.first().map_or(0.0, |largest| p as f64 * eps * largest);
    values.iter().take_while(|&&sigma| sigma > floor).count()
}

/// Smallest k whose variances reach the share `ratio` of `total`: sum_{j <= k} lambda_j / total >= ratio.
///
/// `None` when all of them together do not. A sum of p terms is known to p eps of the total; equality within that
/// counts as reached, so rounding never decides.
#[must_use]
pub fn components_reaching(ratio: f64, variances: &[f64], total: f64) -> Option<usize> {
    let slack = variances.len() as f64 * f64::EPSILON * total;
    let mut sum = 0.0;
    let reached = variances.iter().position(|variance| {
        sum += variance;
        sum + slack >= ratio * total
    });
    reached.map(|k| k + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_loadings_decides_the_sign() {
        let h = 0.5f64.sqrt();
        for second in [h, h * (1.0 + 1e-15), h * (1.0 - 1e-15)] {
            let mut v = DMatrix::from_column_slice(2, 1, &[-h, second]);
            fix_signs(&mut v, f64::EPSILON);
            assert_eq!(v[0], h);
        }
    }

    #[test]
    fn equality_reaches_the_ratio() {
        let quarters = [1.0; 4];
        let wanted = [(0.25, 1), (0.5, 2), (0.75, 3), (0.249_999_9, 1), (1.0 - 1e-16, 4)];
        for (ratio, k) in wanted {
            assert_eq!(components_reaching(ratio, &quarters, 4.0), Some(k), "{ratio}");
        }
        assert_eq!(components_reaching(0.9, &quarters[..2], 4.0), None);
    }

    #[test]
    fn noise_is_not_rank() {
        assert_eq!(rank(&[1.0, 1e-3, 1e-16], 10, f64::EPSILON), 2);
        assert_eq!(rank(&[0.0, 0.0], 10, f64::EPSILON), 0);
        assert_eq!(rank(&[], 0, f64::EPSILON), 0);
    }

    #[test]
    fn pairs_travel_together() {
        let pairs = Singular { values: vec![1.0, 3.0], vectors: DMatrix::identity(2, 2) }.sorted();
        assert_eq!(pairs.values, [3.0, 1.0]);
        assert_eq!(pairs.vectors[(1, 0)], 1.0);
        assert_eq!(pairs.truncated(1).vectors.shape(), (2, 1));
        let pairs = Singular { values: vec![1.0, 0.0, 2.0, 0.0, 1.0], vectors: DMatrix::identity(5, 5) }.sorted();
        let places: Vec<usize> = pairs.vectors.column_iter().map(|column| column.imax()).collect();
        assert_eq!(places, [2, 0, 4, 1, 3]);
    }
}
