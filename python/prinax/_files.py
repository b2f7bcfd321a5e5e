"""Files that are whole at every moment for whoever reads them, also while they are written anew."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
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
    mode = _mode(target)
    opened = _beside(target, mode)
    if opened is None:
        with open(path, "wb") as file:
            yield file
        return
    descriptor, new = opened
    try:
        with open(descriptor, "wb") as file:
            yield file
        if mode is not None:
            os.chmod(new, stat.S_IMODE(mode))  # with what the umask keeps from a new file
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise


def _mode(target: str) -> int | None:
    """Kind and permissions of the file; None where there is none."""
    try:
        return os.stat(target).st_mode
    except OSError:
        return None


def _beside(target: str, mode: int | None) -> tuple[int, str] | None:
    """An open new file in the folder of `target`, and its name; None where `target` is not to be replaced."""
    if mode is not None and not (stat.S_ISREG(mode) and os.access(target, os.W_OK)):
        return None
    new = os.path.join(os.path.dirname(target), f".prinax-{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(new, flags, READ_AND_WRITE if mode is None else stat.S_IMODE(mode)), new
    except OSError:
        return None
