"""Hostile requests: hostile text in `q`, in channels, filters and everything else a search takes."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.hostile.text import MAKERS

MODES = ("lexical", "vector", "hybrid")

#: What answers, and the schema of the answer.
SCHEMAS = {
    "/search": "search_response.v1",
    "/search/bulk": "bulk_response.v1",
    "/context-pack": "context_pack.v1",
    "/context": "context.v1",
    "/libs/search": "library_search.v1",
    "/libs/snippets": "snippet_search.v1",
    "/suggest": "suggest_response.v1",
}

# A longer line of HTTP is refused by the server.
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
    method: str
    #: A key of `SCHEMAS`.
    door: str
    #: Behind the door's address.
    parameters: str = ""
    body: bytes | None = None


def attempts(n: int, seed: int, words: Sequence[str], library_id: str) -> Iterator[Attempt]:
    """Give `n` requests, the same for the same seed; `words` occur in the corpus, which is the library."""
    for number in range(n):
        # Each has a seed of its own, so that one that fails can be made again by itself.
        source = random.Random(f"{seed}-{number}")
        if source.random() < 0.9:
            yield _search(source, words, MODES[number % len(MODES)])
        else:
            yield _at_another_door(source, words, library_id)


def _search(source: random.Random, words: Sequence[str], mode: str) -> Attempt:
    kind = _kind(source)
    text = MAKERS[kind](source, words)
    asked = {"q": text, "mode": mode, **_options(source)}
    dice = source.random()
    if dice < 0.6:
        return _post(kind, "/search", asked)
    if dice < 0.8:
        return _get(source, kind, "/search", asked) or _post(kind, "/search", asked)
    if dice < 0.85:
        asked |= {"q": "a", "channels": _channels(source, text)}
        return _post(f"channels: {kind}", "/search", asked)
    if dice < 0.97:
        return _post(
            "filters", "/search", asked | {"q": source.choice(words), "filters": _filters(source, words)}
        )
    if dice < 0.99:
        return _post("wrong types", "/search", {"q": text[:100], "mode": mode, **_wrong(source)})
    queries = [{"q": MAKERS[_kind(source)](source, words)[:5_000], "mode": mode} for _ in range(5)]
    return _post("bulk", "/search/bulk", {"queries": queries})


def _at_another_door(source: random.Random, words: Sequence[str], library_id: str) -> Attempt:
    kind = _kind(source)
    text = MAKERS[kind](source, words)
    doors = {
        "/context": {"libraryId": library_id, "query": text},
        "/libs/snippets": {"libraryId": library_id, "query": text},
        "/libs/search": {"libraryName": text, "query": source.choice(words)},
        "/suggest": {"q": text},
    }
    door = source.choice(["/context-pack", *doors])
    by_get = _get(source, kind, door, doors[door]) if door in doors else None
    asked = {"information_request": text, "technical_terms": [text[:100], source.choice(words)]}
    return by_get or _post(kind, "/context-pack", asked)


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
        "path_glob": [f"{glob}{number}" for number in range(source.choice([1, 1, 20, 101]))],
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
        *("q", "mode", "fusion", "k", "filters", "channels", "snippet_chars", "cutoff", "per_file_cap"),
        *("rerank", "explain", "why_not", "cursor", "nothing"),
    )
    return {source.choice(names): value}


def _post(kind: str, door: str, fields: dict[str, Any]) -> Attempt:
    body = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if not _is_utf8(body):  # as an escape: JSON can say what UTF-8 can't
        body = json.dumps(fields).encode()
    return Attempt(kind=kind, method="POST", door=door, body=body)


def _get(source: random.Random, kind: str, door: str, fields: dict[str, Any]) -> Attempt | None:
    """The same in an address; None where that is too long."""
    pairs = "&".join(f"{name}={_escaped(value)}" for name, value in fields.items())
    if source.random() < 0.05:
        pairs += source.choice(["%ff%fe", "&q=%", "&q=%zz", "&mode=lexical&mode=vector", "&&==&", "&%00=1"])
    if len(pairs) > _MAX_ADDRESS:
        return None
    return Attempt(kind=kind, method="GET", door=door, parameters=f"?{pairs}")


def _escaped(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
