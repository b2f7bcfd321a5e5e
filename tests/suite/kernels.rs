//! Kernels against their formulas written out, entry by entry in `f64`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]

use crate::support::numbers;
use nalgebra::DMatrix;
use prinax::kernel::{Gamma, Kernel, KernelMeans, Rate, center_kernel, kernel_diagonal, kernel_matrix};
use prinax::matrix::zeros;
use prinax::simd::Lane;
use prinax::threads::run;
use prinax::{Error, MatrixView, Team};

fn narrow<T: Lane>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::of(x)).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn formula(kernel: &Kernel, x: &[f64], y: &[f64], mean: &[f64]) -> f64 {
    let gamma = kernel.gamma().unwrap_or(0.0);
    match *kernel {
        Kernel::Linear { centered: false } => dot(x, y),
        Kernel::Linear { centered: true } => (0..x.len()).map(|j| (x[j] - mean[j]) * (y[j] - mean[j])).sum(),
        Kernel::Poly { degree, coef0, .. } => (gamma * dot(x, y) + coef0).powf(degree),
        Kernel::Rbf { .. } => (-gamma * x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>()).exp(),
        Kernel::Sigmoid { coef0, .. } => (gamma * dot(x, y) + coef0).tanh(),
        Kernel::Cosine if dot(x, x) == 0.0 || dot(y, y) == 0.0 => 0.0,
        Kernel::Cosine => dot(x, y) / (dot(x, x) * dot(y, y)).sqrt(),
        Kernel::Laplacian { .. } => (-gamma * x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum::<f64>()).exp(),
        Kernel::Delta => f64::from(u8::from(x == y)),
    }
}

fn all_kernels(gamma: f64) -> Vec<Kernel> {
    let gamma = Rate::new(gamma).unwrap();
    vec![
        Kernel::Linear { centered: false },
        Kernel::Linear { centered: true },
        Kernel::Poly { gamma, degree: 3.0, coef0: 1.0 },
        Kernel::Poly { gamma, degree: 2.5, coef0: 2000.0 },
        Kernel::Rbf { gamma },
        Kernel::Sigmoid { gamma, coef0: 0.25 },
        Kernel::Cosine,
        Kernel::Laplacian { gamma },
        Kernel::Delta,
    ]
}

fn mean_of(x: &[f64], d: usize) -> Vec<f64> {
    let n = x.len() / d;
    (0..d).map(|j| x.iter().skip(j).step_by(d).sum::<f64>() / n as f64).collect()
}

/// Every kernel of `x` with itself and with `y`, against the formula; relative to the largest entry.
fn check<T: Lane>(n: usize, m: usize, d: usize, tolerance: f64) {
    let team = Team::solo();
    let (mut x, y) = (numbers(n * d, 1), numbers(m * d, 2));
    if n > 3 {
        x.copy_within(0..d, 2 * d); // a duplicate
        x[3 * d..4 * d].fill(0.0);
    }
    let (x, y): (Vec<T>, Vec<T>) = (narrow(&x), narrow(&y));
    let wide = |x: &[T]| x.iter().map(|&x| x.into()).collect::<Vec<f64>>();
    let (wx, wy) = (wide(&x), wide(&y));
    // Column-major storage of the same rows of x.
    let turned: Vec<T> = (0..n * d).map(|at| x[at % n * d + at / n]).collect();
    let (vx, vy) = (MatrixView::new(&x, n, d).unwrap(), MatrixView::new(&y, m, d).unwrap());
    let by_columns = MatrixView::with_strides(&turned, (n, d), (1, n)).unwrap();
    for gamma in [1.0 / d as f64, 3.0] {
        for kernel in all_kernels(gamma) {
            let compare = |got: &[T], y: &[f64], mean: &[f64]| {
                let m = y.len() / d;
                let right: Vec<f64> = (0..n * m)
                    .map(|at| formula(&kernel, &wx[at / m * d..][..d], &y[at % m * d..][..d], mean))
                    .collect();
                let largest = right.iter().fold(1e-3f64, |a, b| a.max(b.abs()));
                for (at, (got, right)) in got.iter().zip(&right).enumerate() {
                    let off = ((*got).into() - right).abs() / largest;
                    assert!(off <= tolerance, "{kernel:?} {n}x{m}x{d} entry {at}: {got:?} for {right}");
                }
            };
            let square = kernel_matrix(vx, None, &kernel, &team).unwrap();
            compare(&square, &wx, &mean_of(&wx, d));
            assert!((0..n * n).all(|at| square[at] == square[at % n * n + at / n]), "{kernel:?} is not symmetric");
            assert_eq!(square, kernel_matrix(by_columns, None, &kernel, &team).unwrap());
            let diagonal = kernel_diagonal(vx, &kernel).unwrap();
            for i in 0..n {
                assert!((diagonal[i] - square[i * n + i].into()).abs() <= tolerance * diagonal[i].abs().max(1.0));
                if matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::Delta) {
                    assert_eq!(square[i * n + i].into(), 1.0);
                }
            }
            compare(&kernel_matrix(vx, Some(vy), &kernel, &team).unwrap(), &wy, &mean_of(&wy, d));
        }
    }
}

