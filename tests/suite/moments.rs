//! Mean and scatter against double-double arithmetic, and the promises that do not need a reference: layouts, threads,
//! units, offsets, weights, merges.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::needless_for_each)]

use crate::support::{Double, Random};
use prinax::covariance::{Moments, MomentsOptions};
use prinax::simd::Lane;
use prinax::threads::in_pool;
use prinax::{Error, MatrixView, Team};
use std::sync::atomic::AtomicBool;

/// Mean and scatter of row-major data in double-double.
fn reference<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
    let rows = data.len() / cols;
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..rows).map(weight).sum();
    let at = |i: usize, j: usize| -> f64 { data[i * cols + j].into() };
    let mut mean = vec![Double(0.0, 0.0); cols];
    for j in 0..cols {
        let sum = (0..rows).fold(Double(0.0, 0.0), |s, i| s.plus(Double(at(i, j), 0.0).times(Double(weight(i), 0.0))));
        let first = sum.0 / total;
        let rest = sum.plus(Double(-first, 0.0).times(Double(total, 0.0)));
        mean[j] = Double(first, 0.0).plus(Double(rest.0 / total, 0.0));
    }
    let centered: Vec<Double> = (0..rows * cols)
        .map(|at| Double(data[at].into(), 0.0).plus(Double(-mean[at % cols].0, -mean[at % cols].1)))
        .collect();
    let mut scatter = vec![0.0; cols * cols];
    for i in 0..cols {
        for j in 0..=i {
            let mut sum = Double(0.0, 0.0);
            for (r, row) in centered.chunks_exact(cols).enumerate() {
                sum = sum.plus(row[i].times(row[j]).times(Double(weight(r), 0.0)));
            }
            (scatter[i * cols + j], scatter[j * cols + i]) = (sum.0, sum.0);
        }
    }
    (mean.iter().map(|m| m.0).collect(), scatter)
}

/// The scatter in true units.
fn scatter(moments: &Moments) -> Vec<f64> {
    let scaled = moments.scatter();
    scaled.matrix.iter().map(|s| s * 2f64.powi(scaled.exponent)).collect()
}

/// Largest |S - R|_ij / sqrt(R_ii R_jj), and the largest error of a mean in its standard deviation.
fn errors(moments: &Moments, (mean, right): &(Vec<f64>, Vec<f64>)) -> (f64, f64) {
    let (got, cols) = (scatter(moments), mean.len());
    let mut worst = (0f64, 0f64);
    for i in 0..cols {
        let deviation = (right[i * cols + i] / moments.weight()).sqrt();
        // A unit in the last place of the mean itself is allowed.
        let off = (moments.mean()[i] - mean[i]).abs() - mean[i].abs() * f64::EPSILON;
        worst.1 = worst.1.max(if off <= 0.0 { 0.0 } else { off / deviation });
        for j in 0..cols {
            let scale = (right[i * cols + i] * right[j * cols + j]).sqrt();
            let error = (got[i * cols + j] - right[i * cols + j]).abs();
            worst.0 = worst.0.max(if error == 0.0 { 0.0 } else { error / scale });
            assert_eq!(got[i * cols + j].to_bits(), got[j * cols + i].to_bits());
        }
    }
    worst
}

fn of<T: Lane>(data: &[T], cols: usize) -> Moments {
    weighted(data, cols, None)
}

fn weighted<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> Moments {
    let x = MatrixView::new(data, data.len() / cols, cols).unwrap();
    Moments::of(x, &MomentsOptions { center: true, weights }, &Team::solo()).unwrap()
}

fn refusal<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> Error {
    let x = MatrixView::new(data, data.len() / cols, cols).unwrap();
    Moments::of(x, &MomentsOptions { center: true, weights }, &Team::solo()).unwrap_err()
}

/// Relative error allowed to the scatter, and to the mean in standard deviations.
const SINGLE: (f64, f64) = (4.0 * f32::EPSILON as f64, f32::EPSILON as f64);
const DOUBLE: (f64, f64) = (1e-14, 1e-15);

fn assert_right<T: Lane>(moments: &Moments, right: &(Vec<f64>, Vec<f64>), label: &str) {
    let (scatter, mean) = errors(moments, right);
    let allowed = if T::DOUBLE { DOUBLE } else { SINGLE };
    assert!(scatter <= allowed.0 && mean <= allowed.1, "{label}: scatter {scatter:e}, mean {mean:e}");
}

