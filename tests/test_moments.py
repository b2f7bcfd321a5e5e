"""Moments, in any batches and after any merge, against the longdouble oracle of all rows."""

import copy
import pickle

import numpy as np
import oracle
import pytest
from covariance_oracle import EPS, assert_covariance, rows
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, Moments

pytestmark = pytest.mark.numeric


def streamed(X, sizes, weights=None):
    moments, start = Moments(X.shape[1]), 0
    for size in sizes:
        part = slice(start, start + size)
        moments.update(X[part], None if weights is None else weights[part])
        start += size
    assert start == len(X)
    return moments


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sizes", [[60], [1] * 60, [59, 1], [1, 59], [7, 13, 40]])
def test_moments_of_any_batches_are_those_of_all_rows(sizes, dtype):
    X = rows((60, 5), dtype, offset=10.0)
    moments = streamed(X, sizes)
    assert moments.count == 60
    mean = oracle.weighted_mean(X)
    # deviations from a row are summed in the precision of the data, the rest in float64
    close = 2 * EPS[dtype] * float(np.abs(X - mean).max())
    assert_allclose(moments.mean, mean.astype(float), rtol=4 * EPS["f8"], atol=close)
    assert_covariance(moments.covariance(), X)
    assert_covariance(moments.covariance(ddof=0), X, ddof=0)
    assert_allclose(moments.scatter, moments.covariance(ddof=0) * 60, rtol=1e-14)


@pytest.mark.parametrize("offset", [1e8, 1e10])
def test_moments_one_row_at_a_time_keep_their_digits_far_from_the_origin(offset):
    X = rows((200, 3), offset=offset)
    assert_covariance(streamed(X, [1] * 200).covariance(), X)


def test_moments_of_drifting_rows_do_not_lose_the_small_variance():
    steps = np.arange(4000.0)[:, None] * [1e5, 0] + rows((4000, 2))
    assert_covariance(streamed(steps, [100] * 40).covariance(), steps)


def test_merging_is_streaming_in_any_order():
    X = rows((90, 4), offset=1e6)
    parts = [streamed(part, [len(part)]) for part in np.array_split(X, 3)]
    forward, backward = Moments(4), Moments(4)
    for part in parts:
        forward.merge(part)
    for part in reversed(parts):
        backward.merge(part)
    for merged in (forward, backward):
        assert merged.count == 90
        assert_covariance(merged.covariance(), X)
    assert parts[0].count == 30, "merge leaves the other side alone"


def test_forget_multiplies_the_weight_of_every_row_so_far():
    X = rows((40, 3), offset=5.0)
    moments = Moments(3)
    moments.update(X[:25])
    moments.forget(0.25)
    moments.update(X[25:])
    weights = np.where(np.arange(40) < 25, 0.25, 1.0)
    assert_covariance(moments.covariance(), X, weights=weights)
    assert_allclose(moments.mean, oracle.weighted_mean(X, weights).astype(float), rtol=1e-14)


@pytest.mark.parametrize(("factor", "times"), [(0.5, 1060), (0.5, 1072), (0.78, 2900), (1e-100, 3)])
def test_the_covariance_does_not_depend_on_what_is_forgotten_of_all_rows_alike(factor, times):
    X = rows((10, 3), offset=7.0)
    moments = Moments(3)
    moments.update(X)
    right = moments.covariance(0)
    for _ in range(times):
        moments.forget(factor)
    assert 0 < moments.weight < 1e-290
    again = Moments.from_bytes(moments.to_bytes())
    assert_allclose(again.covariance(0), right, rtol=1e-12)
    assert_allclose(again._state.variances(0), right.diagonal(), rtol=1e-12)
    moments.merge(again)
    assert_allclose(moments.covariance(0), right, rtol=1e-12)


