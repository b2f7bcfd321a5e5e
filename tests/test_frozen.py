"""FrozenTransform: the map of a fitted model, called like a function."""

import copy
import pickle

import numpy as np
import prinax
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from prinax import FrozenTransform

pytestmark = pytest.mark.numeric

DTYPES = [np.float32, np.float64]


def parts(rng, d, k, dtype=np.float64, offset=0.0):
    """Matrix (k, d), mean, scale and 7 rows."""
    matrix = rng.standard_normal((k, d)).astype(dtype)
    mean = offset + rng.standard_normal(d)
    scale = rng.uniform(0.5, 2.0, d)
    rows = (mean + rng.standard_normal((7, d))).astype(dtype)
    return matrix, mean, scale, rows


def defined(matrix, mean, scale, rows):
    """The definition, in extended precision."""
    centred = rows.astype(np.longdouble) - mean
    if scale is not None:
        centred = np.where(scale > 0, centred / np.where(scale > 0, scale, 1), 0)
    return centred @ matrix.astype(np.longdouble).T


def bound(matrix, mean, scale, rows, dtype):
    """Rounding of d products and sums, for each score."""
    centred = np.abs(rows.astype(float) - mean) / (1 if scale is None else scale)
    return (
        4
        * np.finfo(dtype).eps
        * np.sqrt(matrix.shape[1])
        * np.linalg.norm(centred, axis=1)[:, None]
        * np.linalg.norm(matrix.astype(float), axis=1)
    )


# --- the map ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 2), (17, 5), (100, 10), (259, 33)])
@pytest.mark.parametrize("scaled", [False, True])
def test_scores_are_the_definition(rng, dtype, d, k, scaled):
    matrix, mean, scale, rows = parts(rng, d, k, dtype)
    scale = scale if scaled else None
    frozen = FrozenTransform(matrix, mean, scale)
    scores = frozen(rows)
    assert scores.dtype == dtype
    assert scores.shape == (7, k)
    exact = defined(matrix, mean, scale, rows)
    assert (np.abs(scores - exact) <= bound(matrix, mean, scale, rows, dtype)).all()


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 1e4), (np.float64, 1e8)])
def test_an_offset_costs_no_digits(rng, dtype, offset):
    matrix, mean, _, rows = parts(rng, 50, 4, dtype, offset)
    exact = defined(matrix, mean, None, rows)
    assert (
        np.abs(FrozenTransform(matrix, mean)(rows) - exact) <= bound(matrix, mean, None, rows, dtype)
    ).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_has_the_same_bits_alone_and_in_a_batch(rng, dtype):
    matrix, mean, scale, rows = parts(rng, 37, 13, dtype)
    frozen = FrozenTransform(matrix, mean, scale)
    batch = frozen(rows)
    for row, scores in zip(rows, batch, strict=True):
        assert_array_equal(frozen(row), scores)
        assert_array_equal(frozen(row[None]), scores[None])


def test_a_column_of_scale_zero_is_left_out(rng):
    matrix, mean, scale, rows = parts(rng, 6, 2)
    scale[3] = 0
    scores = FrozenTransform(matrix, mean, scale)(rows)
    rows[:, 3] = 1e6
    assert_array_equal(FrozenTransform(matrix, mean, scale)(rows), scores)


def test_nothing_is_validated(rng):
    matrix, mean, _, rows = parts(rng, 5, 2)
    rows[0, 0], rows[1, 0] = np.nan, np.inf
    scores = FrozenTransform(matrix, mean)(rows)
    assert np.isnan(scores[0]).all()
    assert not np.isfinite(scores[1]).any()
    assert np.isfinite(scores[2:]).all()


# --- arrays in and out --------------------------------------------------------------------------------------


