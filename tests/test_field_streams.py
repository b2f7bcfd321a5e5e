"""Reports from users of other libraries, retold with right values: streams, whitening, saved models."""

import json
import pickle
import struct

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, FrozenTransform, IncrementalPCA, Moments, Whitener

pytestmark = pytest.mark.numeric

R = np.random.default_rng


# --- streams ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "batch", "right"), [(2, 50, 4.41932288), (2, 3, 4.41932288), (4, 5, 0.95166364)]
)
def test_noise_variance_is_the_mean_of_the_rest(k, batch, right):
    """scikit-learn/scikit-learn#8541, #8544; uxlfoundation/scikit-learn-intelex#1787: 0.0 for some."""
    X = R(0).standard_normal((200, 5)) * [5, 4, 3, 2, 1]
    model = IncrementalPCA(k, batch_size=batch).fit(X)
    assert_allclose(model.noise_variance_, right, rtol=1e-8)
    assert isinstance(model.noise_variance_, float)
    by_hand = IncrementalPCA(k)
    for start in range(0, 200, batch):
        by_hand.partial_fit(X[start : start + batch])
    assert_allclose(by_hand.noise_variance_, right, rtol=1e-8)


@pytest.mark.parametrize("whiten", [False, True])
def test_the_model_covariance_of_a_stream_does_not_depend_on_whitening(whiten):
    """scikit-learn/scikit-learn#13898, #13922: variances entered twice, also in the incremental class."""
    X = R(0).standard_normal((100, 4)) * [4, 3, 2, 1]
    full = IncrementalPCA(4, whiten=whiten).fit(X)
    assert_allclose(full.get_covariance(), np.cov(X.T), rtol=1e-12, atol=1e-12)
    assert_allclose(IncrementalPCA(2, whiten=whiten).fit(X).score(X), -8.938056591, rtol=1e-9)


def test_precisions_may_be_mixed_on_the_way():
    """scikit-learn/scikit-learn#12825; scverse/scanpy#1732: one precision downcast the other."""
    X = R(0).standard_normal((90, 4)) * [4, 3, 2, 1] + 1000
    narrow = X.astype("f4")
    mixed = IncrementalPCA(2).partial_fit(X[:40]).partial_fit(narrow[40:])
    right = PCA(2).fit(np.vstack([X[:40], narrow[40:].astype(float)]))
    assert_allclose(mixed.singular_values_, right.singular_values_, rtol=1e-6)
    assert_allclose(mixed.mean_, right.mean_, rtol=1e-9)
    for model in (PCA(2).fit(narrow), Whitener().fit(narrow), IncrementalPCA(2).fit(narrow)):
        # Rows of double precision are not rounded by a model of single precision.
        wide = model.transform(X)
        assert wide.dtype == np.float64
        moved = X.copy()
        moved[0, 0] = np.nextafter(X[0, 0], np.inf)
        assert (model.transform(moved)[0] != wide[0]).any()


def test_updates_after_scoring_change_the_scores():
    """scikit-learn/scikit-learn#13114: an online model that was asked in between kept its old axes."""
    X = R(0).standard_normal((60, 3)) * [1, 2, 5]
    model = IncrementalPCA(1).partial_fit(X[:20] * [9, 1, 1])
    first = model.transform(X)
    model.partial_fit(X[20:])
    assert not np.allclose(model.transform(X), first)
    right = PCA(1).fit(np.vstack([X[:20] * [9, 1, 1], X[20:]]))
    assert_allclose(model.transform(X), right.transform(X), atol=1e-12)


@pytest.mark.parametrize("scale", [1e154, 1e200, 1e-162, 1e-200, 1e-310])
def test_a_stream_in_huge_and_tiny_units(scale):
    """openturns/openturns#3005: NaN from squares beyond the range."""
    X = R(0).standard_normal((60, 4))
    model = IncrementalPCA(2)
    for start in range(0, 60, 7):
        model.partial_fit(X[start : start + 7] * scale)
    digits = 1e-3 if scale < 1e-308 else 1e-8
    assert_allclose(model.singular_values_ / scale, [9.41157638, 8.15302019], rtol=digits)
    assert_allclose(model.explained_variance_ratio_, [0.36932449, 0.27715352], rtol=digits)


# --- whitening ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pca", "zca", "pca-cor", "zca-cor"])
def test_no_path_blows_a_dead_direction_up(method):
    """facebookresearch/faiss#2085; scikit-learn/scikit-learn#34866; keras-team/keras#9027: 875,000 for 0."""
    Z = R(0).standard_normal((50, 3))
    Z[:, 2] = Z[:, 0] + Z[:, 1]
    C = R(0).standard_normal((50, 3))
    C[:, 1] = 7
    for X in (Z, C):
        model = Whitener(method)
        once = model.fit_transform(X)
        assert_array_equal(once, model.transform(X))
        assert_array_equal(once, model.freeze()(X))
        assert np.abs(once).max() < 4
        assert_allclose(model.inverse_transform(once), X, atol=1e-12)


