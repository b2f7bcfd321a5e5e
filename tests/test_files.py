"""Frozen transforms and moments in files and bytes: what comes back, and what is refused with a sentence."""

import contextlib
import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import FrozenTransform, Moments

SUFFIXES = [".safetensors", ".npz"]


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def frozen(request, rng):
    return FrozenTransform(
        rng.standard_normal((3, 5)).astype(request.param), rng.standard_normal(5), rng.uniform(1, 2, 5)
    )


@pytest.fixture
def moments(rng):
    moments = Moments(4)
    moments.update(rng.standard_normal((30, 4)) + 1e8)
    moments.update(rng.standard_normal((1, 4)), sample_weight=[2.5])
    return moments


def parts_of(data):
    """Header (a dict) and arrays (bytes) of a safetensors file."""
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header, arrays):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return struct.pack("<Q", len(text)) + text + arrays


def rewritten(frozen, **changes):
    """An .npz file of `frozen` with entries replaced; None leaves one out."""
    entries = {
        "format": np.array("prinax"),
        "format_version": np.array("1.0"),
        "class": np.array("FrozenTransform"),
        "version": np.array("0.1.0"),
        "matrix": frozen.matrix,
        "mean": frozen.mean,
        "scale": frozen.scale,
    } | changes
    file = io.BytesIO()
    np.savez(file, **{name: A for name, A in entries.items() if A is not None})
    return file.getvalue()


# --- what comes back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("scaled", [True, False])
def test_a_file_gives_the_transform_back(frozen, tmp_path, suffix, scaled, rng):
    if not scaled:
        frozen = FrozenTransform(frozen.matrix, frozen.mean)
    path = tmp_path / ("model" + suffix)
    frozen.save(path)
    found = FrozenTransform.load(str(path))
    assert type(found) is FrozenTransform
    assert found.to_bytes() == frozen.to_bytes()
    assert_array_equal(found.matrix, frozen.matrix)
    rows = rng.standard_normal((6, 5)).astype(frozen.dtype)
    assert_array_equal(found(rows), frozen(rows))
    content = path.read_bytes()
    frozen.save(path)
    assert path.read_bytes() == content


def test_the_header_says_what_it_is(frozen):
    header, arrays = parts_of(frozen.to_bytes())
    assert header.pop("__metadata__") == {
        "format": "prinax",
        "format_version": "1.0",
        "class": "FrozenTransform",
        "version": prinax.__version__,
    }
    assert {name: entry["shape"] for name, entry in header.items()} == {
        "matrix": [3, 5],
        "mean": [5],
        "scale": [5],
    }
    # Any reader of the layout finds the numbers.
    start, end = header["mean"]["data_offsets"]
    assert_array_equal(np.frombuffer(arrays[start:end], "<f8"), frozen.mean)


def test_numpy_reads_the_npz_without_pickle(frozen, tmp_path):
    frozen.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as found:
        assert_array_equal(found["matrix"], frozen.matrix)
        assert str(found["class"]) == "FrozenTransform"


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


def test_a_newer_minor_layout_and_what_it_adds_are_read(frozen):
    header, arrays = parts_of(frozen.to_bytes())
    header["__metadata__"]["format_version"] = "1.7"
    header["extra"] = {"dtype": "U8", "shape": [2], "data_offsets": [len(arrays), len(arrays) + 2]}
    found = FrozenTransform.from_bytes(joined(header, arrays + b"\1\2"))
    assert_array_equal(found.matrix, frozen.matrix)


# --- what is refused ----------------------------------------------------------------------------------------


def change(data, **entries):
    header, arrays = parts_of(data)
    for name, entry in entries.items():
        if name == "metadata":
            header["__metadata__"] |= entry
        elif entry is None:
            del header[name]
        else:
            header[name] |= entry
    return joined(header, arrays)


def with_nan(data):
    header, arrays = parts_of(data)
    size = 4 if header["matrix"]["dtype"] == "F32" else 8
    start = header["matrix"]["data_offsets"][0]
    nan = np.array(np.nan, "<f4" if size == 4 else "<f8").tobytes()
    return joined(header, arrays[:start] + nan + arrays[start + size :])