def test_rows_whose_weight_has_faded_to_nothing_have_been_seen():
    X = rows((10, 3))
    moments, others = Moments(3), Moments(3)
    moments.update(X.astype("f4"))
    others.update(X + 1)
    for _ in range(4):
        moments.forget(1e-100)
    assert (moments.weight, moments.count) == (0.0, 10)
    right = others.covariance()
    others.merge(moments)
    moments.update(X + 1)
    for merged in (moments, others):
        assert (merged.weight, merged.count) == (10.0, 20)
        assert_array_equal(merged.covariance(), right)


def test_weights_whose_sum_overflows_are_refused_in_a_stream_as_in_one_batch():
    X, weights = np.array([[1.0, 2.0], [3.0, 5.0]]), [8e307, 8e307]
    moments = Moments(2)
    moments.update(X, weights)
    before = moments.to_bytes()
    with pytest.raises(ValueError, match=r"sample_weight must be light enough .* a finite sum, got weights"):
        moments.update(X, weights)
    with pytest.raises(ValueError, match="other must be light enough that all weights have a finite sum"):
        moments.merge(moments)
    assert moments.to_bytes() == before
    stream = IncrementalPCA(1, forgetting_factor=0.9).partial_fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight must be light enough"):
        stream.partial_fit(X, sample_weight=[1.6e308, 1e307])
    assert_allclose(
        stream.explained_variance_, IncrementalPCA(1).fit(X, sample_weight=[0.9, 1]).var_.sum(), rtol=1e-12
    )


@pytest.mark.parametrize("factor", [-0.1, 1.5, np.nan])
def test_forget_refuses_a_factor_outside_0_to_1(factor):
    with pytest.raises(ValueError, match="factor"):
        Moments(3).forget(factor)


def test_moments_take_weights_in_every_batch():
    X, w = rows((50, 3), offset=2.0), np.random.default_rng(2).random(50)
    assert_covariance(streamed(X, [20, 30], w).covariance(), X, weights=w)


@pytest.mark.parametrize(
    "batch",
    [np.full((2, 3), np.nan), [[1.0, np.inf, 0.0]], np.ones((2, 4)), np.ones(3), [["a", "b", "c"]]],
    ids=["NaN", "inf", "too many columns", "1-D", "text"],
)
def test_a_rejected_batch_leaves_the_moments_bit_identical(batch):
    moments = streamed(rows((20, 3)), [20])
    before = moments.to_bytes()
    with pytest.raises((ValueError, TypeError)):
        moments.update(batch)
    assert moments.to_bytes() == before


def test_moments_survive_bytes_pickle_and_copy():
    X = rows((30, 3), offset=1e8)
    moments = streamed(X[:20], [20])
    for twin in (
        Moments.from_bytes(moments.to_bytes()),
        pickle.loads(pickle.dumps(moments)),
        copy.deepcopy(moments),
    ):
        assert_array_equal(twin.scatter, moments.scatter)
        twin.update(X[20:])
        assert_covariance(twin.covariance(), X)
    assert moments.count == 20


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_damaged_bytes_are_refused(damage):
    good = streamed(rows((20, 3)), [20]).to_bytes()
    with pytest.raises(ValueError, match=r"bytes|data|Moments"):
        Moments.from_bytes(good[:-3] if damage is None else damage)


def test_a_small_column_survives_rows_in_which_it_does_not_vary():
    """In the unit of the other column, which a column of zeros is given, its squares would vanish."""
    for first, then in (([1e-200, -1e-200], [0.0, 0.0]), ([0.0, 0.0], [1e-200, -1e-200])):
        moments = streamed(np.c_[[1.0, 2.0, 1.0, 3.0], first + then], [2, 2])
        model = PCA.from_moments(moments, scale=True)
        assert_allclose(model.scale_, [np.std([1, 2, 1, 3], ddof=1), np.sqrt(2 / 3) * 1e-200], rtol=1e-14)


def test_a_spike_that_no_sample_saw_is_whole_after_a_merge():
    """Its column has the unit of the other, in one batch much too small for it, in the other too large."""
    before, X = np.array([[2.0**830, 0.0], [-(2.0**830), 0.0]]), np.zeros((1000, 2))
    X[:, 0], X[437, 1] = np.arange(1000.0) * 2.0**250, 2.0**699
    model = PCA.from_moments(streamed(np.r_[before, X], [2, 1000]), scale=True)
    assert_allclose(model.scale_[1], 2.0**699 / np.sqrt(1002), rtol=1e-13)


