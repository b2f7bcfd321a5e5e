"""What lecture notes on principal component analysis claim, line by line, on hand data and on real images."""

import runpy
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose
from prinax import PCA, KernelPCA, kernel_matrix
from sklearn.datasets import load_digits, load_iris

pytestmark = pytest.mark.numeric

R = np.random.default_rng
EXAMPLES = Path(__file__).parents[1] / "examples"
SOLVERS = ["auto", "covariance_eigh", "gram", "full", "lanczos", "randomized"]
every_solver = pytest.mark.parametrize("solver", SOLVERS)
HOUSES = np.array([[10.0, 10.0], [2.0, 2.0], [7.0, 7.0], [1.0, 1.0], [5.0, 5.0]])


def images(name):
    """Real images out of an installed package, or a skip that says which package would bring them."""
    data = runpy.run_path(str(EXAMPLES / "data.py"))
    try:
        return data[name]()
    except data["DataNotInstalledError"] as absent:
        pytest.skip(str(absent))


def correlated(n=60, d=6, seed=0):
    return R(seed).standard_normal((n, d)) @ R(seed + 1).standard_normal((d, d)) + np.arange(d)


# House prices


@every_solver
@pytest.mark.parametrize(("ddof", "variance"), [(1, 27.0), (0, 21.6)])
def test_two_equal_prices_a_house_are_one_number(solver, ddof, variance):
    model = PCA(ddof=ddof, svd_solver=solver)
    scores = model.fit_transform(HOUSES)
    assert_allclose(model.mean_, [5, 5], rtol=1e-15)
    assert_allclose(model.components_[0], np.sqrt([0.5, 0.5]), rtol=1e-14)
    assert_allclose(scores, np.outer([5, -3, 2, -4, 0], [np.sqrt(2), 0]), rtol=0, atol=1e-14)
    assert_allclose(scores[:, 0], [7.07, -4.24, 2.83, -5.66, 0], rtol=0, atol=5e-3)
    assert_allclose(model.explained_variance_, [2 * variance / 2, 0], rtol=1e-14, atol=1e-14)


# The variance view


@every_solver
def test_the_variance_of_the_scores_is_the_eigenvalue(solver):
    X = correlated()
    model = PCA(svd_solver=solver)
    scores = model.fit_transform(X)
    assert_allclose(scores.var(0, ddof=1), model.explained_variance_, rtol=1e-9)
    assert_allclose(
        np.cov(scores.T), np.diag(model.explained_variance_), rtol=0, atol=1e-9 * model.explained_variance_[0]
    )


def test_no_unit_vector_has_more_variance_than_the_first_component():
    X = correlated()
    model = PCA().fit(X)
    directions = R(2).standard_normal((2000, 6))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    variances = ((X - X.mean(0)) @ directions.T).var(0, ddof=1)
    assert variances.max() <= model.explained_variance_[0]
    assert variances.min() >= model.explained_variance_[-1]


@every_solver
def test_shifting_the_data_changes_only_the_mean(solver):
    X = np.round(correlated() * 256) / 256
    shift = np.array([0, 1e3, -1e6, 2.0**30, 5, -7])
    near, far = PCA(3, svd_solver=solver).fit(X), PCA(3, svd_solver=solver).fit(X + shift)
    assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-9)
    assert_allclose(far.components_, near.components_, rtol=0, atol=1e-9)
    assert_allclose(far.mean_ - near.mean_, shift, rtol=1e-12, atol=1e-7)


# The projection view


@every_solver
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_the_mean_squared_error_is_the_sum_of_the_discarded_eigenvalues(solver, k):
    X = correlated()
    model = PCA(k, ddof=0, svd_solver=solver).fit(X)
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[::-1]
    error = ((X - model.reconstruct(X)) ** 2).sum(1).mean()
    assert error == pytest.approx(eigenvalues[k:].sum(), rel=1e-9, abs=1e-20)
    assert model.reconstruction_error(X) == pytest.approx(error, rel=1e-9, abs=1e-20)
    lost = error / eigenvalues.sum()
    assert model.explained_variance_ratio_.sum() + lost == pytest.approx(1, rel=1e-10)


