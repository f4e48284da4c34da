"""A parser of responses of `/v1/embeddings`: `{"data": [{"index": 0, "embedding": …}, …]}`.

The format is that of OpenAI's API reference, which Ollama, vLLM, TEI, llama.cpp and hosted services follow. A
vector is a list of numbers or the base64 of little-endian float32.
"""

import base64
import binascii
from typing import Any

import numpy as np

# A vector whose length differs from 1 by more than this was not normalised: float16 rounding is about 1e-3.
_TOLERANCE = 5e-3


class BadAnswer(Exception):
    """The response is invalid; the message completes a sentence about the embedder."""


class WrongDimension(BadAnswer):
    """The vectors have another number of components than configured."""


def parse_vectors(answer: Any, *, count: int, dim: int) -> tuple[np.ndarray, bool]:
    """Return the vectors, (count, dim) float32 of length 1, by text, and whether they were normalised.

    Raises BadAnswer unless each of `count` texts has a vector of `dim` finite numbers that are not all zero.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise BadAnswer("answered without a list of vectors")
    if len(items) != count:
        raise BadAnswer(f"gave {len(items)} vectors for {count} texts")
    by_index = dict(map(_parse_item, items))
    if by_index.keys() != set(range(count)):
        raise BadAnswer("did not give each index once")
    found = np.stack([_parse_vector(by_index[index], dim) for index in range(count)])
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise BadAnswer("gave a vector that is not finite, or nought")
    is_normalised = bool((np.abs(lengths - 1) <= _TOLERANCE).all())
    return (found / lengths).astype(np.float32), is_normalised


def _parse_item(item: Any) -> tuple[int, Any]:
    index = item.get("index") if isinstance(item, dict) else None
    if not isinstance(index, int) or isinstance(index, bool):
        raise BadAnswer("gave a vector without an index")
    return index, item.get("embedding")


def _parse_vector(value: Any, dim: int) -> np.ndarray:
    vector = _from_base64(value) if isinstance(value, str) else _from_list(value)
    if vector.shape != (dim,):
        raise WrongDimension(
            f"gives vectors of {vector.size} components, not {dim}; say which with ?dim={vector.size}"
        )
    return vector


def _from_base64(value: str) -> np.ndarray:
    try:
        content = base64.b64decode(value, validate=True)
        return np.frombuffer(content, "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        raise BadAnswer("gave a vector that is not base64 of numbers") from error


def _from_list(value: Any) -> np.ndarray:
    if not isinstance(value, list) or not all(type(number) in {int, float} for number in value):
        raise BadAnswer("gave a vector that is not a list of numbers")
    try:
        return np.array(value, np.float64)
    except OverflowError as error:
        raise BadAnswer("gave a vector that is not finite, or nought") from error
