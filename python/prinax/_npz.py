"""Arrays in an .npz file that carries our name, kind and version, read without pickle and without trust."""

from __future__ import annotations

import io
import math
import struct
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ._core import __version__

if TYPE_CHECKING:
    from ._validation import Array

# The number before the point changes when an older reader would misread the file.
FORMAT_VERSION = "1.0"
LAYOUT = 1

# Beside the arrays.
LABELS = ("format", "format_version", "class", "version")

# A longer number names no layout; those of thousands of digits Python does not even read.
MOST_DIGITS = 18

# Of a zip file: the bytes before an entry's name, where among them the lengths of the name and of what
# follows it stand, and the first bytes of the directory behind the last entry.
LOCAL_HEADER = 30
LENGTHS_AT = 26
DIRECTORY = b"PK\x01\x02"

# No entry needs as long a header: shape and dtype of one array.
LONGEST_HEADER = 1024


def write(file: BinaryIO, kind: str, arrays: dict[str, Array]) -> None:
    """Writes the file, piece by piece; the same arrays give the same bytes."""
    labels = {"format": "prinax", "format_version": FORMAT_VERSION, "class": kind, "version": __version__}
    np.savez(file, **{name: np.array(text) for name, text in labels.items()}, **arrays)  # type: ignore[arg-type]


def read(content: bytes, kind: str, names: tuple[str, ...]) -> dict[str, Array]:
    """The arrays of a file of this kind, in this layout only those of these `names`.

    Anything else is refused with a ValueError.
    """
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _all_listed(content, entries)
            arrays: dict[str, Array] = {}
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if name in arrays:
                    raise ValueError(f"it has two arrays named {name!r:.40}")
                arrays[name] = _entry(archive, entry)
    except MemoryError:
        raise  # says nothing about the file
    except Exception as error:  # what zipfile and NumPy raise on a damaged file has no common kind
        raise ValueError(f"it is damaged, cut short or no .npz file ({error})") from error
    labels = {name: _text(name, arrays.pop(name, None)) for name in LABELS}
    if labels["format"] != "prinax" or labels["class"] != kind:
        raise ValueError(f"it holds no prinax {kind}, but {labels['class'] or 'something else':.40}")
    layout = _major(labels["format_version"])
    if layout is None or layout < LAYOUT:
        raise ValueError(f"it has a layout named {labels['format_version']!r:.40}, which no such file has")
    if layout > LAYOUT:
        raise ValueError(
            f"its layout {labels['format_version']:.40}, written by prinax {labels['version']:.40}, is newer "
            f"than the {FORMAT_VERSION} of prinax {__version__}: upgrade prinax"
        )
    # A damaged name must not pass for an array that was never there; a newer layout may have added some.
    unknown = sorted(arrays.keys() - set(names))
    if unknown and labels["format_version"] == FORMAT_VERSION:
        raise ValueError(f"it has an array named {unknown[0]!r:.40}, which no such file has")
    return arrays


def _all_listed(content: bytes, entries: Any) -> None:
    """Refuses a file whose directory leaves out some of the entries that lie before it in a row."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset != end:
            break
        name, extra = struct.unpack_from("<2H", content, end + LENGTHS_AT)
        end += LOCAL_HEADER + name + extra + entry.compress_size
    if content[end : end + len(DIRECTORY)] != DIRECTORY:
        raise ValueError("its directory does not list all that it holds")


def _entry(archive, entry) -> Array:  # type: ignore[no-untyped-def]
    """One array, after a look at whether the bytes that are there can hold what its header claims."""
    if entry.compress_type != 0 or entry.file_size != entry.compress_size:
        raise ValueError(f"{entry.filename} is compressed, which no file of ours is")
    data = io.BytesIO(archive.read(entry))
    version = np.lib.format.read_magic(data)
    read_header = (
        np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    )
    shape, fortran, dtype = read_header(data, max_header_size=LONGEST_HEADER)
    left = entry.file_size - data.tell()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"{entry.filename} claims shape {shape} of {dtype}, but {left} bytes are there")
    values = np.frombuffer(data.read(), dtype) if left else np.empty(0, dtype)
    return values.reshape(shape, order="F" if fortran else "C")


def _text(name: str, label: Array | None) -> str:
    """The text of a label, "" without one. NumPy does not look at whether there are such characters."""
    if label is None:
        return ""
    if label.dtype.kind != "U" or label.size != 1:
        raise ValueError(f"its {name} is no text")
    try:
        text = label.tobytes().decode("utf-32-be" if label.dtype.str.startswith(">") else "utf-32-le")
    except UnicodeDecodeError as error:
        raise ValueError(f"its {name} is no text: {error.reason}") from error
    return text.rstrip("\0")


def _major(version: str) -> int | None:
    """The number before the point."""
    digits = version.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS else None
