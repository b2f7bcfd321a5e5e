"""Models without the rows: from moments, and from a covariance alone."""

from fractions import Fraction

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pca_oracle import cloud
from prinax import PCA, Moments, covariance

pytestmark = pytest.mark.numeric

R = np.random.default_rng


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_from_moments_is_the_fit_of_all_batches(offset):
    X = cloud((90, 6)) + offset
    moments = Moments(6)
    for batch in np.array_split(X, 7):
        moments.update(batch)
    model, batch_fit = PCA.from_moments(moments, n_components=3), PCA(3).fit(X)
    assert_allclose(model.singular_values_, batch_fit.singular_values_, rtol=1e-10)
    assert_allclose(model.components_, batch_fit.components_, rtol=0, atol=1e-9)
    assert_allclose(model.mean_, batch_fit.mean_, rtol=1e-15)
    assert (model.n_samples_, model.n_features_in_) == (90, 6)
    assert model.noise_variance_ == pytest.approx(batch_fit.noise_variance_, rel=1e-9)
    assert_allclose(model.transform(X), batch_fit.transform(X), rtol=0, atol=1e-8)


def test_a_model_from_moments_counts_the_rows_that_it_is_of(monkeypatch):
    """Another thread may take in rows at any moment."""
    moments = Moments(2)
    moments.update([[1.0, 2.0], [3.0, 6.0], [2.0, 0.0]])
    look = prinax._validation.enough_weight

    def meanwhile(*arguments, **options):
        moments.update([[10.0, 4.0]])
        return look(*arguments, **options)

    monkeypatch.setattr(prinax._validation, "enough_weight", meanwhile)
    model = PCA.from_moments(moments)
    assert (model.n_samples_, *model.mean_) in [(3, 2.0, 8 / 3), (4, 4.0, 3.0)]


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "lanczos"])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e200])
def test_from_moments_about_zero_is_the_uncentred_fit(offset, solver):
    X = cloud((90, 4)) * max(offset, 1.0) + offset
    moments = Moments(4)
    for batch in np.array_split(X, 7):
        moments.update(batch)
    model = PCA.from_moments(moments, n_components=2, center=False, svd_solver=solver)
    unit = np.abs(X).max()
    wanted = np.linalg.svd(X / unit, compute_uv=False)[:2]
    assert_allclose(model.singular_values_ / unit, wanted, rtol=1e-10)
    assert_array_equal(model.mean_, 0)
    scaled = PCA.from_moments(moments, center=False, scale=True)
    assert_allclose(scaled.scale_ / unit, np.sqrt(((X / unit) ** 2).sum(0) / 89), rtol=1e-12)


def test_from_covariance_is_the_fit_of_the_data_it_came_from():
    X = cloud((90, 6))
    model = PCA.from_covariance(covariance(X), X.mean(0), 90, n_components=3)
    batch_fit = PCA(3).fit(X)
    assert_allclose(model.singular_values_, batch_fit.singular_values_, rtol=1e-12)
    assert_allclose(model.explained_variance_ratio_, batch_fit.explained_variance_ratio_, rtol=1e-12)
    assert_allclose(model.components_, batch_fit.components_, rtol=0, atol=1e-11)
    assert_allclose(model.score_samples(X), batch_fit.score_samples(X), rtol=1e-10)


