"""What holds for every matrix: small integers, so that ties, constant columns and repeated rows abound."""

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, Moments, covariance, eigh, gram

pytestmark = pytest.mark.numeric

EPS = 2.0**-52
settings.register_profile(
    "prinax", derandomize=True, deadline=None, max_examples=40, suppress_health_check=list(HealthCheck)
)
settings.load_profile("prinax")

SOLVERS = st.sampled_from(["auto", "covariance_eigh", "gram", "full", "lanczos", "randomized"])
SHAPES = st.tuples(st.integers(2, 14), st.integers(1, 9))
MATRICES = SHAPES.flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(-9, 9))).map(
    lambda X: X.astype(float)
)
EXPONENTS = st.integers(-60, 60)
SEEDS = st.integers(0, 1000)


def size(X):
    """Largest singular value of the centred rows."""
    return float(np.linalg.norm(X - X.mean(0), 2))


def near(X, squared=False):
    """Rounding of a squared route: relative to the first singular value, with the size in it."""
    return 40 * max(X.shape) * EPS * (size(X) ** 2 if squared else size(X))


@given(MATRICES, SOLVERS)
def test_components_are_orthonormal_and_diagonalise_the_scatter(X, solver):
    model = PCA(svd_solver=solver).fit(X)
    C = model.components_
    Xc = X - X.mean(0)
    loose = 1e-9 * size(X) ** 2 if solver in ("lanczos", "randomized") else 0
    assert_allclose(C @ C.T, np.eye(len(C)), rtol=0, atol=1e-13)
    close = near(X, squared=True) + loose
    assert_allclose(C @ (Xc.T @ Xc) @ C.T, np.diag(model.singular_values_**2), rtol=0, atol=close)
    assert (np.diff(model.singular_values_) <= 0).all()
    assert (model.explained_variance_ >= 0).all()


@given(MATRICES, SOLVERS)
def test_variances_add_up_to_the_trace_and_ratios_to_one(X, solver):
    model = PCA(svd_solver=solver).fit(X)
    trace = X.var(0, ddof=1).sum()
    assert_allclose(model.total_variance_, trace, rtol=1e-12)
    assert_allclose(model.explained_variance_.sum(), trace, rtol=1e-8)
    assert_allclose(model.explained_variance_ratio_.sum(), float(trace > 0), rtol=1e-8)
    assert model.explained_variance_ratio_.sum() <= 1 + 4 * EPS


@given(MATRICES, SOLVERS)
def test_the_rank_is_the_rank_of_the_centred_rows(X, solver):
    n = len(X)
    centred = n * X - X.sum(0)  # integers: exact
    assert PCA(svd_solver=solver).fit(X).rank_ == np.linalg.matrix_rank(centred)


@given(MATRICES, SOLVERS, st.integers(-(2**30), 2**30))
def test_an_exact_shift_leaves_the_spectrum_alone(X, solver, shift):
    loose = 1e-9 * size(X) if solver in ("lanczos", "randomized") else 0
    before = PCA(svd_solver=solver).fit(X).singular_values_
    after = PCA(svd_solver=solver).fit(X + shift).singular_values_
    rounding = np.sqrt(X.size) * EPS * abs(shift)  # of the mean to float64
    assert_allclose(after, before, rtol=0, atol=near(X) + loose + rounding)


@given(MATRICES, SOLVERS, EXPONENTS)
def test_a_power_of_two_scales_bit_for_bit(X, solver, exponent):
    model, scaled = PCA(svd_solver=solver).fit(X), PCA(svd_solver=solver).fit(np.ldexp(X, exponent))
    assert_array_equal(scaled.components_, model.components_)
    assert_array_equal(scaled.singular_values_, np.ldexp(model.singular_values_, exponent))
    assert_array_equal(scaled.explained_variance_ratio_, model.explained_variance_ratio_)
    assert scaled.rank_ == model.rank_


