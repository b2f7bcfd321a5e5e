//! Moments of weighted rows, and of rows that come in parts: weights, merges, forgetting.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::needless_for_each)]

use crate::support::Random;
use crate::support::moments::{assert_right, of, reference, refusal, scatter, weighted};
use prinax::covariance::{Moments, MomentsOptions};
use prinax::{Error, MatrixView, Team};

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
