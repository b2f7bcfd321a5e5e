//! Block Lanczos: known eigenpairs, nasty spectra, every size, every data layout, any number of threads.

#![allow(clippy::expect_used)] // helpers outside `#[test]` stop at the first surprise

use crate::spectra::{defects, dense, five_spectra, with_spectrum};
use nalgebra::DMatrix;
use prinax::linalg::{
    CenteredKernel, Eigen, GramOf, LanczosOptions, Operator, Random, ScatterOf, lanczos, product, product_transposed,
    times, transpose_times, transposed_product,
};
use prinax::matrix::{Element, MatrixView};
use prinax::simd::Centered;
use prinax::threads::{Team, run};

fn options(tol: f64) -> LanczosOptions {
    LanczosOptions { tol, seed: 0, max_products: None }
}

fn leading(a: &DMatrix<f64>, k: usize, tol: f64) -> Eigen {
    lanczos(&dense(a), k, &options(tol), &Team::solo()).expect("no error").expect("no budget")
}

#[test]
fn known_eigenpairs_of_five_spectra() {
    for d in [150, 400] {
        for (name, values) in five_spectra(d) {
            let (a, q) = with_spectrum(&values, 4);
            for k in [1, 2, 10, 40] {
                let tol = 1e-10;
                let found = leading(&a, k, tol);
                let (residual, orthogonality) = defects(&a, &found);
                assert!(residual <= 1.01 * tol * values[0], "{name} d={d} k={k}: residual {residual:e}");
                assert!(orthogonality < 1e-13, "{name} d={d} k={k}: {orthogonality:e}");
                for j in 0..k {
                    assert!((found.values[j] - values[j]).abs() <= tol * values[0], "{name} d={d} k={k} j={j}");
                }
                // Davis-Kahan: the angle to the true subspace is at most residual / gap.
                let gap = values[k - 1] - values[k];
                let inside = transposed_product(&q.columns(0, k).into_owned(), &found.vectors);
                let outside = &found.vectors - product(&q.columns(0, k).into_owned(), &inside);
                let bound = (k as f64).sqrt() * (2.0 * tol * values[0] / gap + 1e-12);
                assert!(outside.norm() <= bound, "{name} d={d} k={k}: angle {:e} for {bound:e}", outside.norm());
            }
        }
    }
}

#[test]
fn all_copies_of_multiple_eigenvalues_are_found() {
    let cases: [(&str, usize, Vec<f64>); 6] = [
        ("20 copies in front", 30, [vec![2.0; 20], (0..280).map(|j| 1.0 - f64::from(j) / 300.0).collect()].concat()),
        ("copies behind one", 12, [vec![9.0], vec![2.0; 10], vec![1.0; 200]].concat()),
        ("projector", 40, [vec![1.0; 40], vec![0.0; 160]].concat()),
        ("identity", 10, vec![1.0; 200]),
        ("pairs", 40, (0..300).map(|j| f64::from(300 - j / 2 * 2)).collect()),
        (
            "nearly equal",
            20,
            (0..300).map(|j| if j < 15 { 5.0 - 1e-13 * f64::from(j) } else { 1.0 / f64::from(j) }).collect(),
        ),
    ];
    for (name, k, values) in cases {
        let (a, _) = with_spectrum(&values, 11);
        let found = leading(&a, k, 1e-10);
        let (residual, orthogonality) = defects(&a, &found);
        assert!(residual <= 1.01e-10 * values[0] && orthogonality < 1e-13, "{name}: {residual:e} {orthogonality:e}");
        for j in 0..k {
            assert!((found.values[j] - values[j]).abs() <= 1e-9, "{name} j={j}: {}", found.values[j]);
        }
    }
}

#[test]
fn a_rank_below_k_is_completed() {
    for (d, rank, k) in [(200, 3, 20), (200_usize, 0_usize, 7), (5, 1, 5), (300, 7, 150), (1, 0, 1), (3, 2, 3)] {
        let values: Vec<f64> = (0..d).map(|j| if j < rank { (rank - j) as f64 } else { 0.0 }).collect();
        let (a, _) = with_spectrum(&values, 2);
        let found = leading(&a, k, 1e-10);
        let (residual, orthogonality) = defects(&a, &found);
        assert!(residual <= 1e-10 * rank as f64 + 1e-300, "d={d} rank={rank} k={k}: {residual:e}");
        assert!(orthogonality < 1e-13, "d={d} rank={rank} k={k}: {orthogonality:e}");
        assert!((0..k).all(|j| (found.values[j] - values[j]).abs() <= 1e-10 * rank as f64));
    }
}