def columns(rng, n):
    """A column of a kind that is hard to sum."""
    kinds = [
        np.full(n, rng.normal()),
        np.zeros(n),
        1 + np.arange(n) % 2 * 2.0**-52,
        1e8 + rng.normal(size=n),
        np.where(rng.random(n) < 0.01, 1e12, rng.normal(size=n)),
        np.eye(1, n, int(rng.integers(n)))[0] * 10.0 ** rng.integers(-20, 20),
        rng.standard_cauchy(n),
        np.where(np.arange(n) == n - 1, np.nextafter(0.1, 1), 0.1),
        np.exp(20 * rng.normal(size=n)),
        rng.normal(size=n),
    ]
    unit = 10.0 ** rng.integers(-250, 250) if rng.random() < 0.4 else 1.0
    return kinds[rng.integers(len(kinds))] * unit


@pytest.mark.parametrize("seed", range(150))
def test_no_honest_state_is_refused(seed):
    rng, moments = np.random.default_rng(seed), Moments(4)
    for _ in range(rng.integers(1, 6)):
        n = int(rng.choice([1, 1, 2, 3, 10, 300, 1000]))
        X = np.stack([columns(rng, n) for _ in range(4)], axis=1)
        X[:, 3] = X[:, 0] * rng.choice([-1.0, 0.5, 3.0])
        if rng.random() < 0.5 and np.abs(X).max() < 1e38:
            X = X.astype(np.float32)
        w = rng.choice([0, 1, 0.5, 1e-300, 1e200, 1e-20, 1e10], size=n) if rng.random() < 0.4 else None
        if w is not None and w.sum() == 0:
            w = None
        batch = streamed(X, [n], w)
        moments.merge(batch) if rng.random() < 0.5 else moments.update(X, w)
        if rng.random() < 0.3:
            moments.forget(float(rng.choice([0.5, 0.999, 1e-10, 1e-200])))
        if rng.random() < 0.05:
            for _ in range(3000):
                moments.forget(0.7)
        assert Moments.from_bytes(moments.to_bytes()).to_bytes() == moments.to_bytes()


def test_covariance_of_too_few_rows_is_refused():
    moments = Moments(3)
    for batch in ([], [[1.0, 2.0, 3.0]]):
        if batch:
            moments.update(batch)
        with pytest.raises(ValueError, match=r"sample|ddof|row"):
            moments.covariance()


@pytest.mark.parametrize("d", [0, -1, 2.5, True, "3"])
def test_moments_refuse_an_impossible_width(d):
    with pytest.raises((ValueError, TypeError)):
        Moments(d)


def test_merge_refuses_another_width_or_another_thing():
    with pytest.raises(ValueError, match=r"3.*4|4.*3"):
        Moments(3).merge(streamed(rows((9, 4)), [9]))
    with pytest.raises(TypeError):
        Moments(3).merge(np.eye(3))


class Labelled(Moments):
    """A subclass at module level, as pickle needs it, with attributes of both kinds."""

    __slots__ = ("unit",)


@pytest.mark.parametrize("added", [{}, {"tag": ["first"]}, {"unit": "mm"}, {"tag": ["first"], "unit": "mm"}])
def test_copies_of_moments_keep_what_a_subclass_has_added(added):
    moments = Labelled(2)
    moments.update([[1.0, 2.0], [3.0, 6.0]])
    for name, value in added.items():
        setattr(moments, name, value)
    for twin in (pickle.loads(pickle.dumps(moments)), copy.deepcopy(moments), copy.copy(moments)):
        assert type(twin) is Labelled
        assert {name: getattr(twin, name) for name in ("tag", "unit") if hasattr(twin, name)} == added
        twin.update([[5.0, 6.0]])
        assert (twin.count, moments.count) == (3, 2)
