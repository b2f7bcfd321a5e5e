"""Arrays in an .npz file that carries our name, kind and version, read without pickle and without trust."""

from __future__ import annotations

import io
import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import __version__

if TYPE_CHECKING:
    from ._validation import Array

# The number before the point changes when an older reader would misread the file.
FORMAT_VERSION = "1.0"

# Of a zip file: the bytes before an entry's name, where among them the lengths of the name and of what
# follows it stand, and the first bytes of the directory behind the last entry.
LOCAL_HEADER = 30
LENGTHS_AT = 26
DIRECTORY = b"PK\x01\x02"

# No entry needs as long a header: shape and dtype of one array.
LONGEST_HEADER = 1024


def write(kind: str, arrays: dict[str, Array]) -> bytes:
    """The file; the same arrays give the same bytes."""
    file = io.BytesIO()
    labels = {"format": "prinax", "format_version": FORMAT_VERSION, "class": kind, "version": __version__}
    np.savez(file, **{name: np.array(text) for name, text in labels.items()}, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


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
    except Exception as error:  # what zipfile and NumPy raise on a damaged file has no common kind
        raise ValueError(f"it is damaged, cut short or no .npz file ({error})") from error
    labels = {name: str(arrays.pop(name, "")) for name in ("format", "format_version", "class", "version")}
    if labels["format"] != "prinax" or labels["class"] != kind:
        raise ValueError(f"it holds no prinax {kind}, but {labels['class'] or 'something else':.40}")
    if _major(labels["format_version"]) > _major(FORMAT_VERSION):
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


def _major(version: str) -> int:
    digits = version.partition(".")[0]
    return int(digits) if digits.isdigit() else 0