#[test]
fn every_small_size() {
    for d in 1..=12 {
        let values: Vec<f64> = (0..d).map(|j| 3.0 - j as f64).collect(); // negative ones too
        let (a, _) = with_spectrum(&values, d as u64);
        for k in 0..=d {
            let found = leading(&a, k, 0.0);
            let (residual, orthogonality) = defects(&a, &found);
            assert!(residual < 1e-13 * 12.0 && orthogonality < 1e-13, "d={d} k={k}: {residual:e} {orthogonality:e}");
            assert!((0..k).all(|j| (found.values[j] - values[j]).abs() < 1e-12), "d={d} k={k}");
        }
        assert!(lanczos(&dense(&a), d + 1, &options(0.0), &Team::solo()).is_err());
    }
    assert!(leading(&DMatrix::zeros(0, 0), 0, 0.0).values.is_empty());
}

#[test]
fn a_budget_that_is_too_small_is_said_so_and_nothing_else() {
    let (a, _) = with_spectrum(&five_spectra(400)[3].1, 4);
    let limited = |max| LanczosOptions { tol: 1e-10, seed: 0, max_products: Some(max) };
    assert!(lanczos(&dense(&a), 10, &limited(60), &Team::solo()).unwrap().is_none());
    let found = lanczos(&dense(&a), 10, &limited(4000), &Team::solo()).unwrap().unwrap();
    assert_eq!(found.vectors, leading(&a, 10, 1e-10).vectors);
    let broken = DMatrix::from_element(5, 5, f64::NAN);
    assert!(lanczos(&dense(&broken), 1, &options(1e-10), &Team::solo()).is_err());
}

#[test]
fn a_power_of_two_changes_no_bit_of_the_vectors() {
    let (a, _) = with_spectrum(&five_spectra(150)[1].1, 4);
    let plain = leading(&a, 6, 1e-10);
    for exponent in [-660, -40, 3, 660] {
        let unit = 2f64.powi(exponent);
        let scaled = leading(&(&a * unit), 6, 1e-10);
        assert_eq!(scaled.vectors, plain.vectors);
        assert!(scaled.values.iter().zip(&plain.values).all(|(s, p)| *s == p * unit));
    }
}

fn data(n: usize, d: usize) -> Vec<f64> {
    let mut random = Random::new(77);
    let mut x = vec![0.0; n * d];
    random.fill_symmetric(&mut x);
    x.iter_mut().enumerate().for_each(|(at, x)| *x *= 3.0 / (1.0 + (at % d) as f64));
    x
}

/// The centred matrix, by the definition.
fn centred(x: &MatrixView<f64>, mean: &[f64], factor: &[f64]) -> DMatrix<f64> {
    DMatrix::from_fn(x.rows(), x.cols(), |i, j| (x.at(i, j) - mean[j]) * factor[j])
}

#[test]
fn operators_over_data_match_their_matrices_in_every_layout() {
    for (n, d) in [(1, 1), (2, 5), (7, 3), (130, 33), (40, 200), (3, 513), (700, 64)] {
        let x = data(n, d);
        let mean: Vec<f64> = (0..d).map(|j| 0.25 - 0.1 * j as f64 / d as f64).collect();
        let factor: Vec<f64> = (0..d).map(|j| 1.0 + 0.5 * (j % 3) as f64).collect();
        let spread: Vec<f64> = (0..2 * n * d).map(|at| if at % 2 == 0 { x[at / 2] } else { f64::NAN }).collect();
        let views = [
            MatrixView::new(&x, n, d).unwrap(),
            MatrixView::new(&x, d, n).unwrap().transpose(),
            MatrixView::with_strides(&spread, (n, d), (2 * d, 2)).unwrap(),
        ];
        for (layout, view) in views.into_iter().enumerate() {
            let right = centred(&view, &mean, &factor);
            let rows = Centered::new(view, &mean, Some(&factor));
            let scatter = transposed_product(&right, &right);
            let gram = product_transposed(&right, &right);
            for b in [1, 4, 6] {
                let (mut q, mut p) = (DMatrix::zeros(d, b), DMatrix::zeros(n, b));
                Random::new(1).fill_symmetric(q.as_mut_slice());
                Random::new(2).fill_symmetric(p.as_mut_slice());
                let (mut zq, mut zp) = (q.clone(), p.clone());
                ScatterOf::new(&rows).apply(q.as_slice(), zq.as_mut_slice(), &Team::solo()).unwrap();
                GramOf::new(&rows).apply(p.as_slice(), zp.as_mut_slice(), &Team::solo()).unwrap();
                let size = 1e-14 * gram.norm();
                let off = (zq - product(&scatter, &q)).amax();
                assert!(off <= size, "{n} x {d}, layout {layout}, b={b}: {off:e} for {size:e}");
                let off = (zp - product(&gram, &p)).amax();
                assert!(off <= size, "{n} x {d}, layout {layout}, b={b}: {off:e} for {size:e}");
                let y = DMatrix::from_vec(n, b, times(&rows, q.as_slice(), &Team::solo()).unwrap());
                let w = DMatrix::from_vec(d, b, transpose_times(&rows, p.as_slice(), &Team::solo()).unwrap());
                assert!((y - product(&right, &q)).amax() <= size.max(1e-14));
                assert!((w - transposed_product(&right, &p)).amax() <= size.max(1e-14));
            }
        }
    }
}