#[test]
fn every_kernel_is_its_formula() {
    for (n, m, d) in
        [(1, 1, 1), (5, 30, 3), (30, 1, 20), (61, 50, 65), (9, 7, 200), (130, 3, 2), (1, 40, 20), (4, 25, 70)]
    {
        check::<f64>(n, m, d, 1e-13);
        check::<f32>(n, m, d, 1e-5);
    }
}

#[test]
fn threads_do_not_show() {
    let (n, d) = (700, 7);
    let x = numbers(n * d, 3);
    let view = MatrixView::new(&x, n, d).unwrap();
    for kernel in all_kernels(0.5) {
        let alone = kernel_matrix(view, None, &kernel, &Team::solo()).unwrap();
        for threads in [2, 3] {
            let shared = run(threads, || false, |team| kernel_matrix(view, None, &kernel, team));
            assert_eq!(alone, shared.unwrap());
            let cross = run(threads, || false, |team| kernel_matrix(view, Some(view), &kernel, team));
            let one = kernel_matrix(view, Some(view), &kernel, &Team::solo()).unwrap();
            assert_eq!(one, cross.unwrap());
        }
    }
}

#[test]
fn an_offset_changes_nothing_where_differences_count() {
    // Whole eighths plus a power of two: the shifted data are exact.
    for (n, d) in [(40, 3), (40, 100)] {
        let x: Vec<f64> = numbers(n * d, 4).iter().map(|x| (x * 64.0).round() / 8.0).collect();
        let moved: Vec<f64> = x.iter().map(|x| x + 2f64.powi(30)).collect();
        let of = |x: &[f64], kernel: &Kernel| {
            kernel_matrix(MatrixView::new(x, n, d).unwrap(), None, kernel, &Team::solo()).unwrap()
        };
        let gamma = Rate::new(0.02).unwrap();
        for kernel in [Kernel::Rbf { gamma }, Kernel::Laplacian { gamma }, Kernel::Linear { centered: true }] {
            let (near, far) = (of(&x, &kernel), of(&moved, &kernel));
            let largest = near.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            // The mean itself rounds at the offset; the linear kernel feels that.
            let off = near.iter().zip(&far).fold(0.0f64, |a, (x, y)| a.max((x - y).abs()));
            assert!(off <= 1e-7 * largest, "{kernel:?} {off}");
            if d < 64 && !matches!(kernel, Kernel::Linear { .. }) {
                assert_eq!(near, far);
            }
        }
    }
}

#[test]
fn near_duplicates_keep_their_distance() {
    // gamma |x - y|^2 = 1 at separation 1e-6: products of coordinates would leave two digits.
    let x = [0.7f64, 0.3, 0.7 + 1e-6, 0.3];
    let gap = x[2] - x[0];
    let kernel = Kernel::Rbf { gamma: Rate::new(1e12).unwrap() };
    let k = kernel_matrix(MatrixView::new(&x, 2, 2).unwrap(), None, &kernel, &Team::solo()).unwrap();
    assert!((k[1] - (-1e12 * gap * gap).exp()).abs() < 1e-14);
}

#[test]
fn units_do_not_show() {
    let (n, d) = (30, 2);
    let x = numbers(n * d, 5);
    let resolve = |x: &[f64], kernel: Kernel<Gamma>| {
        let view = MatrixView::new(x, n, d).unwrap();
        let kernel = kernel.resolve(view, "X", &Team::solo()).unwrap();
        kernel_matrix(view, None, &kernel, &Team::solo()).unwrap()
    };
    for kernel in [
        Kernel::Rbf { gamma: Gamma::Scale },
        Kernel::Rbf { gamma: Gamma::Median },
        Kernel::Laplacian { gamma: Gamma::Median },
        Kernel::Sigmoid { gamma: Gamma::Scale, coef0: 0.1 },
        Kernel::Poly { gamma: Gamma::Scale, degree: 3.0, coef0: 1.0 },
        Kernel::Cosine,
    ] {
        let plain = resolve(&x, kernel);
        for power in [-700, 700] {
            let scaled: Vec<f64> = x.iter().map(|x| x * 2f64.powi(power)).collect();
            assert_eq!(resolve(&scaled, kernel), plain, "{kernel:?} 2^{power}");
        }
    }
}