@pytest.mark.parametrize("c", [1e-15, 1e-16, 1e-17])
def test_whitening_small_units_gives_variances_of_one(c):
    """scikit-learn/scikit-learn#34866: an absolute floor of eps."""
    X = R(0).standard_normal((60, 4)) * c
    for method in ("pca", "zca", "pca-cor", "zca-cor", "cholesky"):
        assert_allclose(Whitener(method).fit_transform(X).std(axis=0, ddof=1), 1, rtol=1e-12)


@pytest.mark.parametrize("constant", [0.1, 7.0])
def test_a_constant_column_takes_no_part_in_the_correlation(constant):
    """numpy/numpy#20381; mljs/pca#10: 0.1 minus its mean, over its deviation, was +-1."""
    X = R(0).standard_normal((60, 4))
    X[:, 1] = constant
    others = np.delete(X, 1, axis=1)
    for method in ("pca-cor", "zca-cor"):
        model = Whitener(method).fit(X)
        assert model.rank_ == 3
        assert_allclose(model.explained_variance_.sum(), 3, rtol=1e-12)
        alone = Whitener(method).fit(others)
        rows = slice(0, 3) if method == "pca-cor" else [0, 2, 3]
        assert_allclose(
            np.delete(model.whitening_matrix_, 1, axis=1)[rows], alone.whitening_matrix_, atol=1e-10
        )
        assert_array_equal(model.whitening_matrix_[:, 1], 0)


# --- saved models -------------------------------------------------------------------------------------------


def file_of_layout_1(kind, **arrays):
    """A file as the first release laid it out, written here by hand."""
    header = {
        "__metadata__": {"format": "prinax", "format_version": "1.0", "class": kind, "version": "0.1.0"}
    }
    body = b""
    for name, A in arrays.items():
        dtype = {"f8": "F64", "f4": "F32", "u8": "U64", "i4": "I32"}[A.dtype.str[1:]]
        offsets = [len(body), len(body) + A.nbytes]
        header[name] = {"dtype": dtype, "shape": list(A.shape), "data_offsets": offsets}
        body += A.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_files_of_the_first_layout_are_read_by_every_later_version():
    """scikit-learn/scikit-learn#17977, #20179, #27665: old files that lack what a new version looks for."""
    matrix, mean = np.array([[0.6, 0.8]]), np.array([1.0, 2.0])
    frozen = FrozenTransform.from_bytes(file_of_layout_1("FrozenTransform", matrix=matrix, mean=mean))
    assert_allclose(frozen(np.array([6.0, 12.0])), [11.0], rtol=1e-15)
    data = file_of_layout_1(
        "FrozenTransform", matrix=matrix.astype("f4"), mean=mean, scale=np.array([2.0, 0.0])
    )
    assert_allclose(FrozenTransform.from_bytes(data)(np.array([5.0, 9.0], "f4")), [1.2], rtol=1e-6)


def test_moments_of_the_first_layout_are_read_by_every_later_version():
    # The rows (1, 2) and (3, 6) in units of (2, 4): mean (2, 4), scatter (2, 4; 4, 8), its lower triangle.
    one, units = np.ones(1), np.array([1, 2], "i4")
    data = file_of_layout_1(
        "Moments",
        count=np.array([2], "u8"),
        weight=2 * one,
        epsilon=np.finfo(float).eps * one,
        mean_high=np.array([2.0, 4.0]),
        mean_low=np.zeros(2),
        exponents=units,
        scatter=np.array([2.0 / 4, 4.0 / 8, 8.0 / 16]),
    )
    moments = Moments.from_bytes(data)
    assert_array_equal(moments.mean, [2, 4])
    assert_array_equal(moments.covariance(), [[2, 4], [4, 8]])
    moments.update([[5.0, 1.0]])
    assert_allclose(moments.covariance(), np.cov([[1.0, 3, 5], [2, 6, 1]]), rtol=1e-14)


@pytest.mark.parametrize("estimator", [PCA(2, scale=True), IncrementalPCA(2), Whitener("pca", 2)])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_of_every_protocol_come_back_with_the_same_bits(estimator, protocol):
    X = R(0).standard_normal((30, 4))
    model = estimator.fit(X)
    twin = pickle.loads(pickle.dumps(model, protocol=protocol))
    assert_array_equal(twin.transform(X), model.transform(X))
    assert_array_equal(twin.freeze()(X), model.freeze()(X))


@pytest.mark.parametrize("estimator", [PCA, IncrementalPCA, Whitener])
def test_pickles_of_a_newer_version_are_refused_with_a_sentence(estimator):
    state = estimator().fit(R(0).standard_normal((30, 4))).__getstate__()
    with pytest.raises(ValueError, match=r"saved by prinax 99\.0\.0.*upgrade"):
        estimator.__new__(estimator).__setstate__({**state, "_prinax_version": "99.0.0"})
    assert prinax.__version__
