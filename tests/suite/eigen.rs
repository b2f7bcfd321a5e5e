//! The symmetric eigensolver on matrices that have broken others, at every size where an algorithm changes, at every
//! instruction level.
//!
//! What is asked: `|A V - V diag| <= 50 d eps |A|`, `|V'V - I| <= 50 d eps` (largest entries), descending values.

#![allow(clippy::unwrap_used)]

use crate::support::symmetric::{diagonal, families, gram, symmetric, tridiagonal, wilkinson};
use crate::support::{Random, stopped};
use nalgebra::DMatrix;
use prinax::linalg::{Eigen, eigenvalues, eigh, eigh_leading};
use prinax::simd::{Level, level};
use prinax::threads::run;
use prinax::{Error, Team};
use std::process::Command;

/// Accepted residual and loss of orthogonality, in units of d eps; a few d eps is usual.
const ROUNDINGS: f64 = 50.0;

/// Up to this order, and from more than one pair in so many dimensions on, leading pairs are cut from the whole.
const ALL_BY_QL: usize = 32;
const FEW: usize = 6;

/// Both sides of every size where the algorithm changes (32, 48, 96, ...) or a vector fills.
const SIZES: [usize; 29] =
    [1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 17, 20, 25, 31, 32, 33, 40, 48, 49, 63, 64, 65, 80, 97, 100, 127, 129, 150, 200];

/// What is wrong with the eigenpairs, if anything.
fn fault(a: &DMatrix<f64>, eigen: &Eigen) -> Option<String> {
    let (d, k) = (a.nrows(), eigen.values.len());
    let bound = ROUNDINGS * d as f64 * f64::EPSILON;
    if eigen.vectors.shape() != (d, k) {
        return Some(format!("shape {:?}", eigen.vectors.shape()));
    }
    if !eigen.values.iter().chain(eigen.vectors.iter()).all(|x| x.is_finite()) {
        return Some("not finite".into());
    }
    if !eigen.values.is_sorted_by(|x, y| x >= y) {
        return Some("order".into());
    }
    let unit = if a.amax() > 0.0 { a.amax() } else { 1.0 };
    let scaled = a / unit;
    let norm = scaled.row_iter().map(|row| row.lp_norm(1)).fold(f64::MIN_POSITIVE, f64::max);
    let v = &eigen.vectors;
    let back = DMatrix::from_fn(d, k, |i, j| v[(i, j)] * (eigen.values[j] / unit));
    let residual = (&scaled * v - back).amax() / norm;
    let orthogonality = (gram(v) - DMatrix::identity(k, k)).amax();
    if residual > bound || orthogonality > bound {
        return Some(format!("residual {residual:e}, orthogonality {orthogonality:e}, bound {bound:e}"));
    }
    None
}

fn check(name: &str, a: &DMatrix<f64>) -> Eigen {
    let eigen = eigh(a, &Team::solo()).unwrap();
    assert_eq!(fault(a, &eigen), None, "{name}, d = {}", a.nrows());
    eigen
}

/// Largest difference of two spectra, relative to the largest value.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let scale = y.iter().fold(f64::MIN_POSITIVE, |scale, y| scale.max(y.abs()));
    x.iter().zip(y).fold(0.0, |most, (x, y)| most.max((x / scale - y / scale).abs()))
}

fn assert_values(found: &[f64], wanted: &[f64]) {
    let bound = ROUNDINGS * wanted.len() as f64 * f64::EPSILON;
    assert!(distance(found, wanted) <= bound, "{found:?} is not {wanted:?}");
}

#[test]
fn nasty_families() {
    let mut random = Random(3);
    for d in SIZES {
        for _ in 0..if d <= 64 { 3 } else { 1 } {
            for (name, a) in families(d, &mut random) {
                check(name, &a);
            }
        }
    }
}

#[test]
fn nasty_families_of_larger_order() {
    let mut random = Random(4);
    for d in [301, 400] {
        for (name, a) in families(d, &mut random) {
            check(name, &a);
        }
    }
}

/// The level is read once in a process, so each one gets its own.
#[test]
fn nasty_families_at_every_level() {
    let program = std::env::current_exe().unwrap();
    for other in Level::available().into_iter().filter(|other| *other != level()) {
        let run =
            Command::new(&program).args(["--exact", "eigen::nasty_families"]).env("PRINAX_SIMD", other.name()).output();
        let run = run.unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{}: {said}", other.name());
    }
}

#[test]
fn leading_pairs_are_those_of_the_whole() {
    let mut random = Random(5);
    for d in [1, 2, 5, 20, 33, 49, 100, 150, 230] {
        for (name, a) in families(d, &mut random) {
            let all = eigh(&a, &Team::solo()).unwrap();
            let largest = all.values.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            for k in [0, 1, d.div_ceil(7), d.div_ceil(2), d] {
                let leading = eigh_leading(&a, k, &Team::solo()).unwrap();
                let bound = ROUNDINGS * d as f64 * f64::EPSILON * largest;
                let apart = |(x, y): (&f64, &f64)| (x - y).abs() > bound;
                assert!(!leading.values.iter().zip(&all.values).any(apart), "{name}, d = {d}, k = {k}");
                if d <= ALL_BY_QL || FEW * k > d {
                    assert_eq!(leading.values, all.values[..k], "the same road: {name}, d = {d}, k = {k}");
                }
                assert_eq!(leading.vectors.shape(), (d, k));
                assert_eq!(fault(&a, &leading), None, "{name}, d = {d}, k = {k}");
            }
        }
    }
}

