"""Files that are whole at every moment for whoever reads them, also while they are written anew."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a file that is not there yet, before the umask: what `open` asks for.
READ_AND_WRITE = 0o666


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to be written, which takes the place and the permissions of the one at `path` once it is whole.

    Where something fails, the file at `path` stays as it was. What is no plain file, or lies in a folder that
    takes no new one, is written in place.
    """
    target = os.path.realpath(os.fsdecode(path))  # not the link to it
    opened = _beside(target)
    if opened is None:
        with open(path, "wb") as file:
            yield file
        return
    descriptor, new = opened
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(new, target)
    except BaseException:
        os.unlink(new)
        raise


def _beside(target: str) -> tuple[int, str] | None:
    """An open new file in the folder of `target`, and its name; None where `target` is not to be replaced."""
    new = os.path.join(os.path.dirname(target), f".prinax-{os.urandom(8).hex()}")
    try:
        mode = os.stat(target).st_mode
    except OSError:
        mode = None
    if mode is not None and not (stat.S_ISREG(mode) and os.access(target, os.W_OK)):
        return None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(new, flags, READ_AND_WRITE)
    except OSError:
        return None
    if mode is not None:
        os.chmod(new, stat.S_IMODE(mode))
    return descriptor, new
