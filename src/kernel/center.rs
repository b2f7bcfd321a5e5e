//! Double centring: the kernel of the rows about their mean in feature space, H K H, with H = I - 11'/n never formed.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::power;
use crate::threads::Team;

/// Rows (and columns) whose sums are formed together. Sums along rows and along columns add the same numbers in the
/// same order, so the means of a symmetric matrix are the same bits, and the centred matrix is exactly symmetric.
const BAND: usize = 512;

/// Partial sums kept side by side within a band, by position modulo this.
const LANES: usize = 8;

/// What a matrix to be centred has to be.
const NOT_EMPTY: &str = "a square matrix, n x n, with n at least 1";

/// What centring needs to know of an n x n training kernel: one of its entries as a pilot, and means about it.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelMeans {
    /// Subtracted before anything is summed: H removes constants, and K near 1 would lose its digits.
    pilot: f64,
    /// Mean of (K - pilot) over rows i, for each column j.
    columns: Vec<f64>,
    /// Mean of (K - pilot) over all.
    grand: f64,
    /// All of these are in units of 2^unit: 0 unless sums of finite values would overflow.
    unit: i32,
}

impl KernelMeans {
    /// The means of the columns of `k` and of all of it. Time O(n^2), memory O(n) a band.
    ///
    /// # Errors
    /// [`Error::Value`] when `k` is not square or empty, [`Error::NotFinite`], [`Error::Interrupted`]; `what` names
    /// `k`.
    pub fn of<T: Element>(k: MatrixView<T>, what: &'static str, team: &Team) -> Result<Self> {
        Ok(Sums::of(k, what, team)?.means)
    }

    /// From the sums of (K - pilot) along the rows of a symmetric matrix.
    pub(super) fn of_sums(pilot: f64, sums: Vec<f64>, what: &'static str) -> Result<Self> {
        let means = Self::from_sums(pilot, sums);
        finite(means.grand, what)?;
        Ok(means)
    }

    fn from_sums(pilot: f64, mut columns: Vec<f64>) -> Self {
        let size = columns.len() as f64;
        for sum in &mut columns {
            *sum /= size;
        }
        let grand = lanes(columns.iter().copied()) / size;
        Self { pilot, columns, grand, unit: 0 }
    }

    /// Number of training rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Mean of each column of the training kernel.
    #[must_use]
    pub fn columns(&self) -> Vec<f64> {
        self.columns.iter().map(|c| power::scale(self.pilot + c, self.unit)).collect()
    }

    /// Mean of the whole training kernel.
    #[must_use]
    pub fn grand(&self) -> f64 {
        power::scale(self.pilot + self.grand, self.unit)
    }

    /// Centres new rows in place: k_t becomes k_t - mean(k_t) - column means + grand mean, all of the training kernel.
    ///
    /// `rows`: row-major, n_new x n.
    ///
    /// # Errors
    /// [`Error::Shape`] when `rows` does not hold whole rows, [`Error::NotFinite`], [`Error::Value`] where a centred
    /// value is beyond the range of its type, [`Error::Interrupted`].
    pub fn center_rows<T: Element>(&self, rows: &mut [T], team: &Team) -> Result<()> {
        let n = self.len();
        if n == 0 || !rows.len().is_multiple_of(n) {
            return Err(Error::Shape { what: "K, counted in columns,", found: rows.len(), wanted: n });
        }
        let done = team.map(rows.chunks_mut(n * LANES).collect(), |rows: &mut [T]| {
            team.check()?;
            for row in rows.chunks_exact_mut(n) {
                let mean = self.mean_of(row);
                if mean.is_finite() {
                    self.center_row(row, mean)?;
                    continue;
                }
                row.iter().try_for_each(|&k| finite(k.into(), "K"))?;
                let lower = self.lowered(headroom(n));
                lower.center_row(row, lower.mean_of(row))?;
            }
            Ok(())
        });
        done.into_iter().collect()
    }

    /// Mean of (k - pilot) over a row.
    fn mean_of<T: Element>(&self, row: &[T]) -> f64 {
        let down = power::power(-self.unit);
        lanes(row.iter().map(|&k| k.into() * down - self.pilot)) / row.len() as f64
    }

    /// The same in units 2^by times as large.
    fn lowered(&self, by: i32) -> Self {
        let down = |x: f64| power::scale(x, -by);
        let columns = self.columns.iter().map(|&c| down(c)).collect();
        Self { pilot: down(self.pilot), columns, grand: down(self.grand), unit: self.unit + by }
    }

    /// (k - pilot) - (row mean + column mean) + grand mean; refuses what is beyond the range of `T`.
    fn center_row<T: Element>(&self, row: &mut [T], mean: f64) -> Result<()> {
        if self.unit == 0 { self.center_in::<T, false>(row, mean) } else { self.center_in::<T, true>(row, mean) }
    }

