"""Hostile requests: hostile text in `q`, in channels, filters and everything else a search takes."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.hostile.text import MAKERS

MODES = ("lexical", "vector", "hybrid")

# What is too long for a line of HTTP is sent as a body.
_MAX_ADDRESS = 8_000
# Megabytes take long to make and to send: one in fifty.
_RARE = {
    "paste": 0.02,
    "many_terms": 0.04,
    "long_token": 0.04,
    "raw_many": 0.04,
    "raw_nested": 0.04,
    "mixture": 0.04,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request below a workspace."""

    #: What is hostile about it.
    kind: str
    mode: str
    method: str
    #: With its parameters.
    path: str
    body: bytes | None = None


def attempts(n: int, seed: int, words: Sequence[str]) -> Iterator[Attempt]:
    """Give `n` requests, the same for the same seed; `words` occur in the corpus."""
    for number in range(n):
        # Each has a seed of its own, so that one that fails can be made again by itself.
        yield _attempt(random.Random(f"{seed}-{number}"), words, MODES[number % len(MODES)])


def _attempt(source: random.Random, words: Sequence[str], mode: str) -> Attempt:
    kind = _kind(source)
    text = MAKERS[kind](source, words)
    fields = {"q": text, "mode": mode, **_options(source)}
    dice = source.random()
    if dice < 0.6:
        return _post(kind, mode, "/search", fields)
    if dice < 0.8:
        return _get(source, kind, mode, fields)
    if dice < 0.85:
        return _post(
            f"channels:{kind}", mode, "/search", {"q": "a", "mode": mode, "channels": _channels(source, text)}
        )
    if dice < 0.97:
        return _post(
            "filters",
            mode,
            "/search",
            {**fields, "q": source.choice(words), "filters": _filters(source, words)},
        )
    if dice < 0.99:
        return _post("wrong types", mode, "/search", {"q": text[:100], "mode": mode, **_wrong(source)})
    queries = [{"q": MAKERS[_kind(source)](source, words)[:5_000], "mode": mode} for _ in range(5)]
    return _post("bulk", mode, "/search/bulk", {"queries": queries})


def _kind(source: random.Random) -> str:
    return source.choices(list(MAKERS), [_RARE.get(kind, 0.1) for kind in MAKERS])[0]


def _options(source: random.Random) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if source.random() < 0.3:
        given["k"] = source.choice([0, 1, 10, 100, 1_000, 10**9, -1])
    if source.random() < 0.1:
        given["snippet_chars"] = source.choice([1, 3, 5_000, 10_000, 0])
    for name in ("explain", "rerank", "cutoff"):
        if source.random() < 0.1:
            given[name] = True
    if source.random() < 0.1:
        given["per_file_cap"] = source.choice([-1, 0, 1, 10**12])
    if source.random() < 0.05:
        given["why_not"] = source.choice(["0" * 32, "f" * 32, "", "x" * 10_000])
    return given


def _channels(source: random.Random, text: str) -> dict[str, str]:
    return {name: text for name in ("vector", "lexical", "rerank") if source.random() < 0.6}


def _filters(source: random.Random, words: Sequence[str]) -> dict[str, Any]:
    odd = MAKERS[_kind(source)](source, words)[:2_000]
    glob = source.choice(
        [
            odd,
            "**/" * 40 + "*",
            "*" * 500,
            "[" * 50,
            "[!" + "a-" * 40 + "]*",
            "**/*a*b*c*d*e*f*g*",
            "/",
            "a/../b",
            "?" * 300,
        ]
    )
    every = {
        "path_glob": [glob] * source.choice([1, 1, 50, 101]),
        "tags_any": [odd] * source.choice([1, 100]),
        "lang": odd,
        "trust_min": source.choice(["primary", "unknown", odd]),
        "source": [odd],
        "version": [odd, "v1"],
        "kind": source.choice([["code"], odd]),
        "media": [odd],
        "doc_id": source.choice([["0" * 32], odd]),
        "ingested_after": source.choice(
            ["2001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-14:00", odd]
        ),
    }
    return dict(source.sample(sorted(every.items()), source.randint(1, 3)))


def _wrong(source: random.Random) -> dict[str, Any]:
    value = source.choice([None, 1, 1.5, True, [], {}, ["a"], {"a": 1}, "x" * 1_000, 10**400, -1, [[[[]]]]])
    names = (
        "q",
        "mode",
        "fusion",
        "k",
        "filters",
        "channels",
        "snippet_chars",
        "cutoff",
        "per_file_cap",
        "rerank",
    )
    return {source.choice((*names, "explain", "why_not", "cursor", "nothing")): value}


def _post(kind: str, mode: str, path: str, fields: dict[str, Any]) -> Attempt:
    body = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if _has_surrogate(body):  # as an escape: JSON can say what UTF-8 can't
        body = json.dumps(fields).encode()
    return Attempt(kind=kind, mode=mode, method="POST", path=path, body=body)


def _get(source: random.Random, kind: str, mode: str, fields: dict[str, Any]) -> Attempt:
    pairs = "&".join(f"{name}={_escaped(value)}" for name, value in fields.items())
    if source.random() < 0.05:
        pairs += source.choice(["%ff%fe", "&q=%", "&q=%zz", "&mode=lexical&mode=vector", "&&==&", "&%00=1"])
    if len(pairs) > _MAX_ADDRESS:
        return _post(kind, mode, "/search", fields)
    return Attempt(kind=kind, mode=mode, method="GET", path=f"/search?{pairs}")


def _escaped(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _has_surrogate(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False
