"""A load test of the service on this machine: prinax and scikit-learn behind the same application.

    python examples/service/load.py

The embeddings are real: 400,000 GloVe word vectors of 50 numbers, projected to 10. One connection each, kept
open, requests in turn to one service and the other. It ends after REQUESTS requests each, or after SECONDS.
"""

import contextlib
import http.client
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import prinax
import sklearn.decomposition

HERE = Path(__file__).parent
K = 10
REQUESTS = 3000
WARM_UP = 50
SECONDS = 60.0


@contextlib.contextmanager
def running(model: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server of the model, in a process that ends with the block."""
    command = [sys.executable, str(HERE / "app.py"), str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip() if process.stdout else ""
            if not address.startswith("http://"):
                raise RuntimeError("the server did not start")
            connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)
            yield connection
            connection.close()
        finally:
            process.terminate()


def post(connection: http.client.HTTPConnection, body: bytes) -> tuple[int, dict, float]:
    """Status, answer, and the milliseconds the server spent on the projection itself."""
    connection.request("POST", "/project", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    took = float((response.getheader("Server-Timing") or "dur=nan").rpartition("dur=")[2])
    return response.status, json.loads(response.read()), took


def save_models(X: np.ndarray, folder: Path) -> tuple[dict[str, Path], np.ndarray]:
    """Both models of the rows of X, equal in every number, and where they lie; the scores of X."""
    ours = prinax.PCA(n_components=K).fit(X)
    frozen = ours.freeze()
    frozen.save(folder / "model.safetensors")
    theirs = sklearn.decomposition.PCA(n_components=K).fit(X[: 10 * X.shape[1]])
    theirs.components_, theirs.mean_ = ours.components_, ours.mean_.astype(X.dtype)
    (folder / "model.joblib").write_bytes(pickle.dumps(theirs))
    paths = {"prinax": folder / "model.safetensors", "scikit-learn": folder / "model.joblib"}
    return paths, frozen(np.ascontiguousarray(X))


def run(X: np.ndarray, requests: int = REQUESTS) -> dict[str, np.ndarray]:
    """Milliseconds of every round trip and its projection, (requests, 2) a service; answers are checked."""
    times: dict[str, list[tuple[float, float]]] = {}
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        paths, scores = save_models(X, Path(folder))
        services = {name: stack.enter_context(running(path)) for name, path in paths.items()}
        end = time.monotonic() + SECONDS
        for number in range(WARM_UP + requests):
            i = rng.integers(len(X))
            body = json.dumps({"embedding": X[i].tolist()}).encode()
            for name, connection in services.items():
                start = time.perf_counter()
                status, answer, projection = post(connection, body)
                round_trip = 1e3 * (time.perf_counter() - start)
                near = 1e-4 * np.abs(scores[i]).max()
                if status != 200 or np.abs(np.array(answer["scores"]) - scores[i]).max() > near:
                    raise RuntimeError(f"{name} answered {status}: {answer}")
                if number >= WARM_UP:
                    times.setdefault(name, []).append((round_trip, projection))
            if time.monotonic() > end:
                break
    return {name: np.array(values) for name, values in times.items()}


def table(times: dict[str, np.ndarray]) -> None:
    print(f"{'':<14} {'round trip':^19}   {'projection alone':^19}")
    print(f"{'':<14} {'p50':>9} {'p99':>9}   {'p50':>9} {'p99':>9}")
    for name, values in times.items():
        (p50, p99), (alone50, alone99) = np.percentile(values, [50, 99], axis=0).T
        print(f"{name:<14} {p50:>6.3f} ms {p99:>6.3f} ms   {1e3 * alone50:>6.1f} us {1e3 * alone99:>6.1f} us")


def main() -> int:
    sys.path.append(str(HERE.parent))
    import data

    try:
        path = data.word_vectors()
    except data.DataNotInstalledError as missing:
        print(missing, file=sys.stderr)
        return 1
    X = np.load(path, mmap_mode="r")
    print(f"{X.shape[0]:,} word vectors of {X.shape[1]} numbers, projected to {K}; one a request")
    times = run(X)
    print(f"{len(times['prinax']):,} requests to each, in turn, on one connection each; every answer checked")
    table(times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
