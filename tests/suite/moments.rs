//! Mean and scatter against double-double arithmetic, and the promises that do not need a reference: layouts, threads,
//! units, offsets.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::needless_for_each)]

use crate::support::moments::{assert_right, errors, of, reference, refusal, scatter, weighted};
use crate::support::{Random, stopped};
use prinax::covariance::{Moments, MomentsOptions};
use prinax::threads::run;
use prinax::{Error, MatrixView, Team};

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
    for (rows, cols) in [(30_000, 40), (2000, 200), (900, 300)] {
        let data: Vec<f32> = Random(2).matrix(rows, cols, 5.0);
        let x = MatrixView::new(&data, rows, cols).unwrap();
        let expected = Moments::of(x, &MomentsOptions::default(), &Team::solo()).unwrap();
        for threads in [1, 2, 5] {
            let work = |team: &Team| Moments::of(x, &MomentsOptions::default(), team).unwrap();
            assert_eq!(run(threads, || false, work), expected, "{rows} x {cols}, {threads} threads");
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
fn the_caller_can_stop_it() {
    let data = vec![1.0; 1000];
    let x = MatrixView::new(&data, 100, 10).unwrap();
    let got = stopped(|team| Moments::of(x, &MomentsOptions::default(), team));
    assert_eq!(got, Err(Error::Interrupted));
}
