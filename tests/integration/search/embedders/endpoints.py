"""Behaviours of `/v1/embeddings` endpoints, correct and failing."""

import base64
import json
import math
import struct
from collections.abc import Callable
from typing import Any

from search.embedders.hash_embedder import HashEmbedder
from tests.support.http_stub import Behaviour, Exchange

DIM = 8

Vector = list[float]


def vector_of(text: str, dim: int = DIM) -> Vector:
    """Return the stub's vector for `text`, of length 1."""
    return [float(number) for number in HashEmbedder(dim).embed_query(text)]


def answer_well(exchange: Exchange) -> None:
    """Respond with each text's vector as a list of numbers, the last first."""
    answer(exchange, [vector_of(text) for text in exchange.sent["input"]])


def answer_in_base64(exchange: Exchange) -> None:
    """Respond with each vector as the base64 of little-endian float32."""
    answer(exchange, [as_base64(vector_of(text)) for text in exchange.sent["input"]])


def answer_unscaled(exchange: Exchange) -> None:
    """Respond with vectors of length seven."""
    answer(exchange, [[7 * number for number in vector_of(text)] for text in exchange.sent["input"]])


def as_base64(vector: Vector) -> str:
    """Return the vector as OpenAI encodes it."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def answer(exchange: Exchange, vectors: list[Any]) -> None:
    """Answer these vectors, the last first, each with its index."""
    items = [
        {"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)
    ]
    body = {"object": "list", "model": "m", "data": items[::-1], "usage": {"total_tokens": 1}}
    exchange.reply(json.dumps(body).encode())


def after_a_good_start(then: Behaviour) -> Behaviour:
    """Answer the first request, which is a check, and then behave as `then`."""

    def behave(exchange: Exchange) -> None:
        (answer_well if len(exchange.server.requests) == 1 else then)(exchange)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Use one behaviour after the other; the last one stays."""

    def behave(exchange: Exchange) -> None:
        turn = min(len(exchange.server.requests), len(behaviours))
        behaviours[turn - 1](exchange)

    return behave


def refusing(is_refused: Callable[[str], bool], status: int = 400) -> Behaviour:
    """Refuse requests that contain such a text."""

    def behave(exchange: Exchange) -> None:
        if any(map(is_refused, exchange.sent["input"])):
            exchange.reply(b'{"error": {"message": "input is too long"}}', status=status)
        else:
            answer_well(exchange)

    return behave


def document(make: Callable[[int], Any]) -> Behaviour:
    """Respond with the JSON that `make` returns for the number of texts."""
    return lambda exchange: exchange.reply(json.dumps(make(len(exchange.sent["input"]))).encode())


def items(make: Callable[[int], Any]) -> Behaviour:
    """Respond with a list of what `make` returns for each index."""
    return document(lambda n: {"data": [make(index) for index in range(n)]})


def item(index: int, embedding: Any = None) -> dict[str, Any]:
    """Return a valid item, with another vector if one is given."""
    return {"index": index, "embedding": vector_of("x") if embedding is None else embedding}


#: Each is no answer to what was asked.
GARBAGE: dict[str, Behaviour] = {
    "another document": document(lambda n: {"embeddings": []}),
    "a list": document(lambda n: []),
    "too few": document(lambda n: {"data": [item(index) for index in range(n - 1)]}),
    "too many": document(lambda n: {"data": [item(index) for index in range(n + 1)]}),
    "an index that is none": items(lambda index: item(index + 1)),
    "no index": items(lambda index: {"embedding": vector_of("x")}),
    "a true index": items(lambda index: {"index": True, "embedding": vector_of("x")}),
    "no vector": items(lambda index: {"index": index}),
    "items that are numbers": items(lambda index: index),
    "text in a vector": items(lambda index: item(index, ["1"] * DIM)),
    "true in a vector": items(lambda index: item(index, [True] * DIM)),
    "null in a vector": items(lambda index: item(index, [None] * DIM)),
    "nested": items(lambda index: item(index, [[1.0]] * DIM)),
    "NaN": items(lambda index: item(index, [math.nan] * DIM)),
    "Infinity": items(lambda index: item(index, [math.inf] * DIM)),
    "a number too large": items(lambda index: item(index, [10**400] * DIM)),
    "nought": items(lambda index: item(index, [0.0] * DIM)),
    "no base64": items(lambda index: item(index, "?!" * DIM)),
    "half a number in base64": items(lambda index: item(index, base64.b64encode(b"12345").decode())),
    "base64 that is NaN": items(lambda index: item(index, as_base64([math.nan] * DIM))),
    "JSON that breaks off": lambda exchange: exchange.reply(b'{"data": [{"index": 0, "embedding": [0.1, 0.'),
    "no JSON": lambda exchange: exchange.reply(b"\xff\xfe<html>"),
    "empty": lambda exchange: exchange.reply(b""),
    "deep": lambda exchange: exchange.reply(b"[" * 100_000),
}
