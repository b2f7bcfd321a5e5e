//! Kernel PCA with the linear kernel: the images are the rows themselves, so it is PCA. Nothing n x n is formed.

use super::kernel_pca::{KernelPca, KernelPcaOptions, KernelSolver, Mapping, scaled_columns};
use super::limits::Tolerances;
use super::n_components::Components;
use super::pca::{Pca, PcaOptions};
use super::plan::Solver;
use crate::covariance::Columns;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::linalg::{Qr, complete, fix_signs, times};
use crate::matrix::MatrixView;
use crate::memory;
use crate::power;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// sigma_j^2 are the eigenvalues and Xc u_j / sigma_j the eigenvectors; beyond min(n, d) both are completed.
pub(super) fn fit<T: Lane>(x: MatrixView<T>, options: &KernelPcaOptions, team: &Team) -> Result<KernelPca> {
    let (n, d) = (x.rows(), x.cols());
    let asked = match options.components {
        Components::Count(k) => Components::Count(k.min(n).min(d)),
        other => other,
    };
    if let Components::Count(k) = options.components {
        // Eigenvectors, as they were before their signs, and scores; components.
        let lines = if options.living_only { k.min(d) } else { k };
        memory::check_matrices::<f64>(1, (lines, n.saturating_mul(3).saturating_add(d)), "the eigenvectors")?;
    }
    let pca = Pca::fit(x, None, &plan(asked, options), team)?;
    let Columns { mean, mean_rest, .. } = Columns::of(x, true, team)?;
    let living = pca.rank.min(pca.singular_values.len());
    let all = options.living_only || options.components == Components::All;
    let k = match options.components {
        Components::Count(k) if !all => k,
        _ if all => living,
        _ => pca.singular_values.len(),
    };
    let rows = Centered::new(x, &mean, None).with_rest_of_mean(&mean_rest);
    let axes = pca.components.columns(0, living).into_owned();
    let images = DMatrix::from_vec(n, living, times(&rows, axes.as_slice(), team)?);
    let mut vectors = directions(&images)?.resize_horizontally(k, 0.0);
    complete(&mut vectors, living);
    let unsigned = vectors.clone();
    fix_signs(&mut vectors, T::EPSILON);
    let turned = |j: usize| if vectors.column(j).dot(&unsigned.column(j)) < 0.0 { -1.0 } else { 1.0 };
    let padded = |values: &[f64]| values.iter().copied().take(living).chain(std::iter::repeat(0.0)).take(k).collect();
    let sigma: Vec<f64> = padded(&pca.singular_values);
    Ok(KernelPca {
        eigenvalues: sigma.iter().map(|s| s * s).collect(),
        ratio: padded(&pca.explained_variance_ratio),
        scores: scaled_columns(&images, turned).resize_horizontally(k, 0.0),
        map: Mapping::Linear { mean, components: scaled_columns(&axes, turned).resize_horizontally(k, 0.0) },
        eigenvectors: vectors,
        kernel: Some(Kernel::Linear { centered: true }),
        solver: solver_of(pca.solver),
    })
}

/// The images divided by their lengths. Of images that are orthogonal up to the rounding of the first, QR makes columns
/// that are so to their own.
fn directions(images: &DMatrix<f64>) -> Result<DMatrix<f64>> {
    let (n, k) = images.shape();
    if k == 0 {
        return Ok(images.clone());
    }
    let mut scaled = images.clone();
    power::scale_all(scaled.as_mut_slice(), -power::exponent(images.amax()));
    let qr = Qr::of(scaled.as_slice(), n, k)?;
    let r = qr.r();
    let signs = DMatrix::from_fn(k, k, |i, j| if i == j { 1f64.copysign(r[(i, i)]) } else { 0.0 });
    Ok(qr.q_times(&signs))
}

fn plan(components: Components, options: &KernelPcaOptions) -> PcaOptions {
    let solver = match options.solver {
        KernelSolver::Auto => Solver::Auto,
        KernelSolver::Dense => Solver::Full,
        KernelSolver::Lanczos => Solver::Lanczos,
        KernelSolver::Randomized => Solver::Randomized,
    };
    PcaOptions {
        components,
        solver,
        tol: options.tol,
        tolerances: Tolerances::KERNEL,
        rounds: options.rounds,
        iterations: options.iterations,
        seed: options.seed,
        ddof: 0,
        ..PcaOptions::default()
    }
}

fn solver_of(solver: Solver) -> KernelSolver {
    match solver {
        Solver::Lanczos => KernelSolver::Lanczos,
        Solver::Randomized => KernelSolver::Randomized,
        _ => KernelSolver::Dense,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_by_hand() {
        let x = [0.0, 0.0, 3.0, 4.0];
        for components in [Components::All, Components::Count(2)] {
            let options = KernelPcaOptions { components, ..KernelPcaOptions::default() };
            let model = fit(MatrixView::new(&x, 2, 2).unwrap(), &options, &Team::solo()).unwrap();
            assert!((model.eigenvalues[0] - 12.5).abs() < 1e-14);
            assert_eq!(model.eigenvalues[1..], vec![0.0; model.eigenvalues.len() - 1]);
            assert!((model.scores.column(0) - DMatrix::from_column_slice(2, 1, &[2.5, -2.5])).amax() < 1e-14);
            let Mapping::Linear { mean, components } = model.map else { panic!("a linear map") };
            assert_eq!(mean, [1.5, 2.0]);
            assert!((components.column(0) + DMatrix::from_column_slice(2, 1, &[0.6, 0.8])).amax() < 1e-15);
            let v = model.eigenvectors;
            assert!((v.transpose() * &v - DMatrix::identity(v.ncols(), v.ncols())).amax() < 1e-14);
        }
    }
}