#[test]
fn every_shape_and_offset_is_right() {
    let shapes =
        [(1, 1), (2, 1), (1, 5), (2, 3), (3, 7), (65, 4), (100, 10), (257, 25), (300, 49), (1000, 20), (9000, 5)];
    for (rows, cols) in shapes.into_iter().chain([(530, 130), (70, 301)]) {
        for offset in [0.0, 1e3, 1e6, 1e8, 1e10] {
            let mut random = Random(rows as u64);
            let data: Vec<f64> = random.matrix(rows, cols, offset);
            assert_right::<f64>(
                &of(&data, cols),
                &reference(&data, cols, None),
                &format!("{rows} x {cols} + {offset}"),
            );
            if offset < 1e7 {
                let data: Vec<f32> = random.matrix(rows, cols, offset);
                let label = format!("f32 {rows} x {cols} + {offset}");
                assert_right::<f32>(&of(&data, cols), &reference(&data, cols, None), &label);
            }
        }
    }
}

#[test]
fn small_integers_are_exact() {
    // Means 2 and 4; squares 4 + 0 + 4, 9 + 0 + 9; products 6 + 0 + 6.
    let moments = of(&[0.0, 1.0, 2.0, 4.0, 4.0, 7.0f64], 2);
    assert_eq!((moments.mean(), scatter(&moments)), (vec![2.0, 4.0], vec![8.0, 12.0, 12.0, 18.0]));
    assert_eq!(moments.covariance(1.0).unwrap().as_slice(), [4.0, 6.0, 6.0, 9.0]);
    assert_eq!(moments.deviations(1.0).unwrap(), [2.0, 3.0]);
    assert!(moments.correlation().iter().all(|r| (r - 1.0).abs() < 1e-15));
    assert_eq!((moments.count(), moments.weight()), (3, 3.0));
    assert!(moments.covariance(3.0).is_err());
}

#[test]
fn thousands_of_single_precision_rows_near_a_million() {
    // 1e6 + k/16, k = 0..16 in turn: mean 1e6 + 15/32, variance (16^2 - 1)/12 / 256.
    let data: Vec<f32> = (0..4096).map(|i| 1e6 + (i % 16) as f32 / 16.0).collect();
    let moments = of(&data, 1);
    assert_eq!(moments.mean(), [1e6 + 15.0 / 32.0]);
    let variance = moments.covariance(0.0).unwrap()[0];
    assert!((variance / (255.0 / 12.0 / 256.0) - 1.0).abs() < 1e-6, "{variance}");
    assert_eq!(moments.alive(), [true]);
}

#[test]
fn drift_and_distant_chunks_cost_no_digits() {
    let (rows, cols) = (20_000, 3);
    let shifts: [fn(usize) -> f64; 4] = [
        |i| 5e4 * i as f64,                         // a trend
        |i| if i < 300 { 1e9 } else { 0.0 },        // the first rows far away
        |i| if i < 8192 { -1e9 } else { 3e8 },      // the first chunk far away
        |i| if i % 4000 == 17 { 1e7 } else { 1e3 }, // a few outliers
    ];
    for (case, shift) in shifts.into_iter().enumerate() {
        let mut data: Vec<f64> = Random(7).matrix(rows, cols, 1.0);
        for (i, row) in data.chunks_exact_mut(cols).enumerate() {
            row.iter_mut().for_each(|x| *x += shift(i));
        }
        assert_right::<f64>(&of(&data, cols), &reference(&data, cols, None), &format!("drift {case}"));
        let single: Vec<f32> = data.iter().map(|&x| x as f32).collect();
        let (scatter, mean) = errors(&of(&single, cols), &reference(&single, cols, None));
        assert!(scatter < 2e-6 && mean < 2e-6, "drift {case}: {scatter:e} {mean:e}");
    }
}

