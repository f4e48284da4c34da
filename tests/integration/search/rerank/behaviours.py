"""Behaviours of reranker stubs: correct scores in each shape, and every failure."""

import json
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

from tests.support.http_stub import Behaviour, Exchange

Score = Callable[[str], float]


def tei(score: Score) -> Behaviour:
    """Respond as TEI does: best first, raw scores."""
    return lambda exchange: exchange.reply(_json(_best_first(exchange, score, "score")))


def results(score: Score) -> Behaviour:
    """Respond as Jina, Cohere and SiliconFlow do."""

    def behave(exchange: Exchange) -> None:
        found = _best_first(exchange, score, "relevance_score")
        exchange.reply(_json({"id": "1", "results": found, "tokens": {"input_tokens": 1}}))

    return behave


def items(make: Callable[[int], list[Any]]) -> Behaviour:
    """Respond with TEI's list as `make` returns it for the number of passages."""
    return lambda exchange: exchange.reply(_json(make(len(exchange.passages))))


def raw(body: bytes, **how: Any) -> Behaviour:
    """Respond with these bytes."""
    return lambda exchange: exchange.reply(body, **how)


def hang(exchange: Exchange) -> None:
    """Send nothing until the test is over."""
    exchange.server.released.wait()


def die_before_the_answer(exchange: Exchange) -> None:
    """Hang up."""
    exchange.close_connection = True


def die_mid_body(exchange: Exchange) -> None:
    """Hang up in the middle of a valid response."""
    exchange.begin(1_000)
    exchange.wfile.write(b'[{"index": 0, "score": 3.5}, {"ind')
    exchange.close_connection = True


def drip_headers(exchange: Exchange) -> None:
    """Send a header that never ends, byte by byte."""
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    exchange.drip(repeat(b"a"))


def drip_body(exchange: Exchange) -> None:
    """Send white space, which may begin JSON, byte by byte and without end."""
    exchange.begin(900_000)
    exchange.drip(repeat(b" "))


def flood(exchange: Exchange) -> None:
    """Send more than any client accepts."""
    exchange.begin(50_000_000)
    for piece in repeat(b" " * 65_536, 700):
        exchange.wfile.write(piece)


def redirect_to(url: str) -> Behaviour:
    """Redirect the client."""
    return lambda exchange: exchange.reply(b"", status=307, Location=url)


def one_score(value: str) -> Behaviour:
    """Respond correctly except for the first passage's score, written as `value`."""

    def behave(exchange: Exchange) -> None:
        scores = chain([value], repeat("0.5"))
        listed = [
            f'{{"index": {index}, "score": {score}}}'
            for index, score in zip(range(len(exchange.passages)), scores, strict=False)
        ]
        exchange.reply(f"[{', '.join(listed)}]".encode())

    return behave


def valid_item(index: int) -> dict[str, Any]:
    """Return a valid item."""
    return {"index": index, "score": float(-index)}


#: Each makes the fused order stand.
FAILURES: dict[str, Behaviour] = {
    "hangs": hang,
    "drips headers": drip_headers,
    "drips its body": drip_body,
    "dies before the answer": die_before_the_answer,
    "dies mid-body": die_mid_body,
    "floods": flood,
    "500": raw(b'{"error": "boom"}', status=500),
    "429": raw(b"{}", status=429),
    "404": raw(b"{}", status=404),
    "204": raw(b"", status=204),
    "redirect": redirect_to("http://127.0.0.1:9/rerank"),
    "garbage": raw(b"\xff\xfe<html>"),
    "empty": raw(b""),
    "another document": raw(b'{"data": []}'),
    "a number": raw(b"3"),
    "deep": raw(b"[" * 100_000),
    "too few": items(lambda n: [valid_item(index) for index in range(n - 1)]),
    "too many": items(lambda n: [valid_item(index) for index in range(n + 1)]),
    "an index twice": items(lambda n: [valid_item(min(index, n - 2)) for index in range(n)]),
    "an index that is none": items(lambda n: [valid_item(index + 1) for index in range(n)]),
    "a negative index": items(lambda n: [valid_item(index - 1) for index in range(n)]),
    "items that are numbers": items(lambda n: list(range(n))),
    "no score": items(lambda n: [{"index": index} for index in range(n)]),
    "a score of text": one_score('"high"'),
    "a score that is true": one_score("true"),
    "null": one_score("null"),
    "NaN": one_score("NaN"),
    "Infinity": one_score("-Infinity"),
    "a score too large": one_score("1" + "0" * 400),
}


def _best_first(exchange: Exchange, score: Score, key: str) -> list[dict[str, Any]]:
    scored = [{"index": index, key: score(text)} for index, text in enumerate(exchange.passages)]
    return sorted(scored, key=lambda item: -item[key])


def _json(document: Any) -> bytes:
    return json.dumps(document).encode()