/// Median over i < j, of the nonzero distances where it is 0; `None` where there are none.
fn naive_median(x: &[f64], d: usize, l1: bool) -> Option<f64> {
    let n = x.len() / d;
    let mut all = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
        let apart = (0..d).map(|k| (x[i * d + k] - x[j * d + k]).abs());
        all.push(if l1 { apart.sum() } else { apart.map(|a| a * a).sum::<f64>().sqrt() });
    }
    all.sort_by(f64::total_cmp);
    let middle = |all: &[f64]| Some((all.get((all.len().max(1) - 1) / 2)? + all.get(all.len() / 2)?) / 2.0);
    let median = middle(&all);
    all.retain(|d| *d > 0.0);
    median.filter(|m| *m > 0.0).or_else(|| middle(&all))
}

#[test]
fn the_median_is_exact() {
    let mut cases: Vec<(Vec<f64>, usize)> = Vec::new();
    for (n, d) in [(2, 1), (3, 2), (4, 3), (50, 1), (51, 5), (300, 3), (601, 2), (900, 1), (150, 90)] {
        cases.push((numbers(n * d, 6), d));
        cases.push((numbers(n * d, 7).iter().map(|x| (x * 3.0).round()).collect(), d)); // ties
    }
    cases.push(((0..700).map(|i| f64::from(u8::from(i % 50 == 0))).collect(), 1)); // most distances 0
    cases.push(((0..900).map(f64::from).collect(), 1)); // sorted
    cases.push(((0..900).map(|i| f64::from(i % 2) * 100.0 + f64::from(i) * 1e-3).collect(), 1)); // two heaps
    cases.push(((0..900).map(|i| f64::from(i % 30)).collect(), 1)); // periodic
    cases.push((vec![4.0; 100], 2));
    for (x, d) in cases {
        let n = x.len() / d;
        let view = MatrixView::new(&x, n, d).unwrap();
        for l1 in [false, true] {
            let asked =
                if l1 { Kernel::Laplacian { gamma: Gamma::Median } } else { Kernel::Rbf { gamma: Gamma::Median } };
            let right = naive_median(&x, d, l1).map_or(1.0, |m| if l1 { 1.0 / m } else { 0.5 / (m * m) });
            let got = asked.resolve(view, "X", &Team::solo()).unwrap().gamma().unwrap();
            assert!((got / right - 1.0).abs() < 1e-13, "{n} x {d}, l1 {l1}: {got} for {right}");
            let shared = run(2, || false, |team| asked.resolve(view, "X", team));
            assert_eq!(shared.unwrap().gamma(), Some(got));
        }
    }
}

#[test]
fn gamma_follows_its_rule() {
    let x = [1.0, 10.0, 3.0, 10.0, 5.0, 10.0, 7.0, 10.0]; // variances 5 and 0
    let view = MatrixView::new(&x, 4, 2).unwrap();
    let gamma = |gamma| Kernel::Rbf { gamma }.resolve(view, "X", &Team::solo()).map(|k| k.gamma().unwrap());
    assert_eq!(gamma(Gamma::PerFeature).unwrap(), 0.5);
    assert_eq!(gamma(Gamma::Scale).unwrap(), 0.2);
    assert_eq!(gamma(Gamma::Number(3.0)).unwrap(), 3.0);
    assert_eq!(gamma(Gamma::Median).unwrap(), 0.5 / 9.0); // distances 2, 2, 2, 4, 4, 6: median 3
    assert!(gamma(Gamma::Number(-1.0)).is_err() && gamma(Gamma::Number(f64::NAN)).is_err());
    let poly = Kernel::Poly { gamma: Gamma::Median, degree: 2.0, coef0: 0.0 };
    assert!(poly.resolve(view, "X", &Team::solo()).is_err());
    let constant = MatrixView::new(&[2.0f64; 6], 3, 2).unwrap();
    let one = Kernel::Rbf { gamma: Gamma::Scale }.resolve(constant, "X", &Team::solo()).unwrap();
    assert_eq!(one.gamma(), Some(1.0));
    let single = MatrixView::new(&x[..2], 1, 2).unwrap();
    let one = Kernel::Rbf { gamma: Gamma::Median }.resolve(single, "X", &Team::solo()).unwrap();
    assert_eq!(one.gamma(), Some(1.0));
}