    /// The same, `SCALED` or in units of 1, where the factors cost nothing.
    fn center_in<T: Element, const SCALED: bool>(&self, row: &mut [T], mean: f64) -> Result<()> {
        let factor = |exponent: i32| if SCALED { power::power(exponent) } else { 1.0 };
        let (down, up, mut sound) = (factor(-self.unit), factor(self.unit), true);
        for (k, column) in row.iter_mut().zip(&self.columns) {
            let centred = ((*k).into() * down - self.pilot) - (mean + column) + self.grand;
            *k = T::of(centred * up);
            sound &= (*k).into().abs() <= T::MAX;
        }
        if sound { Ok(()) } else { Err(beyond_range::<T>()) }
    }
}

/// Powers of two that sums over n values and their mean, of differences of these, may grow by.
fn headroom(n: usize) -> i32 {
    power::exponent(n as f64) + 2
}

fn beyond_range<T: Element>() -> Error {
    let dtype = if T::DOUBLE { "float64" } else { "float32" };
    Error::value("K", "one whose centred values overflow", format!("a matrix that {dtype} can hold once it is centred"))
}

/// H K H in place, for a row-major n x n matrix; exactly symmetric where `k` is. Returns the means that were removed,
/// with which the rows of new points are centred. Time O(n^2), no n x n temporary.
///
/// # Errors
/// [`Error::Value`] when `k` is not n x n, or where a centred value is beyond the range of its type;
/// [`Error::NotFinite`], [`Error::Interrupted`].
pub fn center_kernel<T: Element>(k: &mut [T], n: usize, team: &Team) -> Result<KernelMeans> {
    let Sums { means, rows } = Sums::of(MatrixView::new(k, n, n)?, "K", team)?;
    let bands = k.chunks_mut(n * LANES).zip(rows.chunks(LANES)).collect();
    let done = team.map(bands, |(band, means_of_rows): (&mut [T], &[f64])| {
        team.check()?;
        for (row, mean) in band.chunks_exact_mut(n).zip(means_of_rows) {
            means.center_row(row, *mean)?;
        }
        Ok(())
    });
    done.into_iter().collect::<Result<()>>()?;
    Ok(means)
}

/// Means of a square matrix about its pilot, in both directions.
struct Sums {
    means: KernelMeans,
    rows: Vec<f64>,
}

impl Sums {
    fn of<T: Element>(k: MatrixView<T>, what: &'static str, team: &Team) -> Result<Self> {
        let n = k.rows();
        if k.cols() != n || n == 0 {
            let found = format!("an array of shape ({n}, {})", k.cols());
            return Err(Error::value(what, found, NOT_EMPTY));
        }
        let sums = Self::in_unit(k, 0, team)?;
        if sums.means.grand.is_finite() && sums.rows.iter().all(|mean| mean.is_finite()) {
            return Ok(sums);
        }
        k.check_finite(what)?;
        // Finite values with sums that are not: in a unit that these have room in, nothing that counts is lost.
        Self::in_unit(k, headroom(n), team)
    }

    /// In units of 2^unit.
    fn in_unit<T: Element>(k: MatrixView<T>, unit: i32, team: &Team) -> Result<Self> {
        let n = k.rows();
        let pilot = k.at(0, 0) * power::power(-unit);
        let bands: Vec<_> = (0..n).step_by(BAND).map(|from| from..n.min(from + BAND)).collect();
        let parts = team.map(bands, |band| {
            team.check()?;
            let band = k.rows_in(band);
            Ok(if unit == 0 { band_sums::<T, false>(band, pilot, 0) } else { band_sums::<T, true>(band, pilot, unit) })
        });
        let (mut rows, mut columns) = (Vec::with_capacity(n), vec![0.0; n]);
        for part in parts {
            let (of_rows, of_columns) = part?;
            rows.extend(of_rows);
            columns.iter_mut().zip(of_columns).for_each(|(c, sum)| *c += sum);
        }
        for sum in &mut rows {
            *sum /= n as f64;
        }
        Ok(Self { means: KernelMeans { unit, ..KernelMeans::from_sums(pilot, columns) }, rows })
    }
}

/// Sums of (k - pilot) along each row of a band, and down its columns; `SCALED`: in units of 2^unit, as the pilot is.
fn band_sums<T: Element, const SCALED: bool>(band: MatrixView<T>, pilot: f64, unit: i32) -> (Vec<f64>, Vec<f64>) {
    let (n, down) = (band.cols(), if SCALED { power::power(-unit) } else { 1.0 });
    let mut columns = vec![0.0; LANES * n];
    let mut rows = Vec::with_capacity(band.rows());
    let mut i = 0;
    band.each_row(|row| {
        let mut sum = 0.0;
        for piece in row.chunks(BAND) {
            sum += lanes(piece.iter().map(|&k| k.into() * down - pilot));
        }
        rows.push(sum);
        let lane = &mut columns[i % LANES * n..][..n];
        lane.iter_mut().zip(row).for_each(|(c, &k)| *c += k.into() * down - pilot);
        i += 1;
    });
    let total = (0..n).map(|j| fold(std::array::from_fn(|l| columns[l * n + j]))).collect();
    (rows, total)
}