@every_solver
def test_residuals_are_orthogonal_to_the_subspace_and_pythagoras_holds(solver):
    X, new = correlated(), correlated(seed=5)
    model = PCA(3, svd_solver=solver).fit(X)
    for rows in (X, new):
        z, r, xc = model.transform(rows), model.residuals(rows), rows - model.mean_
        assert_allclose(r @ model.components_.T, np.zeros((60, 3)), rtol=0, atol=1e-12 * np.abs(xc).max())
        assert_allclose((xc**2).sum(1), (z**2).sum(1) + (r**2).sum(1), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_any_basis_of_the_subspace_gives_the_same_projection(seed):
    X = correlated()
    model = PCA(3).fit(X)
    B = model.components_.T @ R(seed).standard_normal((3, 3))
    assert_allclose(model.reconstruct(X), oracle.project_onto(B, X, model.mean_), rtol=0, atol=1e-11)


@every_solver
def test_the_next_component_is_the_first_of_what_the_earlier_ones_leave(solver):
    X = correlated()
    components = PCA(4, svd_solver=solver).fit(X).components_
    for m in range(1, 4):
        rest = oracle.deflated(X, components[:m].astype("g")).astype(float)
        assert_allclose(PCA(1, svd_solver=solver).fit(rest).components_[0], components[m], rtol=0, atol=1e-8)


# High dimension


def test_with_few_rows_the_small_side_gives_the_same_axes_and_rank_n_minus_one():
    X = R(0).standard_normal((8, 200)) * 0.7 ** np.arange(8)[:, None]
    big, small = PCA(svd_solver="covariance_eigh").fit(X), PCA(svd_solver="gram").fit(X)
    assert big.rank_ == small.rank_ == 7
    assert_allclose(small.singular_values_[:7], big.singular_values_[:7], rtol=1e-10)
    assert_allclose(small.components_[:7], big.components_[:7], rtol=0, atol=1e-9)
    assert_allclose(small.transform(X), big.transform(X), rtol=0, atol=1e-9)


def test_dual_formulas_give_the_training_scores_and_project_new_rows():
    X, new = R(0).standard_normal((9, 50)) * 0.7 ** np.arange(9)[:, None], R(1).standard_normal((4, 50))
    model = PCA(5, svd_solver="gram").fit(X)
    V, sigma, scores, components = oracle.dual(X, 5)
    signs = np.sign((components * model.components_).sum(1))
    assert_allclose(model.components_, components * signs[:, None], rtol=0, atol=1e-11)
    assert_allclose(model.transform(X), scores * signs, rtol=0, atol=1e-11)
    Xc = X - X.mean(0)
    projected = (V.T @ Xc @ (new - X.mean(0)).T).T / sigma  # Sigma^-1 V' Xc xc_t
    assert_allclose(model.transform(new), projected * signs, rtol=0, atol=1e-11)
    rebuilt = projected @ (Xc.T @ V / sigma).T + X.mean(0)  # Xc'V Sigma^-2 V' Xc xc_t + mean
    assert_allclose(model.reconstruct(new), rebuilt, rtol=0, atol=1e-11)


# The key steps


def test_centre_standardise_decompose_project_and_undo():
    X = correlated() * [1, 10, 100, 0.1, 1, 5]
    mean, deviation = X.mean(0), X.std(0, ddof=1)
    Z = (X - mean) / deviation
    eigenvalues, vectors = np.linalg.eigh(np.cov(Z.T))
    B = vectors[:, ::-1][:, :2]
    model = PCA(2, scale=True).fit(X)
    assert_allclose(model.explained_variance_, eigenvalues[::-1][:2], rtol=1e-12)
    assert_allclose(np.abs(model.components_), np.abs(B.T), rtol=0, atol=1e-12)
    assert_allclose(model.reconstruct(X), Z @ B @ B.T * deviation + mean, rtol=1e-10, atol=1e-10)
    assert model.total_variance_ == pytest.approx(6, rel=1e-13)


# Handwritten digits


def test_the_spectrum_of_handwritten_eights_drops_fast():
    X = images("eights")
    assert X.shape == (500, 784)
    model = PCA().fit(X)
    wanted = np.linalg.svd(X - X.mean(0), compute_uv=False)
    assert_allclose(model.singular_values_, wanted, rtol=1e-5, atol=1e-10 * wanted[0])
    captured = np.cumsum(model.explained_variance_ratio_)
    assert model.explained_variance_[20] < 0.1 * model.explained_variance_[0]
    assert captured[9] > 0.5
    assert captured[99] > 0.9
    assert model.rank_ == (wanted > 500 * 2.0**-52 * wanted[0]).sum() < 499


def test_an_eight_is_rebuilt_better_with_every_component_and_perfectly_with_all():
    X = images("eights")
    errors = []
    for k in (1, 10, 100, 500):
        model = PCA(k).fit(X)
        rebuilt = model.reconstruct(X[:1])
        errors.append(float(((X[0] - rebuilt) ** 2).mean()))
        assert model.squared_residuals(X[:1])[0] == pytest.approx(784 * errors[-1], rel=1e-6, abs=1e-9)
    assert errors[0] > 1.5 * errors[1]
    assert errors[1] > 5 * errors[2]
    assert errors[3] < 1e-18 * 255**2


# Successive linear maps


@pytest.mark.parametrize("k", [2, 6])
def test_stacked_projections_are_one_projection_which_is_the_identity_only_at_full_rank(k):
    X = correlated()
    model = PCA(k).fit(X)
    once = model.reconstruct(X)
    assert_allclose(model.reconstruct(model.reconstruct(once)), once, rtol=0, atol=1e-12)
    U = model.components_.T
    projector = U @ U.T
    assert_allclose(projector @ projector, projector, rtol=0, atol=1e-14)
    assert np.trace(projector) == pytest.approx(k)
    assert np.allclose(projector, np.eye(6), rtol=0, atol=1e-12) == (k == 6)


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_autoencoder_with_tied_weights_learns_the_principal_subspace(seed):
    X = correlated()
    Xc = X - X.mean(0)
    S = Xc.T @ Xc / np.linalg.norm(Xc, 2) ** 2
    W = 0.1 * R(seed).standard_normal((6, 2))
    for _ in range(20000):  # gradient of |Xc - Xc W W'|^2 / 2 over W
        left = S @ W
        W += 0.1 * (2 * left - left @ (W.T @ W) - W @ (W.T @ left))
    learned = np.linalg.qr(W)[0].T
    assert_allclose(W.T @ W, np.eye(2), rtol=0, atol=1e-6)
    assert oracle.largest_sine(PCA(2).fit(X).components_, learned) < 1e-6


# The SVD view


@every_solver
def test_squared_singular_values_are_the_eigenvalues_of_the_scatter(solver):
    X = correlated()
    model = PCA(svd_solver=solver).fit(X)
    Xc = X - X.mean(0)
    assert_allclose(model.singular_values_**2, np.linalg.eigvalsh(Xc.T @ Xc)[::-1], rtol=1e-9)
    assert_allclose(np.linalg.norm(model.transform(X), axis=0), model.singular_values_, rtol=1e-10)
    rebuilt = model.transform(X) @ model.components_
    assert_allclose(rebuilt, Xc, rtol=0, atol=1e-10)


# Choosing k


def test_k_by_ratio_by_eigenvalue_and_by_reconstruction_agree_with_the_spectrum():
    X = load_digits().data
    model = PCA().fit(X)
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    cumulative = np.cumsum(eigenvalues) / eigenvalues.sum()
    for share in (0.5, 0.9, 0.99):
        k = int((cumulative < share).sum()) + 1
        assert model.n_components_for(ratio=share) == PCA(share).fit(X).n_components_ == k
    assert model.n_components_for(min_eigenvalue=1.0) == (eigenvalues >= 1).sum()
    assert_allclose(model.explained_variance_ratio_, eigenvalues / eigenvalues.sum(), rtol=0, atol=1e-13)


def test_iris_keeps_two_numbers_for_97_percent_of_its_variance():
    assert PCA(0.97).fit(load_iris().data).n_components_ == 2


# Kernels


def example(name):
    """A script of the examples, run for its names; or a skip where its packages are missing."""
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(EXAMPLES))
    try:
        return runpy.run_path(str(EXAMPLES / f"{name}.py"))
    finally:
        sys.path.remove(str(EXAMPLES))


