"""txtai's own server over an index with precomputed query vectors: `python -m … FOLDER PORT`.

It runs without Django, in a process of its own.
"""

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

_QUERIES = "queries.json"
_VECTORS = "queries.npy"
_APPLICATION = "app.yml"
_INDEX = "index"


def write_configuration(folder: Path, queries: Mapping[str, np.ndarray]) -> None:
    """Write the server's configuration and the queries' vectors to `folder`, which has the saved index."""
    (folder / _QUERIES).write_text(json.dumps(list(queries)))
    np.save(folder / _VECTORS, np.stack(list(queries.values())))
    (folder / _APPLICATION).write_text(f"path: {folder / _INDEX}\nwritable: false\nembeddings:\n")
    saved = folder / _INDEX / "config.json"
    configuration = {**json.loads(saved.read_text()), "transform": f"{__name__}.look_up"}
    saved.write_text(json.dumps(configuration))


def look_up(texts: list[str]) -> np.ndarray:
    """Return the vectors of queries, (n, dim) float32, from the folder that this process serves."""
    known = _query_vectors(Path(sys.argv[1]))
    return np.stack([known[text] for text in texts])


@cache
def _query_vectors(folder: Path) -> dict[str, np.ndarray]:
    queries = json.loads((folder / _QUERIES).read_text())
    return dict(zip(queries, np.load(folder / _VECTORS), strict=True))


def _serve(folder: Path, port: int) -> None:
    # txtai reads its configuration's path, and the permission to name functions there, from the environment.
    os.environ |= {"CONFIG": str(folder / _APPLICATION), "ALLOW_RESOLVE_TRANSFORM": "True"}
    import uvicorn

    uvicorn.run("txtai.api:app", host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