HOSTILE = {
    "nothing": (lambda data: b"", "only 0 bytes"),
    "cut short": (lambda data: data[:-1], "damaged or cut short"),
    "cut in the header": (lambda data: data[:50], "damaged or cut short"),
    "too long": (lambda data: data + b"\0", "damaged or cut short"),
    "oversized header": (lambda data: b"\xff" * 8 + data[8:], "a header of 18446744073709551615 bytes"),
    "long header": (lambda data: struct.pack("<Q", 10**6) + b" " * 10**6, "a header of 1000000 bytes"),
    "no JSON": (lambda data: joined(b"{{{{", b""), "damaged or cut short"),
    "deep JSON": (lambda data: joined(b"[" * 9000, b""), "damaged or cut short"),
    "pickle": (lambda data: pickle.dumps({"matrix": 1}), "must be a saved prinax FrozenTransform"),
    "foreign": (lambda data: change(data, metadata={"format": "pt"}), "prinax did not write"),
    "other class": (lambda data: change(data, metadata={"class": "Moments"}), "a saved 'Moments'"),
    "newer": (lambda data: change(data, metadata={"format_version": "2.0"}), "upgrade prinax"),
    "no version": (lambda data: change(data, metadata={"format_version": "x"}), "a layout named 'x'"),
    "negative shape": (lambda data: change(data, matrix={"shape": [-3, 5]}), "damaged or cut short"),
    "absurd shape": (lambda data: change(data, matrix={"shape": [2**62, 5]}), "damaged or cut short"),
    "other shape": (lambda data: change(data, matrix={"shape": [5, 3]}), r"'mean' of shape \[5\]"),
    "flat": (lambda data: change(data, matrix={"shape": [15]}), "1 dimensions instead of 2"),
    "unknown dtype": (lambda data: change(data, mean={"dtype": "F65"}), "damaged or cut short"),
    "wrong dtype": (lambda data: change(data, mean={"dtype": "I64"}), "dtype I64 instead of F64"),
    "overlap": (lambda data: change(data, mean={"data_offsets": [0, 40]}), "damaged or cut short"),
    "NaN": (with_nan, "matrix contains NaN"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_damaged_safetensors_file_is_refused_with_a_sentence(frozen, tmp_path, kind):
    spoil, sentence = HOSTILE[kind]
    path = tmp_path / "model.safetensors"
    path.write_bytes(spoil(frozen.to_bytes()))
    with pytest.raises(ValueError, match=sentence) as refusal:
        FrozenTransform.load(path)
    assert str(path) in str(refusal.value)


def test_a_missing_array_is_refused(frozen):
    header, arrays = parts_of(frozen.to_bytes())
    header["other"] = header.pop("scale")
    with pytest.raises(ValueError, match="an array named 'other'"):
        FrozenTransform.from_bytes(joined(header, arrays))
    header["__metadata__"]["format_version"] = "1.1"  # which may hold more than this layout
    assert FrozenTransform.from_bytes(joined(header, arrays)).scale is None
    header["mien"] = header.pop("mean")
    with pytest.raises(ValueError, match="no array 'mean'"):
        FrozenTransform.from_bytes(joined(header, arrays))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"matrix": None}, "no array 'matrix'"),
        ({"other": np.eye(2)}, "an array named 'other'"),
        ({"mean": None}, "no array 'mean'"),
        ({"format": np.array("other")}, "no prinax FrozenTransform"),
        ({"format": None}, "no prinax FrozenTransform"),
        ({"class": np.array("Moments")}, "no prinax FrozenTransform, but Moments"),
        ({"format_version": np.array("2.0")}, "upgrade prinax"),
        ({"format_version": np.array("9" * 5000)}, "a layout named '999"),
        ({"format_version": np.array("0.9")}, "a layout named '0.9'"),
        ({"format_version": np.array("abc"), "other": np.eye(2)}, "a layout named 'abc'"),
        ({"format_version": np.array("")}, "a layout named ''"),
        ({"format_version": np.array("\u0661.0")}, "a layout named"),
        ({"format_version": None, "other": np.eye(2)}, "a layout named ''"),
        ({"format": np.frombuffer(b"\xff" * 4, "<U1")}, "its format is no text: code point not in range"),
        (
            {"version": np.frombuffer(b"\xff" * 4, ">U1"), "format_version": np.array("2.0")},
            "version is no text",
        ),
        ({"class": np.array(["FrozenTransform", "Moments"])}, "its class is no text"),
        ({"format": np.array(2**62, "M8[Y]")}, "its format is no text"),
        ({"matrix": np.eye(5, dtype=int)}, "dtype int64, not float32 or float64"),
        ({"matrix": np.full((3, 5), np.nan)}, "matrix contains NaN"),
        ({"matrix": np.zeros((3, 4))}, "mean must be 1-D of length 4"),
        ({"matrix": np.zeros(3)}, "2D array"),
        ({"mean": np.array(["a"] * 5)}, "mean has dtype <U1"),
    ],
)
def test_a_wrong_npz_is_refused_with_a_sentence(frozen, tmp_path, changes, sentence):
    path = tmp_path / "model.npz"
    path.write_bytes(rewritten(frozen, **changes))
    with pytest.raises(ValueError, match=sentence) as refusal:
        FrozenTransform.load(path)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_of_either_byte_order_are_read(frozen, tmp_path, order):
    path = tmp_path / "model.npz"
    arrays = {name: getattr(frozen, name) for name in ("matrix", "mean", "scale")}
    turned = {name: A.astype(A.dtype.newbyteorder(order)) for name, A in arrays.items()}
    path.write_bytes(rewritten(frozen, format=np.array("prinax", order + "U6"), **turned))
    found = FrozenTransform.load(path)
    assert found.dtype == frozen.dtype
    for name, A in arrays.items():
        assert_array_equal(getattr(found, name), A)


