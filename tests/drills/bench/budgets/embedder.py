"""Throughput of the embedder alone, and compared with sentence-transformers with the same weights."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from kebab.identity.models import Workspace
from search.embedders.base import Embedder
from search.embedders.bert.model import ENGLISH_MODEL
from search.embedders.bert.wheel import ENGLISH_WHEEL
from search.embedders.configured import configured_embedder, embedded_text
from search.models import Chunk
from search.retrieval.errors import EmbedderUnavailable
from tests.drills.bench.budgets.figures import Figure, missing_figure

_TEXTS = 1_024
_LIMIT_S = 30.0
# Texts of a turn of either embedder; sentence-transformers sorts the texts of a turn by length.
_TURN = 256
# The embedding job's batch size.
_BATCH = 64
_TIMES_TORCH = 2.0
_NAME = "embedder, times sentence-transformers on torch"

Embed = Callable[[Sequence[str]], object]


def embedder_figures(workspace: Workspace) -> list[Figure]:
    """Measure the embedding of a sample of the workspace's chunks, without storing it.

    Raises EmbedderUnavailable.
    """
    embedder = configured_embedder()
    if embedder is None:
        raise EmbedderUnavailable("KEBAB_EMBEDDER is none.")
    rows = Chunk.objects.in_workspace(workspace).order_by("chunk_id").values_list("breadcrumb", "text")
    texts = [embedded_text(breadcrumb, text) for breadcrumb, text in rows[:_TEXTS]]
    own = _in_batches(embedder)
    torch, why = _sentence_transformers(embedder)
    if torch is None:
        (alone,) = in_turns([own], texts)
        return [_alone(alone), missing_figure(_NAME, why, unit="times")]
    alone, peer = in_turns([own, torch], texts)
    return [
        _alone(alone),
        Figure(
            name=_NAME,
            value=alone / peer,
            unit="times",
            at_least=_TIMES_TORCH,
            note=f"{peer:,.0f} chunks/s there",
        ),
    ]


def in_turns(embed: Sequence[Embed], texts: Sequence[str], *, limit_s: float = _LIMIT_S) -> list[float]:
    """Return the texts per second of each of `embed`, which take turns for at most `limit_s`."""
    for each in embed:
        each(texts[:1])  # loads the model
    spent, done, began = [0.0] * len(embed), 0, time.perf_counter()
    for start in range(0, len(texts), _TURN):
        turn = texts[start : start + _TURN]
        for number, each in enumerate(embed):
            started = time.perf_counter()
            each(turn)
            spent[number] += time.perf_counter() - started
        done += len(turn)
        if time.perf_counter() - began > limit_s:
            break
    return [done / seconds for seconds in spent]


def _alone(rate: float) -> Figure:
    return Figure(name="embedder alone", value=rate, unit="chunks/s", note="the same text")


def _in_batches(embedder: Embedder) -> Embed:
    def embed(texts: Sequence[str]) -> None:
        for batch in _batches(texts):
            embedder.embed_passages(batch)

    return embed


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))


def _sentence_transformers(embedder: Embedder) -> tuple[Embed | None, str]:
    """Return sentence-transformers with the weights of the default model, or the reason for its absence."""
    if embedder.space.model != ENGLISH_MODEL:
        return None, f"the embedder is {embedder.space.model}, not {ENGLISH_MODEL}"
    if find_spec("sentence_transformers") is None:
        return None, "sentence-transformers is not installed (deploy/requirements-peers.txt)"
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    model = SentenceTransformer(str(ENGLISH_WHEEL.locate()), device="cpu")

    def embed(texts: Sequence[str]) -> np.ndarray:
        found: np.ndarray = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return found

    return embed, ""
