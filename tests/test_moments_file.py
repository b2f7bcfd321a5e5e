"""Moments as bytes: what comes back, and what is refused with a sentence."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from prinax import Moments
from saved import change, joined, mutations, parts_of


@pytest.fixture
def moments(rng):
    moments = Moments(4)
    moments.update(rng.standard_normal((30, 4)) + 1e8)
    moments.update(rng.standard_normal((1, 4)), sample_weight=[2.5])
    return moments


def test_moments_come_back_bit_for_bit_in_another_process(moments, tmp_path):
    (tmp_path / "moments").write_bytes(moments.to_bytes())
    code = (
        "import sys, prinax; data = open(sys.argv[1], 'rb').read(); m = prinax.Moments.from_bytes(data); "
        "assert m.to_bytes() == data; m.update([[1.0, 2.0, 3.0, 4.0]]); sys.stdout.buffer.write(m.to_bytes())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "moments")]
    done = subprocess.run(command, capture_output=True, check=True)
    twin = pickle.loads(pickle.dumps(moments))
    twin.update([[1.0, 2.0, 3.0, 4.0]])
    assert done.stdout == twin.to_bytes()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-8],
        lambda data: data[:100],
        lambda data: change(data, metadata={"class": "FrozenTransform"}),
        lambda data: change(data, metadata={"format_version": "2.0"}),
        lambda data: change(data, scatter={"shape": [9]}),
    ],
)
def test_damaged_moments_are_refused_with_a_sentence(moments, spoil):
    with pytest.raises(ValueError, match=r"Moments|layout 1\.0"):
        Moments.from_bytes(spoil(moments.to_bytes()))


def state(count, weight, scatter, epsilon=2.0**-52):
    """The bytes of moments of two columns with these numbers."""
    moments = Moments(2)
    moments.update(np.eye(2))
    header, _ = parts_of(moments.to_bytes())
    arrays = {
        "count": np.array([count], "<u8"),
        "weight": np.array([weight], "<f8"),
        "epsilon": np.array([epsilon], "<f8"),
        "mean_high": np.zeros(2),
        "mean_low": np.zeros(2),
        "exponents": np.zeros(2, "<i4"),
        "scatter": np.array(scatter, "<f8"),
    }
    return joined(header, b"".join(arrays[name].tobytes() for name in header if name != "__metadata__"))


@pytest.mark.parametrize(
    "numbers",
    [
        {"count": 0, "weight": 5.0, "scatter": [1, 0.5, 1]},
        {"count": 0, "weight": 0.0, "scatter": [1, 0.5, 1]},
        {"count": 0, "weight": 0.0, "scatter": [0, 0, 0]},  # with a precision, though nothing was seen
        {"count": 2, "weight": 2.0, "scatter": [1, 0.5, 1], "epsilon": 0.9},
        {"count": 2, "weight": 2.0, "scatter": [1, 0.5, 1], "epsilon": 0.0},
        {"count": 2, "weight": 2.0, "scatter": [1, 5, 1]},
        {"count": 2, "weight": 2.0, "scatter": [1, -5, 1]},
        {"count": 2, "weight": 2.0, "scatter": [0, 0.1, 1]},
        {"count": 2, "weight": 2.0, "scatter": [1e-200, 2, 1e200]},
    ],
)
def test_moments_that_no_rows_can_have_given_are_refused(numbers):
    with pytest.raises(ValueError, match="numbers that no rows can have given"):
        Moments.from_bytes(state(**numbers))


def test_a_count_does_not_wrap():
    full = Moments.from_bytes(state(2**64 - 1, 2.0, [1, 0.5, 1]))
    full.update(np.eye(2))
    assert full.count == 2**64 - 1
    full.merge(full)
    assert full.count == 2**64 - 1


def test_moments_cut_short_anywhere_are_refused(moments):
    content = moments.to_bytes()
    for length in range(len(content)):
        with pytest.raises(ValueError, match="a saved prinax Moments"):
            Moments.from_bytes(content[:length])


def test_no_mutation_of_moments_crashes(moments, rng):
    for bad in mutations(moments.to_bytes(), rng, 1500):
        try:
            found = Moments.from_bytes(bad)
        except ValueError:
            continue
        assert found.n_features == 4
        assert found.mean.shape == (4,)
        found.update(np.zeros((2, 4)))