def test_the_linear_kernel_is_pca_and_new_rows_are_centred_by_the_matrices_of_ones():
    X, new = correlated(), correlated(7, seed=5)
    pca, model = PCA(3).fit(X), KernelPCA(3).fit(X)
    assert_allclose(np.abs(model.transform(new)), np.abs(pca.transform(new)), atol=1e-10)
    rbf = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    K, L = kernel_matrix(X, gamma=0.05), kernel_matrix(new, X, gamma=0.05)
    one, across = np.ones((60, 60)) / 60, np.ones((7, 60)) / 60
    centred = L - across @ K - L @ one + across @ K @ one
    wanted = centred @ rbf.eigenvectors_ / np.sqrt(rbf.eigenvalues_)
    assert_allclose(rbf.transform(new), wanted, atol=1e-12)


def test_concentric_rings_separate_on_one_component():
    X, which = example("rings")["rings"]()
    z = KernelPCA(1, kernel="rbf", gamma=0.4).fit_transform(X)[:, 0]
    inner, outer = z[which == 0], z[which == 1]
    assert max(inner.min() - outer.max(), outer.min() - inner.max()) > 0.2
    straight = PCA(1).fit_transform(X)[:, 0]
    assert straight[which == 1].min() < straight[which == 0].min() < straight[which == 1].max()