@pytest.mark.parametrize("unit", [1e308, 1e-300])
def test_from_covariance_takes_any_unit(unit):
    model = PCA.from_covariance(np.diag([1.0, 0.5]) * unit, np.zeros(2), 100)
    assert_allclose(model.explained_variance_ / unit, [1, 0.5], rtol=1e-14)
    assert_allclose(model.singular_values_ / np.sqrt(unit), np.sqrt([99, 49.5]), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("unit", [1.0, 4.0**-10])
def test_from_covariance_of_fewer_rows_than_columns_counts_all_its_variance(unit, dtype):
    C = (np.diag([3.0, 5, 1, 4, 2]) * unit).astype(dtype)
    for k, kept in {None: 3, 1: 1, 2: 2}.items():
        model = PCA.from_covariance(C, np.zeros(5), 3, n_components=k)
        eigenvalues = [5, 4, 3, 2, 1]
        noise = Fraction(sum(eigenvalues[kept:]), 5 - kept)
        assert model.total_variance_ == pytest.approx(15 * unit, rel=1e-14)
        assert_allclose(model.explained_variance_, np.array(eigenvalues[:kept]) * unit, rtol=1e-14)
        assert_allclose(model.explained_variance_ratio_, np.array(eigenvalues[:kept]) / 15, rtol=1e-14)
        assert model.noise_variance_ == pytest.approx(float(noise) * unit, rel=1e-14)
        assert model.rank_ == 5
        assert model.get_covariance().trace() == pytest.approx(15 * unit, rel=1e-14)
    scaled = PCA.from_covariance(C, np.zeros(5), 3, scale=True)
    assert (scaled.total_variance_, scaled.noise_variance_) == pytest.approx((5, 1), rel=1e-14)


def test_from_covariance_of_fewer_rows_than_columns_keeps_the_share_or_says_that_it_cannot():
    C = np.diag([5.0, 4, 3, 2, 1])
    assert PCA.from_covariance(C, np.zeros(5), 3, n_components=0.6).n_components_ == 2
    assert PCA.from_covariance(C, np.zeros(5), 3, n_components=0.79).n_components_ == 3
    with pytest.raises(ValueError, match=r"n_components must be at most 0\.8.*=3 components, got 0.95"):
        PCA.from_covariance(C, np.zeros(5), 3, n_components=0.95)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("d", [20, 200])
def test_from_covariance_takes_the_rounding_of_single_precision(d, scale):
    A = R(0).normal(size=(50, 3)) @ R(1).normal(size=(3, d))
    C = np.cov(A.T)
    right = PCA(3, scale=scale).fit(A)
    model = PCA.from_covariance(C.astype("f4"), np.zeros(d), 50, scale=scale)
    assert model.rank_ == PCA.from_covariance(C, np.zeros(d), 50, scale=scale).rank_ == 3
    assert_array_equal(model.explained_variance_[3:], 0)
    assert_allclose(model.explained_variance_[:3], right.explained_variance_, rtol=1e-6)
    assert_allclose(np.abs(model.components_[:3] @ right.components_.T), np.eye(3), rtol=0, atol=1e-5)
    assert model.total_variance_ == pytest.approx(right.total_variance_, rel=1e-6)


def indefinite(share, dtype, d=20):
    """A matrix with unit diagonal, one eigenvalue of -share beside a largest of 2 + share."""
    C = np.eye(d, dtype=dtype)
    C[0, 1] = C[1, 0] = 1 + share
    return C


@pytest.mark.parametrize("scale", [False, True])
def test_from_covariance_refuses_what_no_rounding_makes_indefinite(scale):
    for C in (
        indefinite(1e-2, "f4"),
        indefinite(2e-2, "f4", 2000),
        indefinite(1e-9, "f8"),
        np.diag([1.0, -1.0]),
        np.diag([1.0, -1e-2]).astype("f4"),
        np.diag([0.0, -1.0]),
        np.array([[1.0, 0.5], [0.5, 0.0]]),
        np.array([[1.0, 1e-6], [1e-6, 0.0]]),
        np.array([[0.0, 0.5], [0.5, 0.0]]),
        np.array([[1.0, 0.5], [0.5, 0.0]], dtype="f4"),
    ):
        with pytest.raises(
            ValueError, match=r"covariance must be positive semidefinite, got (.*-|.* in entry)"
        ):
            PCA.from_covariance(C, np.zeros(len(C)), 50, scale=scale)
    for C in (
        indefinite(1e-5, "f4"),
        indefinite(1e-14, "f8"),
        np.diag([1.0, 0.0]),
        np.diag([1.0, -1e-17]),
        np.array([[1.0, 1e-8], [1e-8, 0.0]]),
    ):
        model = PCA.from_covariance(C, np.zeros(len(C)), 50, scale=scale)
        assert model.rank_ == len(C) - 1


def test_a_zero_variance_is_judged_in_the_unit_of_each_other_column():
    C = np.diag([1e20, 1.0, 0.0])
    assert PCA.from_covariance(C, np.zeros(3), 50, scale=True).total_variance_ == pytest.approx(2, rel=1e-14)
    C[1, 2] = C[2, 1] = 0.5
    with pytest.raises(ValueError, match=r"5e-1 in entry \(2, 1\) beside a variance of 0e0 in \(2, 2\)"):
        PCA.from_covariance(C, np.zeros(3), 50, scale=True)


def test_from_covariance_refuses_what_is_no_covariance():
    mean = np.zeros(2)
    for C in ([[1.0, 2.0], [0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[np.nan, 0.0], [0.0, 1.0]]):
        with pytest.raises(ValueError, match=r"\bC\b|covariance"):
            PCA.from_covariance(C, mean, 10)
    with pytest.raises(ValueError, match="mean"):
        PCA.from_covariance(np.eye(2), np.zeros(3), 10)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="mean contains"):
            PCA.from_covariance(np.eye(2), [0.0, bad], 10)