#[test]
fn layouts_give_the_same_bits() {
    for (rows, cols) in [(1, 1), (5, 3), (100, 10), (401, 37), (9001, 6)] {
        let data: Vec<f64> = Random(1).matrix(rows, cols, 3.0);
        let (mut columns, stride) = (vec![0.0; rows * cols], 2 * cols + 1);
        let mut wide = vec![f64::NAN; 3 * rows * stride];
        for i in 0..rows {
            for j in 0..cols {
                columns[j * rows + i] = data[i * cols + j];
                wide[3 * i * stride + 2 * j] = data[i * cols + j];
            }
        }
        let expected = of(&data, cols);
        let views = [
            MatrixView::with_strides(&columns, (rows, cols), (1, rows)).unwrap(),
            MatrixView::with_strides(&wide, (rows, cols), (3 * stride, 2)).unwrap(),
        ];
        for view in views {
            assert_eq!(Moments::of(view, &MomentsOptions::default(), &Team::solo()).unwrap(), expected);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let stop = AtomicBool::new(false);
    for (rows, cols) in [(30_000, 40), (2000, 200), (900, 300)] {
        let data: Vec<f32> = Random(2).matrix(rows, cols, 5.0);
        let x = MatrixView::new(&data, rows, cols).unwrap();
        let expected = Moments::of(x, &MomentsOptions::default(), &Team::solo()).unwrap();
        for threads in [1, 2, 5] {
            let work = || Moments::of(x, &MomentsOptions::default(), &Team::new(threads, &stop)).unwrap();
            assert_eq!(in_pool(threads, || (), work), expected, "{rows} x {cols}, {threads} threads");
        }
    }
}

#[test]
fn scaling_by_a_power_of_two_changes_no_bit() {
    let data: Vec<f64> = Random(3).matrix(300, 7, 2.0);
    let expected = of(&data, 7).scatter();
    for power in [-900, -500, -3, 1, 500, 900] {
        let scaled: Vec<f64> = data.iter().map(|x| x * 2f64.powi(power)).collect();
        let got = of(&scaled, 7).scatter();
        assert_eq!((got.matrix, got.exponent), (expected.matrix.clone(), expected.exponent + 2 * power));
    }
    let data: Vec<f32> = Random(3).matrix(300, 7, 2.0);
    let expected = of(&data, 7).scatter();
    for power in [-90, 90] {
        let scaled: Vec<f32> = data.iter().map(|x| x * 2f32.powi(power)).collect();
        assert_eq!(of(&scaled, 7).scatter().matrix, expected.matrix);
    }
}

#[test]
fn units_of_any_size_and_mixture() {
    let plain: Vec<f64> = Random(4).matrix(50, 3, 0.0);
    let units = [1e-300, 1e300, 1.0];
    let data: Vec<f64> = plain.iter().enumerate().map(|(at, x)| x * units[at % 3]).collect();
    let (expected, got) = (of(&plain, 3), of(&data, 3));
    let (right, deviations) = (expected.deviations(1.0).unwrap(), got.deviations(1.0).unwrap());
    for j in 0..3 {
        assert!((deviations[j] / units[j] / right[j] - 1.0).abs() < 1e-14);
    }
    assert!((got.correlation() - expected.correlation()).amax() < 1e-14);
    // Entries whose true value is representable survive neighbours that overflow or vanish.
    let (got, right) = (got.covariance(1.0).unwrap(), expected.covariance(1.0).unwrap());
    assert!((got[(0, 1)] / right[(0, 1)] - 1.0).abs() < 1e-13);
    assert_eq!((got[(0, 0)], got[(1, 1)]), (0.0, f64::INFINITY));
}

#[test]
fn units_that_the_sample_does_not_show() {
    let rows = 5000; // the sample leaves most rows out
    for (late, early) in [(1e-200, 0.0), (1e200, 0.0), (1e300, 1e-10), (f64::MAX / 2.0, 1.0), (1e-310, 0.0)] {
        let mut data: Vec<f64> = vec![early; rows];
        (data[100], data[3001]) = (late, -late);
        let deviation = of(&data, 1).deviations(0.0).unwrap()[0];
        let right = late * (2.0 / rows as f64).sqrt();
        assert!((deviation / right - 1.0).abs() < 1e-9, "{late:e}: {deviation:e} {right:e}");
    }
    for late in [1e-30f32, 1e30, 1e-44] {
        let mut data = vec![0f32; rows];
        (data[100], data[3001]) = (late, -late);
        let deviation = of(&data, 1).deviations(0.0).unwrap()[0];
        assert!((deviation / (f64::from(late) * (2.0 / rows as f64).sqrt()) - 1.0).abs() < 1e-6, "{late:e}");
    }
}

#[test]
fn opposite_extremes_do_not_overflow() {
    let moments = of(&[f64::MAX, -f64::MAX], 1);
    let deviation = moments.deviations(0.0).unwrap()[0];
    assert!((deviation / f64::MAX - 1.0).abs() < 1e-15 && moments.mean()[0].abs() < 1e293);
    let mut merged = of(&[f64::MAX], 1);
    merged.merge(&of(&[-f64::MAX], 1)).unwrap();
    assert!((merged.deviations(0.0).unwrap()[0] / f64::MAX - 1.0).abs() < 1e-15);
}

#[test]
fn integer_weights_are_repeats() {
    for (rows, cols) in [(40, 3), (700, 12), (9000, 2)] {
        let data: Vec<f64> = Random(5).matrix(rows, cols, 1e6);
        let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
        let repeated: Vec<f64> =
            (0..rows).flat_map(|i| (0..i % 4).flat_map(move |_| i * cols..(i + 1) * cols)).map(|at| data[at]).collect();
        let got = weighted(&data, cols, Some(&weights));
        assert_right::<f64>(&got, &reference(&repeated, cols, None), "repeats");
        assert_eq!(got.weight(), weights.iter().sum::<f64>());
        assert_eq!(got.count(), weights.iter().filter(|w| **w > 0.0).count() as u64);
        let single: Vec<f32> = data.iter().map(|&x| x as f32).collect();
        let right = reference(&single, cols, Some(&weights));
        assert_right::<f32>(&weighted(&single, cols, Some(&weights)), &right, "single");
    }
}

#[test]
fn weights_of_any_size() {
    let data: Vec<f64> = Random(6).matrix(600, 4, 10.0);
    let mut weights: Vec<f64> = (0..600).map(|i| f64::from(i % 7) / 3.0).collect();
    weights[333] = 1e10;
    let right = reference(&data, 4, Some(&weights));
    assert_right::<f64>(&weighted(&data, 4, Some(&weights)), &right, "one heavy row");
    weights[333] = 0.0;
    let right = weighted(&data, 4, Some(&weights));
    for power in [-1000, -300, 300, 1000] {
        let scaled: Vec<f64> = weights.iter().map(|w| w * 2f64.powi(power)).collect();
        let mut got = weighted(&data, 4, Some(&scaled));
        assert_eq!(got.correlation(), right.correlation());
        assert_eq!(got.deviations(0.0).unwrap(), right.deviations(0.0).unwrap());
        assert_eq!(got.covariance(0.0).unwrap(), right.covariance(0.0).unwrap());
        got.merge(&got.clone()).unwrap();
        assert_eq!(got.covariance(0.0).unwrap(), right.covariance(0.0).unwrap());
    }
}

#[test]
fn rows_of_weight_zero_are_absent_but_finite() {
    let got = weighted(&[1.0, 2.0, 1e300, 3.0, 4.0, 5.0], 1, Some(&[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]));
    assert_eq!((got.mean(), scatter(&got)), (vec![3.0], vec![10.0]));
    let found = refusal(&[1.0, f64::NAN, 2.0], 1, Some(&[1.0, 0.0, 1.0]));
    assert_eq!(found, Error::NotFinite { what: "X", nan: true });
}

#[test]
fn bad_weights_are_refused() {
    let sentence = |weights: &[f64]| refusal(&[1.0, 2.0], 1, Some(weights)).to_string();
    assert!(sentence(&[1.0]).contains("sample_weight has length 1, but 2"));
    for weights in [[1.0, -1.0], [0.0, 0.0], [f64::NAN, 1.0], [f64::INFINITY, 1.0], [f64::MAX, f64::MAX]] {
        assert!(sentence(&weights).starts_with("sample_weight must be"), "{weights:?}");
    }
}

#[test]
fn what_is_not_finite_is_refused_wherever_it_lies() {
    for rows in [1, 3, 500, 20_000] {
        for at in [0, rows / 2, rows - 1] {
            for (bad, nan) in [(f64::NAN, true), (f64::INFINITY, false), (f64::NEG_INFINITY, false)] {
                let mut data: Vec<f64> = Random(8).matrix(rows, 2, 0.0);
                data[2 * at + 1] = bad;
                assert_eq!(refusal(&data, 2, None), Error::NotFinite { what: "X", nan });
                data[2 * (rows - 1 - at)] = f64::NAN; // among infinities a NaN is what is told
                assert_eq!(refusal(&data, 2, None), Error::NotFinite { what: "X", nan: true });
            }
        }
    }
    assert_eq!(refusal::<f64>(&[], 3, None), Error::TooFew { what: "X", found: 0, wanted: 1 });
}

#[test]
fn constant_columns_have_scatter_zero() {
    for rows in [1, 2, 300, 20_000] {
        let data: Vec<f64> = (0..rows).flat_map(|i| [0.1, 1e10 / 3.0, 0.0, f64::from(i)]).collect();
        let moments = of(&data, 4);
        let scatter = moments.scatter().matrix;
        assert!((0..3).all(|j| scatter.column(j).amax() == 0.0), "{rows}");
        assert_eq!(moments.mean()[..3], [0.1, 1e10 / 3.0, 0.0]);
        assert_eq!(moments.alive(), [false, false, false, rows > 1]);
        let weights: Vec<f64> = (0..rows).map(|i| f64::from(i % 3) + 0.3).collect();
        let scatter = weighted(&data, 4, Some(&weights)).scatter().matrix;
        assert!((0..3).all(|j| scatter.column(j).amax() == 0.0), "{rows}, weights");
    }
    // One unit in the last place to and fro is rounding, not variation.
    assert_eq!(of(&[0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2], 1).alive(), [false]);
}

#[test]
fn moments_about_zero() {
    let data: Vec<f64> = Random(9).matrix(1000, 6, 3.0);
    let x = MatrixView::new(&data, 1000, 6).unwrap();
    let got = Moments::of(x, &MomentsOptions { center: false, weights: None }, &Team::solo()).unwrap();
    assert_eq!(got.mean(), [0.0; 6]);
    let (mean, mut right) = reference(&data, 6, None);
    for i in 0..6 {
        for j in 0..6 {
            right[i * 6 + j] += 1000.0 * mean[i] * mean[j];
        }
    }
    assert!(errors(&got, &(vec![0.0; 6], right)).0 < 1e-14);
}

#[test]
fn parts_merge_in_any_order() {
    let (rows, cols) = (3000, 5);
    let data: Vec<f64> = Random(10).matrix(rows, cols, 1e8);
    let right = reference(&data, cols, None);
    let parts: Vec<Moments> = data.chunks(cols * 137).map(|part| of(part, cols)).collect();
    let merged = |parts: &mut dyn Iterator<Item = &Moments>| {
        let mut whole = Moments::new(cols).unwrap();
        parts.for_each(|part| whole.merge(part).unwrap());
        whole
    };
    let (forward, backward) = (merged(&mut parts.iter()), merged(&mut parts.iter().rev()));
    let halves = [merged(&mut parts[..9].iter()), merged(&mut parts[9..].iter())];
    let tree = merged(&mut halves.iter());
    let mut singly = Moments::new(cols).unwrap();
    for row in data.chunks_exact(cols) {
        let x = MatrixView::new(row, 1, cols).unwrap();
        singly.update(x, &MomentsOptions::default(), &Team::solo()).unwrap();
    }
    for moments in [&forward, &backward, &tree, &singly] {
        assert_eq!((moments.count(), moments.weight()), (rows as u64, rows as f64));
        assert_right::<f64>(moments, &right, "merged");
    }
}

#[test]
fn forgetting_is_weighting_the_past() {
    let data: Vec<f64> = Random(11).matrix(500, 4, 1e7);
    let mut moments = of(&data[..4 * 200], 4);
    moments.forget(0.25).unwrap();
    moments.merge(&of(&data[4 * 200..], 4)).unwrap();
    let weights: Vec<f64> = (0..500).map(|i| if i < 200 { 0.25 } else { 1.0 }).collect();
    assert_right::<f64>(&moments, &reference(&data, 4, Some(&weights)), "forgetting");
    assert_eq!((moments.weight(), moments.count()), (350.0, 500));
    for factor in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(moments.forget(factor).is_err());
    }
}

#[test]
fn a_refused_update_changes_nothing() {
    let mut moments = of(&[1.0, 2.0, 3.0, 5.0], 2);
    let before = moments.clone();
    for (bad, cols) in [([1.0, f64::NAN], 2), ([1.0, 2.0], 1)] {
        let x = MatrixView::new(&bad, 2 / cols, cols).unwrap();
        assert!(moments.update(x, &MomentsOptions::default(), &Team::solo()).is_err());
    }
    assert!(moments.merge(&Moments::new(3).unwrap()).is_err());
    assert_eq!(moments, before);
}

#[test]
fn a_raised_flag_ends_the_work() {
    let stop = AtomicBool::new(true);
    let data = vec![1.0; 1000];
    let x = MatrixView::new(&data, 100, 10).unwrap();
    let got = Moments::of(x, &MomentsOptions::default(), &Team::new(1, &stop));
    assert_eq!(got, Err(Error::Interrupted));
}