def test_objects_compression_and_lies_about_sizes_are_refused(frozen, tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, matrix=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="cannot be loaded"):
        FrozenTransform.load(path)
    np.savez_compressed(path, matrix=np.zeros((1000, 1000)))
    with pytest.raises(ValueError, match="compressed"):
        FrozenTransform.load(path)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    entry = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("matrix.npy", entry)
    with pytest.raises(ValueError, match="but 0 bytes are there"):
        FrozenTransform.load(path)


def test_paths_and_types_are_refused_with_a_sentence(frozen, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.safetensors or \.npz"):
        frozen.save(tmp_path / "model.pkl")
    with pytest.raises(ValueError, match=r"path must end in \.safetensors or \.npz"):
        FrozenTransform.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        FrozenTransform.load(tmp_path / "model.npz")
    for call in (frozen.save, FrozenTransform.load):
        with pytest.raises(TypeError, match="path must be a str or a path, got a int"):
            call(3)
    frozen.save(os.fsencode(tmp_path / "bytes.npz"))
    assert_array_equal(FrozenTransform.load(os.fsencode(tmp_path / "bytes.npz")).matrix, frozen.matrix)
    with pytest.raises(TypeError, match="data must be bytes, got a str"):
        FrozenTransform.from_bytes("text")


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


def test_two_arrays_of_one_name_are_refused(frozen, tmp_path):
    path, entry = tmp_path / "model.npz", io.BytesIO()
    np.save(entry, frozen.matrix)
    for name in ("matrix.npy", "matrix"):
        path.write_bytes(rewritten(frozen))
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, entry.getvalue())
        with pytest.raises(ValueError, match="two arrays named 'matrix'"):
            FrozenTransform.load(path)
    data = frozen.to_bytes()
    header, arrays = parts_of(data)
    again = json.dumps(header["mean"])
    for name in ("mean", r"\u006dean"):
        text = json.dumps(header)[:-1] + f', "{name}": {again}}}'
        with pytest.raises(ValueError, match="twice or in disguise"):
            FrozenTransform.from_bytes(joined(text.encode(), arrays))


# --- fuzzing ------------------------------------------------------------------------------------------------


def mutations(data, rng, count):
    """Files near a good one: bytes changed, cut, doubled, moved."""
    for _ in range(count):
        bad = bytearray(data)
        for _ in range(rng.integers(1, 5)):
            at, other = rng.integers(len(bad), size=2)
            match rng.integers(6):
                case 0:
                    bad[at] = rng.integers(256)
                case 1:
                    bad[at] ^= 1 << int(rng.integers(8))
                case 2:
                    del bad[at : at + rng.integers(1, 16)]
                case 3:
                    bad[at:at] = rng.bytes(rng.integers(1, 16))
                case 4:
                    bad[at : at + 8] = bad[other : other + 8]
                case 5:
                    bad[at] = ord(rng.choice(list('0123456789-,[]{}"')))
            if not bad:
                break
        yield bytes(bad)


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


def test_moments_cut_short_anywhere_are_refused(moments):
    content = moments.to_bytes()
    for length in range(len(content)):
        with pytest.raises(ValueError, match="a saved prinax Moments"):
            Moments.from_bytes(content[:length])


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


def test_no_mutation_of_moments_crashes(moments, rng):
    for bad in mutations(moments.to_bytes(), rng, 1500):
        try:
            found = Moments.from_bytes(bad)
        except ValueError:
            continue
        assert found.n_features == 4
        assert found.mean.shape == (4,)
        found.update(np.zeros((2, 4)))
