"""covariance, gram, center_rows and Moments against the longdouble oracle."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, IncrementalPCA, Moments, center_rows, covariance, gram

EPS = {"f4": 2.0**-23, "f8": 2.0**-52}
SHAPES = [(2, 1), (2, 3), (3, 2), (17, 5), (100, 33), (700, 7), (40, 130), (1025, 24), (30, 260)]


def rows(shape, dtype="f8", offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((shape[1], shape[1])) / np.sqrt(shape[1])
    return (rng.standard_normal(shape) @ mixing + offset).astype(dtype)


def assert_covariance(C, X, **options):
    """Entry by entry relative to the two standard deviations: the rounding of a panel."""
    wanted = oracle.covariance(X, **options)
    deviation = np.sqrt(wanted.diagonal())
    near = 4 * np.sqrt(min(len(X), 512)) * EPS[X.dtype.str[1:]]
    assert C.dtype == np.float64
    assert_array_equal(C, C.T)
    assert float(np.abs((C - wanted) / np.outer(deviation, deviation)).max()) <= near


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_covariance_is_the_oracle_s_and_exactly_symmetric(shape, dtype, offset):
    X = rows(shape, dtype, offset)
    assert_covariance(covariance(X), X)


@pytest.mark.parametrize(
    "options", [{"ddof": 0}, {"center": False}, {"ddof": 0, "center": False}, {"ddof": 2}]
)
def test_covariance_options_change_divisor_and_centre(options):
    X = rows((50, 6), offset=1.0)
    assert_covariance(covariance(X, **options), X, **options)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weighted_covariance_is_the_oracle_s(dtype):
    X = rows((90, 6), dtype, offset=2.0)
    w = np.random.default_rng(1).random(90)
    w[:5] = 0
    assert_covariance(covariance(X, sample_weight=w), X, weights=w)


@pytest.mark.parametrize(("far", "weight"), [(1e12, 1e-40), (1e20, 1e-60), (1e40, 1e-300), (1e100, 1e-300)])
@pytest.mark.parametrize("place", [0, 2])
def test_a_far_row_that_hardly_counts_does_not_spoil_the_others(far, weight, place):
    rows, weights = [[1.0, 2.0], [2.0, 5.0], [4.0, 3.0]], [1.0, 3.0, 0.7]
    X = np.insert(np.array(rows), place, [far, -far], axis=0)
    w = np.insert(np.array(weights), place, weight)  # far**2 * weight <= 1e-16
    wanted = np.cov(np.transpose(rows), aweights=weights, ddof=0) * (4.7 / 3.7)
    mean = np.average(rows, axis=0, weights=weights)
    single = Moments(2)
    for row, share in zip(X, w, strict=True):
        single.update(row[None], sample_weight=[share])
    assert_allclose(covariance(X, sample_weight=w), wanted, rtol=1e-12)
    assert_allclose(single.covariance(), wanted, rtol=1e-12)
    assert_allclose(single.mean, mean, rtol=1e-14)
    for solver in ("auto", "covariance_eigh", "full", "gram"):
        model = PCA(svd_solver=solver).fit(X, sample_weight=w)
        assert_allclose(model.mean_, mean, rtol=1e-14)
        assert_allclose(model.explained_variance_, np.linalg.eigvalsh(wanted)[::-1], rtol=1e-12)


def test_a_weight_whose_share_vanishes_changes_nothing():
    rows, weights = np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 8.0]]), [1e10, 1e10, 5e-324]
    moments, before = Moments(2), Moments(2)
    before.update(rows[:2], sample_weight=weights[:2])
    for row, weight in zip(rows, weights, strict=True):
        moments.update(row[None], sample_weight=[weight])
    assert_array_equal(moments.mean, before.mean)
    assert_allclose(moments.covariance(), before.covariance(), rtol=1e-15)


@pytest.mark.parametrize("unit", [1e-305, 1e-310, 1e-320, 1e300])
def test_a_common_factor_of_the_weights_cancels(unit, rng):
    X = rng.standard_normal((10, 2))
    wanted = np.cov(X.T, ddof=0)
    w = np.full(10, unit)
    assert_allclose(covariance(X, ddof=0, sample_weight=w), wanted, rtol=1e-13)
    for solver in ("covariance_eigh", "full"):
        model = PCA(ddof=0, svd_solver=solver).fit(X, sample_weight=w)
        assert_allclose(model.explained_variance_, np.linalg.eigvalsh(wanted)[::-1], rtol=1e-13)
        assert_allclose(model.total_variance_, wanted.trace(), rtol=1e-13)


def exact_covariance(X, weights):
    """The weighted covariance (ddof=0) of these numbers, in fractions."""
    rows, w = [[Fraction(float(x)) for x in row] for row in X], [Fraction(float(w)) for w in weights]
    mean = [sum(a * row[j] for a, row in zip(w, rows, strict=True)) / sum(w) for j in range(len(rows[0]))]
    centred = [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]
    d = range(len(mean))
    return np.array(
        [
            [float(sum(a * c[i] * c[j] for a, c in zip(w, centred, strict=True)) / sum(w)) for j in d]
            for i in d
        ]
    )


@pytest.mark.parametrize(
    ("dtype", "far", "light", "unit"),
    [
        ("f4", 1e25, 1e-46, 1.0),  # the weight is no number of float32, the row counts all the same
        ("f4", 1e25, 1e-46, 1e300),
        ("f4", 1e19, 1e-37, 1.0),  # in the unit of the far row nothing is left of the others
        ("f4", 2.0, 1e-46, 1.0),
        ("f8", 1e160, 1e-318, 1.0),
        ("f8", 1e140, 1e-300, 1.0),
    ],
)
def test_rows_of_hardly_any_weight_count_where_they_lie_far_enough(dtype, far, light, unit):
    X = np.array([[1, 0, 5], [2, 1, 5], [0, 3, 5], [far, 1, 5], [-3, far, 5]], dtype)
    weights = np.array([1, 1, 1, light, light]) * unit
    right = exact_covariance(X, weights)
    size = np.sqrt(np.outer(right.diagonal(), right.diagonal())) + (right == 0)
    moments = Moments(3)
    for row, weight in zip(X[::-1], weights[::-1], strict=True):
        moments.update(row[None], [weight])
    for C in (covariance(X, ddof=0, sample_weight=weights), moments.covariance(0)):
        assert np.abs((C - right) / size).max() <= 8 * EPS[dtype]


def test_a_column_that_varies_in_rows_of_hardly_any_weight_alone_varies():
    X = np.array([[1, 0], [2, 0], [0, 0], [1, 1], [-3, 2]], "f4")
    weights = np.array([1, 1, 1, 1e-200, 1e-203])
    C, right = covariance(X, ddof=0, sample_weight=weights), exact_covariance(X, weights)
    assert_allclose(C[1, 1], right[1, 1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_of_many_magnitudes_in_many_chunks_are_those_of_the_definition(rng, dtype):
    X = (rng.standard_normal((20_000, 3)) + 5).astype(dtype)
    weights = 2.0 ** rng.integers(-300, 300, len(X)) * (rng.random(len(X)) < 0.9)
    rows, w = X.astype(np.longdouble), weights.astype(np.longdouble)
    centred = rows - w @ rows / w.sum()
    right = (centred.T * w) @ centred / w.sum()
    C = covariance(X, ddof=0, sample_weight=weights)
    assert np.abs(C - right).max() <= 64 * EPS[dtype] * right.diagonal().max()


def test_integer_weights_equal_repeated_rows():
    X = rows((20, 4))
    times = np.arange(20) % 4
    assert_allclose(covariance(X, sample_weight=times), covariance(np.repeat(X, times, axis=0)), rtol=1e-12)


@pytest.mark.parametrize("ddof", [5, 6])
def test_covariance_refuses_a_divisor_that_is_not_positive(ddof):
    with pytest.raises(ValueError, match=r"ddof|sample"):
        covariance(rows((5, 2)), ddof=ddof)


@pytest.mark.parametrize("exponent", [-900, -500, 500, 900])
def test_covariance_of_rescaled_columns_is_right_wherever_the_result_is_finite(exponent):
    X = rows((60, 2))
    scaled = np.column_stack([np.ldexp(X[:, 0], exponent), np.ldexp(X[:, 1], -exponent)])
    C, wanted = covariance(scaled), covariance(X)
    assert C[0, 1] == pytest.approx(wanted[0, 1], rel=1e-13)
    with np.errstate(over="ignore", under="ignore"):
        limits = np.ldexp(wanted.diagonal(), [2 * exponent, -2 * exponent])
    assert_array_equal(C.diagonal()[~np.isfinite(limits)], np.inf)
    assert_allclose(C.diagonal()[np.isfinite(limits)], limits[np.isfinite(limits)], rtol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("center", [True, False])
def test_gram_holds_the_inner_products_of_the_rows(shape, dtype, center):
    X = rows(shape, dtype, offset=3.0)
    K = gram(X, center=center)
    Xc = np.asarray(X, oracle.LONG) - (oracle.weighted_mean(X) if center else 0)
    wanted = Xc @ Xc.T
    length = np.sqrt(wanted.diagonal())
    near = 4 * np.sqrt(shape[1] + 16) * EPS[dtype]
    assert K.shape == (shape[0], shape[0])
    assert_array_equal(K, K.T)
    longest = float(length.max())
    shift = (
        EPS["f8"] * 3 * np.sqrt(shape[1]) if center else 0
    )  # the rounding of the mean, about 3, to float64
    assert float(np.abs(K - wanted).max()) <= near * longest**2 + 2 * shift * longest


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("dtype", "large"), [("f4", 1e30), ("f4", 1e37), ("f8", 1e160), ("f8", 1e200)])
def test_one_large_row_leaves_the_inner_products_of_the_others(dtype, large, order, rng):
    X = rng.standard_normal((40, 30)).astype(dtype, order=order)
    X[17] *= np.asarray(large, dtype)
    X[20], X[21] = X[1] / np.asarray(large, dtype), 0
    rows = X.astype(np.longdouble)
    found, right = gram(X, center=False), rows @ rows.T
    lengths = np.sqrt(np.diag(right))
    inside = np.outer(lengths, lengths) < 1e300
    tolerance = 1e-6 if dtype == "f4" else 1e-14
    assert (np.abs(found - right)[inside] <= tolerance * np.outer(lengths, lengths)[inside] + 1e-323).all()
    assert np.isinf(found[~inside]).all()
    assert_array_equal(found, found.T)


def test_the_centred_gram_matrix_has_zero_row_sums_far_from_the_origin():
    X = rows((30, 6), offset=1e6)
    K = gram(X)
    assert np.abs(K.sum(1)).max() <= 1e-8 * np.trace(K)
    assert_allclose(K, gram(X - X[0]), rtol=0, atol=1e-8 * np.trace(K))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 1), (7, 13), (5, 1000)])
def test_center_rows_subtracts_each_row_s_own_mean(shape, dtype):
    X = rows(shape, dtype, offset=100.0)
    wanted = np.asarray(X, oracle.LONG) - np.asarray(X, oracle.LONG).mean(1, keepdims=True)
    centred = center_rows(X)
    assert centred.dtype == dtype
    assert centred is not X
    assert_allclose(centred, wanted.astype(float), rtol=0, atol=2 * EPS[dtype] * np.abs(X).max())


def test_center_rows_of_constant_rows_is_zero():
    for value in (0.1, 0.0, 1.7e308):
        assert_array_equal(center_rows(np.full((3, 7), value)), np.zeros((3, 7)))


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