/// The sum of (k - pilot) over a piece of a row.
#[inline(always)]
pub(super) fn along(row: &[f64], pilot: f64) -> f64 {
    lanes(row.iter().map(|k| k - pilot))
}

/// [`along`], with each (k - pilot) added to its column as well.
#[inline(always)]
pub(super) fn both_ways(row: &[f64], pilot: f64, columns: &mut [f64]) -> f64 {
    let mut along = [0.0; LANES];
    let (pieces, tail) = row.as_chunks::<LANES>();
    let (down, down_tail) = columns.as_chunks_mut::<LANES>();
    for (piece, down) in pieces.iter().zip(down) {
        for l in 0..LANES {
            let k = piece[l] - pilot;
            along[l] += k;
            down[l] += k;
        }
    }
    for (k, down) in tail.iter().zip(down_tail) {
        along[0] += k - pilot;
        *down += k - pilot;
    }
    fold(along)
}

/// The sum, kept in [`LANES`] partial sums by position.
fn lanes(values: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0; LANES];
    for (i, value) in values.enumerate() {
        sums[i % LANES] += value;
    }
    fold(sums)
}

/// By halves: one after the other, each addition would wait for the one before.
fn fold(sums: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

fn finite(x: f64, what: &'static str) -> Result<()> {
    if x.is_finite() { Ok(()) } else { Err(Error::NotFinite { what, nan: x.is_nan() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_by_two_by_hand() {
        let mut k = [4.0, 1.0, 1.0, 2.0];
        let means = center_kernel(&mut k, 2, &Team::solo()).unwrap();
        assert_eq!(k, [1.0, -1.0, -1.0, 1.0]);
        assert_eq!((means.columns(), means.grand()), (vec![2.5, 1.5], 2.0));
        let mut new = [3.0, 5.0];
        means.center_rows(&mut new, &Team::solo()).unwrap();
        assert_eq!(new, [-1.5, 1.5]); // 3 - 4 - 2.5 + 2 and 5 - 4 - 1.5 + 2
    }

    #[test]
    fn shapes_and_bad_values_are_refused() {
        let team = Team::solo();
        assert!(center_kernel::<f64>(&mut [], 0, &team).is_err());
        assert!(center_kernel(&mut [1.0, 2.0], 2, &team).is_err());
        let error = center_kernel(&mut [1.0, f64::NAN, 1.0, 1.0], 2, &team).unwrap_err();
        assert_eq!(error, Error::NotFinite { what: "K", nan: true });
        let means = center_kernel(&mut [1.0f32], 1, &team).unwrap();
        assert!(means.center_rows(&mut [0.5f32, f32::INFINITY][1..], &team).is_err());
    }

    #[test]
    fn sums_beyond_the_range_are_taken_in_a_unit() {
        let (team, m) = (Team::solo(), f64::MAX);
        let mut k = [m, -m, -m, m];
        let means = center_kernel(&mut k, 2, &team).unwrap();
        assert_eq!((k, means.columns(), means.grand()), ([m, -m, -m, m], vec![0.0; 2], 0.0));
        let mut new = [m, m, m, -m]; // means m and 0
        means.center_rows(&mut new, &team).unwrap();
        assert_eq!(new, [0.0, 0.0, m, -m]);
        let plain = KernelMeans::of(MatrixView::new(&[1.0, 0.0, 0.0, 1.0], 2, 2).unwrap(), "K_train", &team).unwrap();
        plain.center_rows(&mut new, &team).unwrap();
        // Of rows whose columns sum to more than there is room for, and which sum to nothing.
        let mut k = [m, m, -m, -m, -m, m, m, -m, m, -m, -m, m, -m, -m, m, m];
        let right = k;
        center_kernel(&mut k, 4, &team).unwrap();
        assert_eq!(k, right);
        // The first centred value is m + 2 m / 3 + m / 9.
        let mut k = [m, -m, -m, -m, m, m, -m, m, m];
        let error = center_kernel(&mut k, 3, &team).unwrap_err().to_string();
        assert!(error.contains("K must be a matrix that float64 can hold once it is centred"), "{error}");
    }

    #[test]
    fn tiny_differences_near_one_keep_their_digits() {
        // K = 1 - 1e-9 d with d small whole numbers: centring K is centring -1e-9 d.
        let d = [[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]];
        let mut k: Vec<f64> = d.iter().flatten().map(|d| 1.0 - d * 2f64.powi(-30)).collect();
        center_kernel(&mut k, 3, &Team::solo()).unwrap();
        let mut right: Vec<f64> = d.iter().flatten().map(|d| -d * 2f64.powi(-30)).collect();
        center_kernel(&mut right, 3, &Team::solo()).unwrap();
        assert!(k.iter().zip(&right).all(|(a, b)| (a - b).abs() <= 1e-24));
    }
}