#[test]
fn a_centred_kernel_is_h_k_h() {
    let n = 60;
    let (k, _) = with_spectrum(&five_spectra(150)[1].1[..n], 3);
    let h = DMatrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)) - 1.0 / n as f64);
    let right = product(&h, &product(&k, &h));
    let found = lanczos(&CenteredKernel(&dense(&k)), 5, &options(1e-12), &Team::solo()).unwrap().unwrap();
    let (residual, _) = defects(&right, &found);
    assert!(residual < 1e-11 * found.values[0]);
    for column in found.vectors.column_iter() {
        assert!(column.sum().abs() < 1e-12);
    }
}

#[test]
fn both_sides_agree_far_from_zero() {
    let (n, d) = (300, 80);
    let plain = data(n, d);
    for offset in [0.0, 1e8] {
        // The offset rounds the data: the truth is that of the rounded data.
        let x: Vec<f64> = plain.iter().map(|x| x + offset).collect();
        let view = MatrixView::new(&x, n, d).unwrap();
        let mean: Vec<f64> =
            (0..d).map(|j| offset + (0..n).map(|i| view.at(i, j) - offset).sum::<f64>() / n as f64).collect();
        let right = centred(&view, &mean, &vec![1.0; d]);
        let rows = Centered::new(view, &mean, None);
        let scatter = lanczos(&ScatterOf::new(&rows), 4, &options(1e-12), &Team::solo()).unwrap().unwrap();
        let gram = lanczos(&GramOf::new(&rows), 4, &options(1e-12), &Team::solo()).unwrap().unwrap();
        assert!(defects(&transposed_product(&right, &right), &scatter).0 <= 2e-12 * scatter.values[0]);
        assert!(defects(&product_transposed(&right, &right), &gram).0 <= 2e-12 * gram.values[0]);
        for j in 0..4 {
            assert!((scatter.values[j] - gram.values[j]).abs() <= 1e-12 * gram.values[0]);
        }
    }
}

#[test]
fn single_precision_data_reach_a_residual_of_one_millionth() {
    for (n, d, offset) in [(2000, 300, 0.0), (2000, 300, 1000.0), (60, 5000, 10.0)] {
        let x: Vec<f32> = data(n, d).iter().map(|&x| f32::of(x + offset)).collect();
        let view = MatrixView::new(&x, n, d).unwrap();
        let mean: Vec<f64> = (0..d).map(|j| (0..n).map(|i| view.at(i, j)).sum::<f64>() / n as f64).collect();
        let right = DMatrix::from_fn(n, d, |i, j| view.at(i, j) - mean[j]);
        let rows = Centered::new(view, &mean, None);
        let found = lanczos(&ScatterOf::new(&rows), 5, &options(1e-6), &Team::solo()).unwrap().unwrap();
        let image = transposed_product(&right, &product(&right, &found.vectors));
        for j in 0..5 {
            let residual = (image.column(j) - found.vectors.column(j) * found.values[j]).norm();
            assert!(residual <= 1.5e-6 * found.values[0], "{n} x {d} j={j}: {:e}", residual / found.values[0]);
        }
        let found = lanczos(&GramOf::new(&rows), 5, &options(1e-6), &Team::solo()).unwrap().unwrap();
        let image = product(&right, &transposed_product(&right, &found.vectors));
        for j in 0..5 {
            let residual = (image.column(j) - found.vectors.column(j) * found.values[j]).norm();
            assert!(residual <= 1.5e-6 * found.values[0], "{n} x {d} j={j}: {:e}", residual / found.values[0]);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (n, d) = (3000, 120);
    let x = data(n, d);
    let mean = vec![0.1; d];
    for view in [MatrixView::new(&x, n, d).unwrap(), MatrixView::new(&x, d, n).unwrap().transpose()] {
        let rows = Centered::new(view, &mean, None);
        let right = centred(&view, &mean, &vec![1.0; d]);
        let product = transposed_product(&right, &right);
        let (scatter, gram) = (ScatterOf::new(&rows), GramOf::new(&rows));
        let operators: [&dyn Operator; 3] = [&scatter, &gram, &dense(&product)];
        for operator in operators {
            let solve = |team: &Team| lanczos(operator, 3, &options(1e-9), team).unwrap().unwrap();
            let alone = solve(&Team::solo());
            for threads in [2, 5] {
                let together = run(threads, || false, solve);
                assert_eq!(together.vectors, alone.vectors);
                assert_eq!(together.values, alone.values);
            }
        }
    }
}
