"""The example service: started as a user starts it, asked on this machine, true to the transform's bits."""

import http.client
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import prinax
import pytest
from numpy.testing import assert_array_equal

SERVICE = Path(__file__).parents[1] / "examples" / "service"

pytestmark = pytest.mark.skipif(
    not all(map(find_spec, ("starlette", "uvicorn"))), reason="requirements/service.txt is not installed"
)


@pytest.fixture(scope="module", params=[(np.float32, ".safetensors"), (np.float64, ".npz")], ids=str)
def served(request, tmp_path_factory):
    """A frozen transform, rows for it, and a connection to the service of its file."""
    dtype, suffix = request.param
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((500, 50)) + 100).astype(dtype)
    frozen = prinax.PCA(n_components=7, whiten=True).fit(X).freeze()
    path = tmp_path_factory.mktemp("model") / ("model" + suffix)
    frozen.save(path)
    command = [sys.executable, str(SERVICE / "app.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip().removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=20)
        yield frozen, X, connection
        connection.close()
        process.terminate()


def ask(connection, body, method="POST", path="/project"):
    connection.request(method, path, body)
    response = connection.getresponse()
    return response.status, response.read(), response


def test_scores_are_those_of_the_transform_bit_for_bit(served):
    frozen, X, connection = served
    for x in X[:20]:
        status, answer, response = ask(connection, json.dumps({"embedding": x.tolist()}))
        assert status == 200
        assert_array_equal(np.array(json.loads(answer)["scores"], X.dtype), frozen(x))
        assert float(response.getheader("Server-Timing").removeprefix("project;dur=")) >= 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", "numbers"),
        ("[1, 2]", "numbers"),
        ('{"embedding": "text"}', "numbers"),
        ('{"embedding": {"a": 1}}', "numbers"),
        ('{"embedding": null}', "shape ()"),
        ('{"embedding": [1, 2]}', "shape (2,), the model wants (50,)"),
        (json.dumps({"embedding": [[0.0] * 50]}), "shape (1, 50)"),
        ('{"embedding": [' + "NaN, " * 49 + "1]}", "finite"),
        ('{"embedding": [' + "1e400, " * 49 + "1]}", "finite"),
        ("[" * 100_000, "numbers"),
        (b"\xff\xfe\x00", "numbers"),
    ],
)
def test_a_wrong_request_is_answered_with_a_sentence(served, body, sentence):
    _, X, connection = served
    status, answer, _ = ask(connection, body)
    assert status == 400
    assert sentence in json.loads(answer)["error"]
    assert ask(connection, json.dumps({"embedding": X[0].tolist()}))[0] == 200


def test_other_addresses_are_not_served(served):
    _, _, connection = served
    assert ask(connection, None, "GET")[0] == 405
    assert ask(connection, "{}", path="/")[0] == 404


def test_a_damaged_file_is_not_served(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\0" * 100)
    command = [sys.executable, str(SERVICE / "app.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot be loaded" in done.stderr.splitlines()[-1]


def test_the_load_test_checks_and_times_every_answer(monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(SERVICE))
    import load

    X = (np.random.default_rng(0).standard_normal((600, 50)) + 5).astype(np.float32)
    times = load.run(X, requests=20)
    assert set(times) == {"prinax", "scikit-learn"}
    for values in times.values():
        assert values.shape == (20, 2)
        assert (values[:, 0] >= values[:, 1]).all()
        assert (values > 0).all()
    load.table(times)
    assert "p99" in capsys.readouterr().out
