"""Files of frozen transforms, damaged everywhere: each is refused, or is a transform of the same shape."""

import contextlib
import resource

import numpy as np
import pytest
from prinax import FrozenTransform
from saved import SUFFIXES, mutations


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def frozen(request, rng):
    return FrozenTransform(
        rng.standard_normal((3, 5)).astype(request.param), rng.standard_normal(5), rng.uniform(1, 2, 5)
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_damaged_byte_loses_the_scale(frozen, tmp_path, suffix):
    path = tmp_path / f"frozen{suffix}"
    frozen.save(path)
    good = path.read_bytes()
    for at in range(len(good)):
        spoilt = bytearray(good)
        spoilt[at] ^= 0x41
        path.write_bytes(spoilt)
        with contextlib.suppress(ValueError):
            assert FrozenTransform.load(path).scale is not None, at


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_short_anywhere_is_refused(frozen, tmp_path, suffix):
    path = tmp_path / ("model" + suffix)
    frozen.save(path)
    content = path.read_bytes()
    for length in range(0, len(content), 1 if suffix == ".safetensors" else 4):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"cannot be loaded: .{20,}"):
            FrozenTransform.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_mutation_crashes_or_changes_the_shape(frozen, tmp_path, suffix, rng):
    path = tmp_path / ("model" + suffix)
    frozen.save(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for bad in mutations(path.read_bytes(), rng, 1500):
        path.write_bytes(bad)
        try:
            found = FrozenTransform.load(path)
        except ValueError:
            continue
        assert (found.n_features, found.n_components) == (5, 3)
        assert np.isfinite(found.matrix).all()
        assert found(np.zeros(5, found.dtype)).shape == (3,)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
