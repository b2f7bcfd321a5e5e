"""Frozen transforms written over files that are there: whole at every moment, whatever fails."""

import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from prinax import FrozenTransform
from processes import run

SUFFIXES = [".safetensors", ".npz"]


@pytest.fixture
def frozen(rng):
    return FrozenTransform(rng.standard_normal((3, 5)), rng.standard_normal(5), rng.uniform(1, 2, 5))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_reader_beside_a_writer_finds_a_whole_file(tmp_path, suffix):
    path = tmp_path / ("model" + suffix)
    found = [FrozenTransform(np.full((200, 500), value), np.zeros(500)) for value in (1.0, 2.0)]
    found[0].save(path)
    done = threading.Event()

    def write():
        while not done.is_set():
            found[1].save(path)
            found[0].save(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):
            matrix = FrozenTransform.load(path).matrix
            assert matrix[0, 0] in (1.0, 2.0)
            assert (matrix == matrix[0, 0]).all()
    finally:
        done.set()
        writer.join()
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_save_that_fails_leaves_the_file_as_it_was(frozen, tmp_path, suffix, monkeypatch):
    path = tmp_path / ("model" + suffix)
    frozen.save(path)
    before = path.read_bytes()

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="the disk is full"):
        FrozenTransform(np.eye(2), np.zeros(2)).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links_stay_and_new_files_have_the_usual_ones(frozen, tmp_path):
    path, link = tmp_path / "model.npz", tmp_path / "link.npz"
    umask = os.umask(0o027)
    try:
        frozen.save(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    link.symlink_to(path)
    other = FrozenTransform(np.eye(2), np.zeros(2))
    other.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o604
    assert_array_equal(FrozenTransform.load(path).matrix, np.eye(2))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_plain_file_is_written_in_place(frozen, tmp_path):
    path = tmp_path / "pipe.safetensors"
    os.mkfifo(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    frozen.save(path)
    reader.join(20)
    assert found == [frozen.to_bytes()]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_nothing_can_be_written_the_error_names_the_path(frozen, tmp_path, suffix):
    path = tmp_path / "missing" / ("model" + suffix)
    with pytest.raises(FileNotFoundError) as refusal:
        frozen.save(path)
    assert refusal.value.filename == str(path) or refusal.value.filename == path


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux tells how much memory is taken")
@pytest.mark.parametrize("call", ["load", "save"])
@pytest.mark.parametrize("room", [33, 45, 60, 75])
def test_a_lack_of_memory_is_called_that(tmp_path, call, room):
    """`room` MiB are left, an array takes 30."""
    script = f"""
    import prinax._npz

    path = {str(tmp_path / "model.npz")!r}
    frozen = prinax.FrozenTransform(np.ones((2000, 2000)), np.zeros(2000))
    if "{call}" == "load":
        frozen.save(path)
    with open("/proc/self/status") as status:
        taken = next(int(line.split()[1]) for line in status if line.startswith("VmSize"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1024 * taken + {room} * 2**20, before[1]))
    try:
        frozen.save(path) if "{call}" == "save" else prinax._npz.read(
            open(path, "rb").read(), "FrozenTransform", ("matrix", "mean")
        )
    except MemoryError:
        pass
    resource.setrlimit(resource.RLIMIT_AS, before)
    print("done")
    """
    assert run(script, OPENBLAS_NUM_THREADS="1") == "done"
