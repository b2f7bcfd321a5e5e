"""Frozen transforms in files and bytes: what comes back, and what is refused with a sentence."""

import io
import json
import os
import pickle
import struct
import warnings
import zipfile

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal
from prinax import FrozenTransform
from saved import SUFFIXES, change, joined, parts_of


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def frozen(request, rng):
    return FrozenTransform(
        rng.standard_normal((3, 5)).astype(request.param), rng.standard_normal(5), rng.uniform(1, 2, 5)
    )


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


def test_a_newer_minor_layout_and_what_it_adds_are_read(frozen):
    header, arrays = parts_of(frozen.to_bytes())
    header["__metadata__"]["format_version"] = "1.7"
    header["extra"] = {"dtype": "U8", "shape": [2], "data_offsets": [len(arrays), len(arrays) + 2]}
    found = FrozenTransform.from_bytes(joined(header, arrays + b"\1\2"))
    assert_array_equal(found.matrix, frozen.matrix)


# --- what is refused ----------------------------------------------------------------------------------------


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