#[test]
fn values_alone_agree_with_the_pairs() {
    let mut random = Random(6);
    for d in SIZES {
        for (name, a) in families(d, &mut random) {
            let bound = ROUNDINGS * d as f64 * f64::EPSILON;
            let (pairs, values) = (check(name, &a).values, eigenvalues(&a, &Team::solo()).unwrap());
            assert!(values.is_sorted_by(|x, y| x >= y), "{name}, d = {d}");
            assert!(distance(&values, &pairs) <= bound, "{name}, d = {d}: {:e}", distance(&values, &pairs));
        }
    }
}

/// A power of two changes nothing but the scale, bit for bit.
#[test]
fn scale_by_a_power_of_two_is_exact() {
    let mut random = Random(7);
    for d in [2, 9, 32, 33, 70, 130] {
        let a = symmetric(&random.normals(d, d));
        let at_one = check("noise", &a);
        for exponent in [-900, -300, 1, 400, 990] {
            let unit = 2f64.powi(exponent);
            let scaled = check("scaled noise", &(&a * unit));
            assert_eq!(scaled.vectors, at_one.vectors);
            assert!(scaled.values.iter().zip(&at_one.values).all(|(x, y)| *x == y * unit));
        }
    }
}

#[test]
fn subnormal_and_nearly_overflowing_entries() {
    for scale in [f64::from_bits(1), 1e-310, f64::MIN_POSITIVE, 1e307] {
        let a = DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]) * scale;
        let values = eigh(&a, &Team::solo()).unwrap().values;
        assert!((values[0] / scale - 3.0).abs() <= 1e-15 && (values[1] / scale - 1.0).abs() <= 1e-15, "{values:?}");
    }
}

/// 0/1 Gram matrix of labelled samples, label 0 meaning a zero row: group sizes, then zeros.
#[test]
fn repeated_values_of_a_block_matrix() {
    let labels = [0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 3, 3, 4, 0, 5, 5, 5, 2, 2, 0, 6, 1, 6, 0, 2, 0, 0, 1, 1, 7, 8, 8, 0];
    let n = labels.len();
    let a = DMatrix::from_fn(n, n, |i, j| f64::from(u8::from(labels[i] == labels[j] && labels[i] != 0)));
    let mut wanted = vec![5.0, 4.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0];
    wanted.resize(n, 0.0);
    assert_values(&check("labels", &a).values, &wanted);
}

/// Jacobi matrix of the Legendre polynomials: the nodes of Gauss-Legendre quadrature with four points,
/// +- sqrt(3/7 +- 2/7 sqrt(6/5)).
#[test]
fn zero_diagonal() {
    let a = tridiagonal(4, |_| 0.0, |i| (i + 1) as f64 / (4.0 * ((i + 1) * (i + 1)) as f64 - 1.0).sqrt());
    let [outer, inner] = [1.0, -1.0].map(|sign: f64| (3.0 / 7.0 + sign * 2.0 / 7.0 * 1.2f64.sqrt()).sqrt());
    assert_values(&check("Legendre", &a).values, &[outer, inner, -inner, -outer]);
    assert_eq!(check("zeros", &DMatrix::zeros(3, 3)).values, [0.0; 3]);
    let tiny = diagonal(3, |i| [1e-300, 3e-300, 2e-300][i]);
    assert_values(&check("tiny diagonal", &tiny).values, &[3e-300, 2e-300, 1e-300]);
}

/// Order of values and vectors at every size, for diagonals as they are and in any order of rows.
#[test]
fn order_at_every_size() {
    let mut random = Random(8);
    for n in 1..=200 {
        let wanted: Vec<f64> = (1..=n).rev().map(|x| x as f64).collect();
        assert_eq!(check("descending diagonal", &diagonal(n, |i| wanted[i])).values, wanted);
        let order = random.permutation(n);
        assert_eq!(check("permuted diagonal", &diagonal(n, |i| wanted[order[i]])).values, wanted);
    }
    for n in [5, 33, 64, 100] {
        let a = symmetric(&random.normals(n, n));
        let order = random.permutation(n);
        let permuted = DMatrix::from_fn(n, n, |i, j| a[(order[i], order[j])]);
        assert_values(&check("permuted noise", &permuted).values, &check("noise", &a).values);
    }
}

