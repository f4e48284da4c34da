"""onnxruntime sessions that run a graph on one sequence at a time."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnxruntime import ExecutionMode, InferenceSession, SessionOptions
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    RuntimeException,
)

from search.retrieval.errors import EmbedderUnavailable

#: Returns the vector of a graph's input, (384,) float32 of length 1; safe for threads.
EmbedOne = Callable[[np.ndarray], np.ndarray]
# onnxruntime's exceptions have no common base class.
_LOAD_ERRORS = (Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, NoSuchFile, RuntimeException)
_ERRORS_ONLY = 3
# The fused operator takes 0.28 ms where Add and LayerNormalization take 0.06 (150 tokens): int8 is 1.25 times
# as fast without the fusion.
_SLOW_FUSIONS = ("SkipLayerNormFusion",)


def open_session(graph: Path, options: SessionOptions | None = None) -> EmbedOne:
    """Return the function that a graph computes.

    Raises: EmbedderUnavailable when a file is missing or is no valid graph.
    """
    try:
        session = InferenceSession(
            graph,
            options or session_options(),
            providers=["CPUExecutionProvider"],
            disabled_optimizers=list(_SLOW_FUSIONS),
        )
    except _LOAD_ERRORS as error:
        raise EmbedderUnavailable(
            f"{graph} can't be loaded ({error}); delete its folder, it is made anew."
        ) from error
    name = session.get_inputs()[0].name

    def embed_one(tokens: np.ndarray) -> np.ndarray:
        embedded: np.ndarray = session.run(None, {name: tokens})[0][0]
        return embedded

    return embed_one


def pack_graph(graph: Path, packed: Path) -> None:
    """Write a graph to `packed` as it is run, and its weights to a file beside it that processes map.

    Products read weights in an order of the processor's; one with another order arranges them in memory of
    each process, as all did with graphs of one file (37 MB).
    """
    options = session_options()
    options.optimized_model_filepath = str(packed)
    weights = f"{packed.stem}.weights"
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
    options.add_session_config_entry("session.save_external_prepacked_constant_initializers", "1")
    open_session(graph, options)


def session_options() -> SessionOptions:
    """Return options: one thread without spinning, and the arena, with which 256 tokens on two threads take
    125 MB instead of 176.
    """
    options = SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = True
    options.log_severity_level = _ERRORS_ONLY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