def test_manifold_methods_are_kernel_pca_with_their_own_kernels():
    found = example("manifolds")
    X, angle = found["swiss_roll"]()

    def along(kernel):
        return np.abs(KernelPCA(2, kernel="precomputed").fit_transform(found[kernel](X)))

    assert_allclose(along("mds"), np.abs(PCA(2).fit_transform(X)), atol=1e-9)  # plain distances: PCA itself
    sheet = 0.5 * (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle))  # length along the roll
    for kernel, least in (("isomap", 0.99), ("lle", 0.95), ("laplacian_eigenmaps", 0.95)):
        z = KernelPCA(1, kernel="precomputed").fit_transform(found[kernel](X))[:, 0]
        assert abs(np.corrcoef(z, sheet)[0, 1]) > least, kernel


# Faces and noise


def test_eigenfaces_describe_a_face_by_15_numbers():
    X = images("faces")
    model = PCA(15).fit(X)
    assert model.components_.reshape(15, 25, 25).shape == (15, 25, 25)
    assert model.transform(X[:1]).shape == (1, 15)
    wanted = np.linalg.svd(X - X.mean(0), full_matrices=False)
    assert_allclose(model.singular_values_, wanted.S[:15], rtol=1e-9)
    assert oracle.largest_sine(model.components_, wanted.Vh[:15]) < 1e-8
    blank = ((X - X.mean(0)) ** 2).sum()
    assert ((X - model.reconstruct(X)) ** 2).sum() < 0.35 * blank


@pytest.mark.parametrize("source", ["digits", "faces"])
def test_few_components_remove_noise_from_real_images(source):
    clean = load_digits().data / 16 if source == "digits" else images("faces")
    noisy = clean + 0.3 * R(0).standard_normal(clean.shape)
    model = PCA(12).fit(noisy)
    before = ((noisy - clean) ** 2).mean()
    after = ((model.reconstruct(noisy) - clean) ** 2).mean()
    assert after < 0.6 * before