def test_any_layout_is_read(rng):
    matrix, mean, _, rows = parts(rng, 8, 3)
    frozen = FrozenTransform(np.asfortranarray(matrix), mean)
    scores = frozen(rows)
    wide = np.zeros((14, 16))
    wide[::2, ::2] = rows
    odd = np.frombuffer(b"\0" + rows.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(rows.shape)
    read_only = rows.copy()
    read_only.flags.writeable = False
    for same in (np.asfortranarray(rows), wide[::2, ::2], rows[::-1][::-1], odd, read_only):
        assert_array_equal(frozen(same), scores)
        assert_array_equal(frozen(same[2]), scores[2])
    assert_array_equal(frozen(rows[::-1]), scores[::-1])
    assert_array_equal(frozen(np.broadcast_to(rows[0], (3, 8))), np.tile(scores[0], (3, 1)))
    assert frozen(rows[:0]).shape == (0, 3)


def test_a_memory_map_is_read(rng, tmp_path):
    matrix, mean, _, rows = parts(rng, 8, 3)
    rows.tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", np.float64, "r", shape=rows.shape)
    frozen = FrozenTransform(matrix, mean)
    assert_array_equal(frozen(mapped), frozen(rows))
    assert_array_equal(frozen(mapped[3]), frozen(rows[3]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_out_is_filled_and_returned(rng, dtype):
    matrix, mean, _, rows = parts(rng, 9, 4, dtype)
    frozen = FrozenTransform(matrix, mean)
    for x in (rows, rows[2], rows[2:3]):
        right = frozen(x)
        out = np.full_like(right, np.nan)
        assert frozen(x, out=out) is out
        assert_array_equal(out, right)


@pytest.mark.parametrize(
    ("spoil", "error", "sentence"),
    [
        (lambda out: out.astype(np.float32), TypeError, "out must be float64, got float32"),
        (lambda out: out.tolist(), TypeError, "out must be a NumPy array of float64"),
        (lambda out: out[:, :3], ValueError, r"out must have shape \[7, 4\], got \[7, 3\]"),
        (lambda out: np.asfortranarray(out), ValueError, "out must be a writeable array in C order"),
    ],
)
def test_a_wrong_out_is_refused(rng, spoil, error, sentence):
    matrix, mean, _, rows = parts(rng, 9, 4)
    with pytest.raises(error, match=sentence):
        FrozenTransform(matrix, mean)(rows, out=spoil(np.zeros((7, 4))))


def test_an_out_that_cannot_be_written_is_refused(rng):
    matrix, mean, _, rows = parts(rng, 9, 4)
    frozen = FrozenTransform(matrix, mean)
    out = np.zeros((7, 4))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        frozen(rows, out=out)
    memory = np.zeros(7 * 9)
    with pytest.raises(ValueError, match="out overlaps x"):
        frozen(memory.reshape(7, 9), out=memory[-28:].reshape(7, 4))
    assert frozen(memory[:9], out=memory[9:13]).base is memory


@pytest.mark.parametrize(
    ("x", "error", "sentence"),
    [
        (np.zeros(8), ValueError, "x has 8 features, but this FrozenTransform is expecting 9 features"),
        (np.zeros((2, 10)), ValueError, "x has 10 features"),
        (np.zeros((2, 2, 9)), ValueError, r"a batch of shape \(n, 9\), got 3 dimensions"),
        (np.float64(1.0), TypeError, "x must be a NumPy array of float64, got <class 'numpy.float64'>"),
        (np.array(1.0), ValueError, "got 0 dimensions"),
        ([0.0] * 9, TypeError, "x must be a NumPy array of float64, got <class 'list'>"),
        (np.zeros(9, np.float32), TypeError, r'got float32: convert it with astype\("float64"\)'),
        (np.zeros(9, np.int64), TypeError, "got int64"),
        (np.zeros(9, ">f8"), TypeError, "got >f8"),
        (np.zeros(9, complex), TypeError, "got complex128"),
        (np.ma.zeros(9), TypeError, "x is a masked array"),
        (None, TypeError, "got <class 'NoneType'>"),
    ],
)
def test_a_wrong_x_is_refused_with_a_sentence(rng, x, error, sentence):
    matrix, mean, _, _ = parts(rng, 9, 4)
    with pytest.raises(error, match=sentence):
        FrozenTransform(matrix, mean)(x)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (([[1.0, np.nan]], [0, 0]), ValueError, "matrix contains NaN"),
        (([[1.0, np.inf]], [0, 0]), ValueError, "matrix contains infinity"),
        (([[1.0, 2.0]], [0, np.nan]), ValueError, "mean contains NaN"),
        (([[1.0, 2.0]], [0]), ValueError, "mean must be 1-D of length 2"),
        (([[1.0, 2.0]], [0, 0], [1]), ValueError, "scale must be 1-D of length 2"),
        (([[1.0, 2.0]], [0, 0], [1, -1]), ValueError, "scale must be at least 0 in every column, got -1"),
        (([1.0, 2.0], [0, 0]), ValueError, "Expected matrix to be a 2D array"),
        ((np.zeros((2, 0)), []), ValueError, r"Found matrix with 0 feature\(s\)"),
        (([["a"]], [0]), TypeError, "matrix has dtype"),
    ],
)
def test_wrong_arrays_are_refused_with_a_sentence(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        FrozenTransform(*arguments)


# --- an object among objects --------------------------------------------------------------------------------


def test_attributes_are_copies_and_the_object_cannot_change(rng):
    matrix, mean, scale, rows = parts(rng, 9, 4, np.float32)
    frozen = FrozenTransform(matrix, mean, scale)
    scores = frozen(rows)
    frozen.matrix[:] = 0
    frozen.mean[:] = 0
    frozen.scale[:] = 1
    matrix_before = matrix.copy()
    matrix[:] = mean[:] = scale[:] = 0
    assert_array_equal(frozen(rows), scores)
    assert_array_equal(frozen.matrix, matrix_before)
    assert (frozen.n_features, frozen.n_components, frozen.dtype) == (9, 4, np.dtype(np.float32))
    assert repr(frozen) == "FrozenTransform(9 -> 4, float32)"
    with pytest.raises(AttributeError):
        frozen.matrix = matrix
    with pytest.raises(AttributeError):
        frozen.anything = 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_and_copy_keep_every_bit(rng, dtype):
    matrix, mean, scale, rows = parts(rng, 9, 4, dtype)
    for frozen in (FrozenTransform(matrix, mean), FrozenTransform(matrix, mean, scale)):
        for twin in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen), copy.copy(frozen)):
            assert type(twin) is FrozenTransform
            assert_array_equal(twin(rows), frozen(rows))
            assert twin.to_bytes() == frozen.to_bytes()