/// Copies of W_21+ joined by tiny entries: clusters of nearly equal values that only the joints tell apart.
#[test]
fn glued_wilkinson() {
    for copies in [2, 5, 10] {
        for joint in [1e-4, 1e-8, 1e-14, 1e-40, 0.0] {
            let w = wilkinson(21);
            let on = |i: usize| w[(i % 21, i % 21)];
            let a = tridiagonal(21 * copies, on, |i| if i % 21 == 20 { joint } else { 1.0 });
            check("glued Wilkinson", &a);
        }
    }
    // The two largest values of W_21+ agree to 15 digits: 10.74619418290332... and 10.74619418290339...
    let values = check("Wilkinson", &wilkinson(21)).values;
    assert!((values[0] - 10.746_194_182_903_4).abs() < 1e-13 && (values[1] - 10.746_194_182_903_3).abs() < 1e-13);
}

/// The matrix of Kac and Sylvester, made symmetric: off-diagonals sqrt(i (n - i)), values n-1, n-3, ..., 1-n.
#[test]
fn kac() {
    for n in [2, 10, 33, 100, 201] {
        let a = tridiagonal(n, |_| 0.0, |i| ((i + 1) as f64 * (n - i - 1) as f64).sqrt());
        let wanted: Vec<f64> = (0..n).map(|i| n as f64 - 1.0 - 2.0 * i as f64).collect();
        assert_values(&check("Kac", &a).values, &wanted);
    }
}

/// The second difference has values 2 - 2 cos(j pi / (n + 1)).
#[test]
fn second_difference() {
    for n in [3, 32, 33, 97, 200] {
        let angle = std::f64::consts::PI / (n + 1) as f64;
        let wanted: Vec<f64> = (1..=n).rev().map(|j| 2.0 - 2.0 * (j as f64 * angle).cos()).collect();
        assert_values(&check("second difference", &tridiagonal(n, |_| 2.0, |_| -1.0)).values, &wanted);
    }
}

/// The largest value of the Hilbert matrix of order 5 is 1.567050691098230796 (Fettis and Caslin 1967), its determinant
/// 1/266716800000.
#[test]
fn hilbert() {
    let values = check("Hilbert", &DMatrix::from_fn(5, 5, |i, j| 1.0 / (i + j + 1) as f64)).values;
    assert!((values[0] - 1.567_050_691_098_231).abs() < 1e-15);
    let determinant: f64 = values.iter().product();
    assert!((determinant * 266_716_800_000.0 - 1.0).abs() < 1e-9, "{determinant}");
}

/// Entries that fall so fast that the squares of a column underflow while the column does not.
#[test]
fn steeply_graded() {
    for d in [3, 10, 40, 120] {
        for step in [1.0, 8.0, 40.0, 90.0] {
            let a = DMatrix::from_fn(d, d, |i, j| 10f64.powf(-step * (i + j) as f64) * if i == j { 3.0 } else { 1.0 });
            check("graded down", &a);
            check("graded up", &DMatrix::from_fn(d, d, |i, j| a[(d - 1 - i, d - 1 - j)]));
        }
    }
}

#[test]
fn only_the_lower_triangle_counts() {
    let mut random = Random(9);
    for d in [3, 32, 60] {
        let a = symmetric(&random.normals(d, d));
        let lower = a.lower_triangle();
        assert_eq!(check("noise", &a).values, eigh(&lower, &Team::solo()).unwrap().values);
    }
}

/// Work is cut at fixed places, so the number of threads never shows.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut random = Random(10);
    for d in [40, 255, 256, 300, 541] {
        let a = symmetric(&random.normals(d, d));
        let solo = check("noise", &a);
        let few = eigh_leading(&a, 9, &Team::solo()).unwrap();
        for threads in [2, 3] {
            let shared = run(threads, || false, |team| eigh(&a, team)).unwrap();
            assert!(shared.values == solo.values && shared.vectors == solo.vectors, "d = {d}, {threads} threads");
            let shared = run(threads, || false, |team| eigh_leading(&a, 9, team)).unwrap();
            assert!(shared.values == few.values && shared.vectors == few.vectors, "d = {d}, {threads} threads");
        }
    }
}

#[test]
fn the_caller_can_stop_it() {
    for d in [3, 100, 300] {
        let got = stopped(|team| eigh(&DMatrix::identity(d, d), team));
        assert_eq!(got.unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let team = Team::solo();
    for d in [1, 3, 50] {
        for (bad, nan) in [(f64::NAN, true), (f64::INFINITY, false), (f64::NEG_INFINITY, false)] {
            for (i, j) in [(0, 0), (d - 1, 0), (0, d - 1), (d / 2, d / 2)] {
                let mut a = DMatrix::identity(d, d);
                a[(i, j)] = bad;
                assert_eq!(eigh(&a, &team).unwrap_err(), Error::NotFinite { what: "a", nan });
            }
        }
    }
    assert!(matches!(eigh(&DMatrix::zeros(2, 3), &team), Err(Error::Shape { .. })));
    assert!(matches!(eigh_leading(&DMatrix::zeros(2, 2), 3, &team), Err(Error::Value { .. })));
    assert!(eigh(&DMatrix::zeros(0, 0), &team).unwrap().values.is_empty());
    assert!(eigenvalues(&DMatrix::zeros(0, 0), &team).unwrap().is_empty());
}