#[test]
fn centring_is_h_k_h() {
    for n in [1, 2, 7, 100, 600] {
        let x = numbers(n * 3, 8);
        let view = MatrixView::new(&x, n, 3).unwrap();
        let kernel = Kernel::Rbf { gamma: Rate::new(0.3).unwrap() };
        let team = Team::solo();
        let k = kernel_matrix(view, None, &kernel, &team).unwrap();
        let new = numbers(5 * 3, 9);
        let kt = kernel_matrix(MatrixView::new(&new, 5, 3).unwrap(), Some(view), &kernel, &team).unwrap();

        let h = DMatrix::<f64>::identity(n, n) - DMatrix::from_element(n, n, 1.0 / n as f64);
        let dense = DMatrix::from_row_slice(n, n, &k);
        let (centred, ones) = (&h * &dense * &h, DMatrix::from_element(5, n, 1.0 / n as f64));
        let rows = (DMatrix::from_row_slice(5, n, &kt) - &ones * &dense) * &h;

        let mut ours = k.clone();
        let means = center_kernel(&mut ours, n, &team).unwrap();
        assert_eq!(means, KernelMeans::of(MatrixView::new(&k, n, n).unwrap(), "K", &team).unwrap());
        assert!((0..n * n).all(|at| (ours[at] - centred[(at / n, at % n)]).abs() < 1e-14));
        assert!((0..n * n).all(|at| ours[at] == ours[at % n * n + at / n]));
        let mut ours_new = kt.clone();
        means.center_rows(&mut ours_new, &team).unwrap();
        assert!((0..5 * n).all(|at| (ours_new[at] - rows[(at / n, at % n)]).abs() < 1e-14));

        let mut shared = k.clone();
        run(2, || false, |team| center_kernel(&mut shared, n, team)).unwrap();
        assert_eq!(shared, ours);
    }
}

#[test]
fn centring_an_unsymmetric_matrix_removes_both_means() {
    let n = 50;
    let mut k = numbers(n * n, 10);
    center_kernel(&mut k, n, &Team::solo()).unwrap();
    for i in 0..n {
        assert!(k[i * n..][..n].iter().sum::<f64>().abs() < 1e-13);
        assert!(k.iter().skip(i).step_by(n).sum::<f64>().abs() < 1e-13);
    }
}

#[test]
fn rbf_does_not_see_the_origin() {
    // exp(-|x - y|^2) of whole numbers: known whatever the offset.
    for offset in [0.0, 1e8, 1e15] {
        let x: Vec<f64> = [0.0, 1.0, 3.0, 7.0].iter().map(|x| x + offset).collect();
        let kernel = Kernel::Rbf { gamma: Rate::new(1.0).unwrap() };
        let k = kernel_matrix(MatrixView::new(&x, 4, 1).unwrap(), None, &kernel, &Team::solo()).unwrap();
        assert!((k[1] - (-1f64).exp()).abs() < 1e-16 && (k[2] - (-9f64).exp()).abs() < 1e-18, "{offset}");
    }
}

#[test]
fn wrong_inputs_are_named() {
    let team = Team::solo();
    let rbf = Kernel::Rbf { gamma: Rate::new(1.0).unwrap() };
    let (x, y) = (numbers(6, 1), numbers(6, 2));
    let (x, y) = (MatrixView::new(&x, 3, 2).unwrap(), MatrixView::new(&y, 2, 3).unwrap());
    assert!(matches!(kernel_matrix(x, Some(y), &rbf, &team), Err(Error::Shape { .. })));
    let bad = [1.0, f64::NAN];
    let bad = MatrixView::new(&bad, 1, 2).unwrap();
    assert_eq!(kernel_matrix(x, Some(bad), &rbf, &team), Err(Error::NotFinite { what: "Y", nan: true }));
    let half = Kernel::Poly { gamma: Rate::new(1.0).unwrap(), degree: 0.5, coef0: -100.0 };
    assert!(matches!(kernel_matrix(x, None, &half, &team), Err(Error::Value { what: "degree", .. })));
    let huge = zeros::<f64>(1 << 59, "the kernel matrix");
    assert_eq!(huge, Err(Error::Memory { what: "the kernel matrix", bytes: 1 << 62 }));
}