def test_rounding_of_both_parts_of_the_mean(rng):
    # 2^20 + j/16 is exact in float32; its mean is not.
    rows = np.float32(2**20) + np.arange(12, dtype=np.float32).reshape(4, 3) / 16
    mean = rows.astype(float).mean(axis=0) + 2**-25
    scores = FrozenTransform(np.eye(3, dtype=np.float32), mean)(rows)
    assert_allclose(scores, rows.astype(float) - mean, rtol=2 * np.finfo(np.float32).eps)


# --- frozen models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parameters", [{}, {"scale": True}, {"center": False}], ids=str)
def test_a_frozen_model_has_the_bits_of_transform(rng, dtype, parameters):
    X = (5 + rng.standard_normal((60, 9)) * np.arange(1, 10)).astype(dtype)
    X[:, 4] = 7
    model = prinax.PCA(4, **parameters).fit(X)
    frozen = model.freeze()
    assert frozen.dtype == dtype
    assert_array_equal(frozen(X), model.transform(X))
    assert_array_equal(frozen(X[3]), model.transform(X[3:4])[0])


def test_a_whitening_matrix_that_float32_cannot_hold_is_refused(rng):
    X = rng.standard_normal((50, 4)) * 1e-40
    wanted = "X must be in another unit, or float64, got float32 rows .* leaves the range of float32"
    with pytest.raises(ValueError, match=wanted):
        prinax.PCA(2, whiten=True).fit(X.astype("f4")).freeze()
    model = prinax.PCA(2, whiten=True).fit(X)
    assert_allclose(model.freeze()(X), model.transform(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_frozen_whitening_model_divides_its_matrix(rng, dtype):
    X = (5 + rng.standard_normal((60, 9)) * np.arange(1, 10)).astype(dtype)
    X[:, 4] = X[:, 3] - X[:, 2]
    model = prinax.PCA(whiten=True).fit(X)
    scores = model.freeze()(X)
    assert (scores[:, -1] == 0).all()
    assert_allclose(scores, model.transform(X), atol=20 * np.finfo(dtype).eps * np.sqrt(60))


def test_a_frozen_model_is_the_definition(rng):
    X = rng.standard_normal((60, 9)) + 1e8
    model = prinax.PCA(4).fit(X)
    assert_allclose(model.freeze()(X), (X - model.mean_) @ model.components_.T, atol=1e-14 * 9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("center", [True, False])
def test_a_frozen_supervised_model_has_the_bits_of_transform(rng, tmp_path, dtype, center):
    X = (5 + rng.standard_normal((60, 9))).astype(dtype)
    model = prinax.SPCA(2, center=center).fit(X, np.arange(60) % 3)
    model.freeze().save(tmp_path / "model.safetensors")
    frozen = FrozenTransform.load(tmp_path / "model.safetensors")
    assert_array_equal(frozen(X), model.transform(X))
    assert_array_equal(frozen(X[3]), model.transform(X[3:4])[0])


def test_freezing_needs_a_fitted_model():
    with pytest.raises(prinax.NotFittedError, match="not fitted"):
        prinax.PCA().freeze()


def test_a_frozen_model_outlives_the_model(rng):
    X = rng.standard_normal((60, 9))
    model = prinax.PCA(4).fit(X)
    frozen, scores = model.freeze(), model.transform(X)
    model.components_[:] = 0
    assert_array_equal(frozen(X), scores)


def test_no_components_give_no_scores(rng):
    frozen = prinax.PCA(0).fit(rng.standard_normal((5, 3))).freeze()
    assert frozen(np.zeros((4, 3))).shape == (4, 0)
    assert frozen(np.zeros(3)).shape == (0,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ends_of_the_range(dtype):
    most, least = float(np.finfo(dtype).max), float(np.finfo(dtype).smallest_subnormal)
    eye = np.eye(2, dtype=dtype)
    far = FrozenTransform(eye, [0.75 * most, 0.0], [0.5 * most, 1.0])
    assert_allclose(far(np.array([-0.75 * most, 3.0], dtype)), [-3, 3], rtol=1e-6)
    near = FrozenTransform(eye, [3 * least, 0.0], [8 * least, 1.0])
    X = np.array([[5 * least, 3.0], [np.nan, 1.0], [11 * least, np.inf]], dtype)
    assert_array_equal(near(X[0]), [0.25, 3])
    assert_array_equal(near(X)[0], [0.25, 3])
    assert not np.isfinite(near(X)[1:]).all(axis=1).any()


def test_a_mean_beyond_float32_under_float32_rows():
    X = np.array([[1.0, 2.0], [-1.0, 4.0]], np.float32)
    eye = np.eye(2, dtype=np.float32)
    assert_array_equal(FrozenTransform(eye, [2e39, 0.0])(X), [[-np.inf, 2], [-np.inf, 4]])
    assert_array_equal(FrozenTransform(eye, [2e39, 0.0], [1e39, 1.0])(X), [[-2, 2], [-2, 4]])


class Labelled(FrozenTransform):
    """A subclass at module level, as pickle needs it, with attributes of both kinds."""

    __slots__ = ("__dict__", "unit")


def test_copies_keep_what_a_subclass_has_added():
    frozen = Labelled(np.eye(2), np.zeros(2))
    frozen.tag, frozen.unit = ["first"], "mm"
    for twin in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen), copy.copy(frozen)):
        assert type(twin) is Labelled
        assert (twin.tag, twin.unit) == (["first"], "mm")
        assert twin.to_bytes() == frozen.to_bytes()
    assert copy.copy(frozen).tag is frozen.tag
    assert copy.deepcopy(frozen).tag is not frozen.tag
