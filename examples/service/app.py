"""A service that projects one embedding a request, from a file that `FrozenTransform.save` wrote.

    python examples/service/app.py MODEL [PORT]

POST /project with JSON, {"embedding": [...]}, is answered by {"scores": [...]}. The header Server-Timing says
how long the projection itself took. MODEL ends in .safetensors or .npz; a .joblib file is a fitted PCA of
scikit-learn, served alike for comparison. Only this machine is listened to. Prints its address when ready;
without a port the system chooses one.
"""

import json
import socket
import sys
import time
from collections.abc import Callable

import numpy as np
import uvicorn
from prinax import FrozenTransform
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

HOST = "127.0.0.1"


class WrongEmbeddingError(ValueError):
    """What was posted is no embedding of this model; the message says why."""


def embedding(body: bytes, length: int, dtype: np.dtype) -> np.ndarray:
    """The numbers that were posted, checked."""
    try:
        values = np.array(json.loads(body)["embedding"], dtype)
    except (TypeError, KeyError, ValueError, RecursionError):
        raise WrongEmbeddingError('post {"embedding": [numbers]}') from None
    if values.shape != (length,):
        raise WrongEmbeddingError(f"the embedding has shape {values.shape}, the model wants ({length},)")
    if not np.isfinite(values).all():
        raise WrongEmbeddingError("the embedding must be finite")
    return values


def service(project: Callable[[np.ndarray], np.ndarray], length: int, dtype: np.dtype) -> Starlette:
    """The application around one function from an embedding to its scores."""

    async def answer(request: Request) -> Response:
        try:
            x = embedding(await request.body(), length, dtype)
        except WrongEmbeddingError as error:
            return JSONResponse({"error": str(error)}, 400)
        start = time.perf_counter_ns()
        scores = project(x)
        took = time.perf_counter_ns() - start
        timing = {"Server-Timing": f"project;dur={took / 1e6}"}  # milliseconds, as the header wants
        return JSONResponse({"scores": scores.tolist()}, headers=timing)

    return Starlette(routes=[Route("/project", answer, methods=["POST"])])


def load(path: str) -> Starlette:
    """The service of a saved model."""
    if path.endswith(".joblib"):
        import joblib

        model = joblib.load(path)
        return service(lambda x: model.transform(x[None])[0], model.n_features_in_, model.components_.dtype)
    frozen = FrozenTransform.load(path)
    return service(frozen, frozen.n_features, frozen.dtype)


def main(path: str, port: int = 0) -> None:
    application = load(path)
    with socket.create_server((HOST, port)) as listener:
        # Connections inherit it: an answer of two packets would else wait 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(f"http://{HOST}:{listener.getsockname()[1]}", flush=True)
        settings = uvicorn.Config(application, log_level="warning", lifespan="off")
        uvicorn.Server(settings).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