@given(MATRICES, SEEDS)
def test_the_order_of_the_rows_does_not_matter(X, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    model, other = PCA().fit(X), PCA().fit(X[order])
    assert_allclose(other.singular_values_, model.singular_values_, rtol=0, atol=near(X))
    assert_allclose(other.mean_, model.mean_, rtol=0, atol=8 * EPS * 9)


@given(MATRICES, SEEDS)
def test_permuted_and_negated_columns_permute_and_negate_the_axes(X, seed):
    rng = np.random.default_rng(seed)
    order, signs = rng.permutation(X.shape[1]), rng.choice([-1.0, 1.0], X.shape[1])
    model, other = PCA().fit(X), PCA().fit((X * signs)[:, order])
    assert_allclose(other.singular_values_, model.singular_values_, rtol=0, atol=near(X))
    # ties make single vectors arbitrary: the whitened map is what must move along
    C, D = model.components_, other.components_
    S = model.singular_values_
    first = (C.T * S) @ C
    second = (D.T * S) @ D
    moved = (first * np.outer(signs, signs))[np.ix_(order, order)]
    assert_allclose(second, moved, rtol=0, atol=1e4 * near(X))


@given(MATRICES, SEEDS)
def test_rotated_data_have_the_same_spectrum(X, seed):
    d = X.shape[1]
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    found = PCA().fit(X @ Q).singular_values_
    # the promise of the default solver, for each of the two, beside the rounding of the rotation
    promise = 10 * min(X.shape) * EPS * size(X)
    assert_allclose(found, PCA().fit(X).singular_values_, rtol=2e-5, atol=2 * promise + near(X))


@given(MATRICES, SOLVERS, st.integers(0, 9))
def test_scores_and_residuals_split_every_row(X, solver, k):
    k = min(k, *X.shape)
    model = PCA(k, svd_solver=solver).fit(X)
    z, r, xc = model.transform(X), model.residuals(X), X - model.mean_
    assert_allclose(z @ model.components_ + r, xc, rtol=0, atol=1e-13 * (1 + size(X)))
    assert_allclose((z**2).sum(1) + (r**2).sum(1), (xc**2).sum(1), rtol=0, atol=1e-12 * (1 + size(X) ** 2))
    assert_allclose(model.squared_residuals(X), (r**2).sum(1), rtol=0, atol=1e-13 * (1 + size(X) ** 2))
    assert (model.squared_residuals(X) >= 0).all()


@given(MATRICES, SOLVERS)
def test_whitened_scores_have_the_projector_on_the_living_as_covariance(X, solver):
    model = PCA(whiten=True, svd_solver=solver)
    scores = model.fit_transform(X)
    alive = np.arange(len(model.components_)) < model.rank_
    assert_array_equal(scores[:, ~alive], 0)
    assert_allclose(scores.T @ scores / (len(X) - 1), np.diag(alive.astype(float)), rtol=0, atol=1e-6)
    assert_allclose(model.inverse_transform(scores), X, rtol=0, atol=1e-12 * (1 + size(X)))


@given(MATRICES, SEEDS)
def test_integer_weights_are_repeats(X, seed):
    times = np.random.default_rng(seed).integers(0, 4, len(X))
    times[:2] += 1
    weighted, repeated = PCA().fit(X, sample_weight=times), PCA().fit(np.repeat(X, times, axis=0))
    p = min(len(weighted.components_), len(repeated.components_))
    assert_allclose(
        weighted.singular_values_[:p], repeated.singular_values_[:p], rtol=0, atol=3 * near(X) + 1e-14
    )
    assert_allclose(weighted.mean_, repeated.mean_, rtol=0, atol=1e-14)


@given(MATRICES, st.floats(0.01, 0.999), st.floats(0.01, 0.999))
def test_a_larger_share_never_keeps_fewer_components(X, one, other):
    low, high = sorted((one, other))
    assert PCA(low).fit(X).n_components_ <= PCA(high).fit(X).n_components_


@given(MATRICES)
def test_dropping_a_column_interlaces_the_spectrum(X):
    d = X.shape[1]
    if d == 1:
        return
    all_of_it = np.zeros(d)
    found = PCA().fit(X).singular_values_
    all_of_it[: len(found)] = found
    less = PCA().fit(X[:, 1:]).singular_values_
    assert (less <= all_of_it[: len(less)] + near(X)).all()
    assert (less[: d - 1] >= all_of_it[1 : 1 + len(less)] - near(X)).all()


@given(MATRICES, EXPONENTS)
def test_covariance_is_exactly_symmetric_and_the_oracle_s(X, exponent):
    X = np.ldexp(X, exponent)
    C = covariance(X)
    assert_array_equal(C, C.T)
    assert_allclose(C, oracle.covariance(X).astype(float), rtol=0, atol=16 * EPS * max(C.max(), 0))
    assert_array_equal(C[(X[0] == X).all(0)], 0)


@given(MATRICES)
def test_gram_and_scatter_share_their_positive_eigenvalues(X):
    K, S = gram(X), covariance(X) * (len(X) - 1)
    p = min(X.shape)
    assert_allclose(eigh(K)[0][:p], eigh(S)[0][:p], rtol=0, atol=near(X, squared=True) + 1e-13)
    assert_allclose(K.sum(1), 0, atol=near(X, squared=True) + 1e-12)


@given(MATRICES, SEEDS)
def test_moments_do_not_depend_on_how_the_rows_are_cut(X, seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(1, len(X), rng.integers(0, 4)))
    parts = [part for part in np.split(X, cuts) if len(part)]
    streamed, merged = Moments(X.shape[1]), Moments(X.shape[1])
    for part in parts:
        streamed.update(part)
        alone = Moments(X.shape[1])
        alone.update(part)
        merged.merge(alone)
    wanted = covariance(X)
    for moments in (streamed, merged):
        assert moments.count == len(X)
        assert_allclose(moments.covariance(), wanted, rtol=0, atol=32 * EPS * max(wanted.max(), 0))
        assert_allclose(moments.mean, X.mean(0), rtol=0, atol=32 * EPS * 9)


@given(st.integers(1, 40), SEEDS, st.integers(1, 6), EXPONENTS)
def test_eigh_solves_matrices_with_repeated_eigenvalues(n, seed, distinct, exponent):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.integers(-distinct, distinct + 1, n).astype(float))[::-1]
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = np.ldexp((Q * values) @ Q.T, exponent)
    A = (A + A.T) / 2
    found, V = eigh(A)
    close = 40 * n * EPS * np.ldexp(max(np.abs(values).max(), 1), exponent)
    assert_allclose(found, np.ldexp(values, exponent), rtol=0, atol=close)
    assert_allclose(A @ V, V * found, rtol=0, atol=close)
    assert_allclose(V.T @ V, np.eye(n), rtol=0, atol=40 * n * EPS)
